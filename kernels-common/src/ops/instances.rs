//! The families' lists of kernels, in one place for the manifest.

use super::Module;
use isobit_hal::DType;

#[path = "activation/instances.rs"]
pub(crate) mod activation;
#[path = "affine/instances.rs"]
pub(crate) mod affine;
#[path = "binary/instances.rs"]
pub(crate) mod binary;
#[path = "cast/instances.rs"]
pub(crate) mod cast;
#[path = "compare/instances.rs"]
pub(crate) mod compare;
#[path = "conv/instances.rs"]
pub(crate) mod conv;
#[path = "copy/instances.rs"]
pub(crate) mod copy;
#[path = "fill/instances.rs"]
mod fill;
#[path = "indexing/instances.rs"]
pub(crate) mod indexing;
#[path = "matmul/instances.rs"]
pub(crate) mod matmul;
#[path = "norm/instances.rs"]
pub(crate) mod norm;
#[path = "pool/instances.rs"]
pub(crate) mod pool;
#[path = "quantized/instances.rs"]
pub(crate) mod quantized;
#[path = "random/instances.rs"]
pub(crate) mod random;
#[path = "reduce/instances.rs"]
pub(crate) mod reduce;
#[path = "rope/instances.rs"]
pub(crate) mod rope;
#[path = "scan/instances.rs"]
pub(crate) mod scan;
#[path = "sort/instances.rs"]
pub(crate) mod sort;
#[path = "ternary/instances.rs"]
mod ternary;
#[path = "triangle/instances.rs"]
pub(crate) mod triangle;
#[path = "unary/instances.rs"]
pub(crate) mod unary;
#[path = "upsample/instances.rs"]
pub(crate) mod upsample;

/// The dtype whose kernels an integer shares where a sign changes no bit of a result: sums, differences and products wrap alike, and so does what
/// is equal or cut short.
pub(crate) const fn without_sign(dtype: DType) -> DType {
    match dtype {
        DType::I8 => DType::U8,
        DType::I32 => DType::U32,
        other => other,
    }
}

/// Adds every family's modules.
pub fn add(modules: &mut Vec<Module>) {
    activation::add(modules);
    affine::add(modules);
    binary::add(modules);
    cast::add(modules);
    compare::add(modules);
    conv::add(modules);
    copy::add(modules);
    fill::add(modules);
    indexing::add(modules);
    matmul::add(modules);
    norm::add(modules);
    pool::add(modules);
    quantized::add(modules);
    random::add(modules);
    reduce::add(modules);
    rope::add(modules);
    scan::add(modules);
    sort::add(modules);
    ternary::add(modules);
    triangle::add(modules);
    unary::add(modules);
    upsample::add(modules);
}
