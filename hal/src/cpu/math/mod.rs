//! The recipes of the transcendentals, written from `docs/numerics/` and from nothing else.

pub mod convert;
pub mod f32;
pub mod f64;
pub mod narrow;
