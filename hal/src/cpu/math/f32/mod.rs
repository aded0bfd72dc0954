//! The transcendental functions of f32, written from `docs/numerics/f32.md`.
//!
//! Each function is a fixed sequence of IEEE-754 operations, so it gives the same bits on every
//! machine; an fma is written as [`f32::mul_add`]. The code uses selects where a branch would
//! prevent vectorisation; the remaining branches handle sines of huge arguments and the edge cases
//! of `pow`.

mod activations;
mod atan2;
mod base;
mod erf;
mod exp;
mod hyperbolic;
mod hypot;
mod inverse_hyperbolic;
mod inverse_trig;
mod log;
mod piecewise;
mod pow;
mod root;
mod softplus;
mod trig;

pub use activations::{elu, gelu, gelu_erf, sigmoid, silu};
pub use atan2::atan2;
pub use erf::erf;
pub use exp::{exp, exp2, expm1};
pub use hyperbolic::{cosh, sinh, tanh};
pub use hypot::hypot;
pub use inverse_hyperbolic::{acosh, asinh, atanh};
pub use inverse_trig::{acos, asin, atan};
pub use log::{log, log1p, log2};
pub use piecewise::{celu, hard_sigmoid, hard_swish, selu};
pub use pow::pow;
pub use root::{recip, rsqrt};
pub use softplus::{mish, softplus};
pub use trig::{cos, sin, tan};
