//! The transcendental functions of f16, bf16 and f8e4m3: each takes the exact value of the input
//! and returns an f32 that rounds, once, to the correctly rounded value in the narrow type, for
//! every input there is.
//!
//! The recipes, their coefficients and how they were verified are in `docs/numerics/narrow.md`; a
//! kernel that follows the same page gives the same bits. `pow` and `elu`, which take two
//! arguments, stay within 1 ulp of the narrow type instead.

mod activations;
mod common;
mod erf;
mod exp;
mod hyperbolic;
mod inverse_trig;
mod log;
mod pow;
mod root;
mod trig;

pub use activations::{elu, gelu, gelu_erf, sigmoid, silu};
pub use erf::erf;
pub use exp::{exp, exp_down, exp2, expm1};
pub use hyperbolic::{cosh, sinh, tanh};
pub use inverse_trig::{acos, asin, atan};
pub use log::{log, log1p, log2};
pub use pow::pow;
pub use root::{recip, rsqrt};
pub use trig::{cos, sin, tan};

/// A type whose functions compute in f32 and round once.
pub trait Narrow {
    /// Whether the type has f32's exponents, so that its recipes must mind overflow and subnormals
    /// in f32 itself.
    const WIDE: bool;
}

/// Stands for IEEE 754's binary16.
#[derive(Clone, Copy, Debug)]
pub enum F16 {}

/// Stands for bfloat16.
#[derive(Clone, Copy, Debug)]
pub enum Bf16 {}

/// Stands for OCP E4M3. Its values are among f16's, and it takes f16's recipes.
#[derive(Clone, Copy, Debug)]
pub enum F8E4M3 {}

impl Narrow for F16 {
    const WIDE: bool = false;
}

impl Narrow for Bf16 {
    const WIDE: bool = true;
}

impl Narrow for F8E4M3 {
    const WIDE: bool = false;
}
