//! The f64 recipes of the CPU reference, written from `docs/numerics/f64.md`, which defines each of
//! them to the bit.
//!
//! Every function is a fixed sequence of IEEE-754 operations, so it gives the same bits on every
//! machine. Results are within 2 ulp of the true value, or 4 ulp for [`pow()`], [`tan`], [`gelu`],
//! [`gelu_erf`], [`silu`] and [`elu`].

mod activations;
mod base;
mod erf;
mod exp;
mod hyperbolic;
mod inverse_trig;
mod log;
mod pow;
mod root;
mod trig;
mod trig_reduce;

pub use activations::{elu, gelu, gelu_erf, sigmoid, silu};
pub use erf::erf;
pub use exp::{exp, exp2, expm1};
pub use hyperbolic::{cosh, sinh, tanh};
pub use inverse_trig::{acos, asin, atan};
pub use log::{log, log1p, log2};
pub use pow::pow;
pub use root::{recip, rsqrt};
pub use trig::{cos, sin, tan};
