//! Complete kernels, compiled for every target.

mod barriers;
#[path = "../common/mod.rs"]
mod common;
mod matrix;
mod spinning;
