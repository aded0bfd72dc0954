//! The transcendental functions of f16, bf16 and f8e4m3. Each takes the exact value of the input
//! and returns an f32 whose rounding to the narrow type is the correctly rounded result, for every
//! input.
//!
//! `docs/numerics/narrow.md` has the recipes, their coefficients and how they were verified; a
//! kernel that follows it gives the same bits. Functions of two arguments are within 1 ulp of the
//! narrow type instead.

mod activations;
mod common;
mod erf;
mod exp;
mod hyperbolic;
mod inverse_hyperbolic;
mod inverse_trig;
mod log;
mod of_f32;
mod plane;
mod pow;
mod root;
mod softplus;
mod trig;

pub use activations::{celu, elu, gelu, gelu_erf, sigmoid, silu};
pub use erf::erf;
pub use exp::{exp, exp_down, exp2, expm1};
pub use hyperbolic::{cosh, sinh, tanh};
pub use inverse_hyperbolic::{acosh, asinh, atanh};
pub use inverse_trig::{acos, asin, atan};
pub use log::{log, log1p, log2};
pub use of_f32::{hard_sigmoid, hard_swish, selu};
pub use plane::{atan2, hypot};
pub use pow::pow;
pub use root::{recip, rsqrt};
pub use softplus::{mish, softplus};
pub use trig::{cos, sin, tan};

/// A type whose functions compute in f32 and round once.
pub trait Narrow {
    /// Whether the type has f32's exponent range, so that its recipes must handle overflow and
    /// subnormals of f32 itself.
    const WIDE: bool;
}

/// Marker for IEEE 754 binary16.
#[derive(Clone, Copy, Debug)]
pub enum F16 {}

/// Marker for bfloat16.
#[derive(Clone, Copy, Debug)]
pub enum Bf16 {}

/// Marker for OCP E4M3. Its values are a subset of f16's, so it uses f16's recipes.
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
