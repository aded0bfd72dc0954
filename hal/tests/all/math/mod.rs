//! The recipes of the transcendentals by themselves.

mod convert;
mod f32;
mod f64;
mod narrow;
