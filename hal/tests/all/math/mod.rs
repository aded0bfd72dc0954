//! Tests the recipes of the transcendental functions directly.

mod convert;
mod f32;
mod f64;
mod narrow;
