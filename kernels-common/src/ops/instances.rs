//! The families' lists of kernels, in one place for the manifest.

use super::Module;

#[path = "affine/instances.rs"]
mod affine;
#[path = "binary/instances.rs"]
mod binary;
#[path = "cast/instances.rs"]
mod cast;
#[path = "compare/instances.rs"]
mod compare;
#[path = "copy/instances.rs"]
pub(crate) mod copy;
#[path = "fill/instances.rs"]
mod fill;
#[path = "matmul/instances.rs"]
pub(crate) mod matmul;
#[path = "reduce/instances.rs"]
pub(crate) mod reduce;
#[path = "ternary/instances.rs"]
mod ternary;
#[path = "unary/instances.rs"]
mod unary;

/// Adds every family's modules.
pub fn add(modules: &mut Vec<Module>) {
    affine::add(modules);
    binary::add(modules);
    cast::add(modules);
    compare::add(modules);
    copy::add(modules);
    fill::add(modules);
    matmul::add(modules);
    reduce::add(modules);
    ternary::add(modules);
    unary::add(modules);
}
