//! The recipes of the transcendental functions, written only from `docs/numerics/`.

pub mod convert;
pub mod f32;
pub mod f64;
pub mod narrow;
