//! Three kernels for each operation and dtype, dense operands in modules of their own. Of integers
//! that differ in their sign alone, the unsigned ones have those that wrap.

use super::{recipes, without_sign};
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{BinaryOp, DType};

use BinaryOp::*;

/// The dtype under whose key the kernels are: sums, differences and products of integers are the
/// same bits with a sign or without.
pub fn carrier(op: BinaryOp, dtype: DType) -> DType {
    if matches!(op, Add | Sub | Mul) { without_sign(dtype) } else { dtype }
}

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for &dtype in DType::ALL {
        // Those of one module are compiled together when one of them is wanted: the long ones stand
        // alone.
        modules.extend(pair("arith", dtype, "ops/binary/exact.cu", &[Add, Sub, Mul, Div, Maximum, Minimum]));
        modules.extend(pair("rem", dtype, "ops/binary/exact.cu", &[Rem]));
        let pow = pair("pow", dtype, "ops/binary/pow.cu", &[Pow]);
        modules.extend(pow.map(|module| module.with_prelude(recipes(dtype))));
    }
}

fn pair(group: &str, dtype: DType, source: &'static str, ops: &[BinaryOp]) -> [Module; 2] {
    let mut dense = Module::new(format!("binary_{group}_{dtype}"), source);
    let mut broadcast = Module::new(format!("binary_{group}_broadcast_{dtype}"), source);
    for &op in ops.iter().filter(|&&op| carrier(op, dtype) == dtype) {
        let key = |variant| Key::new(Family::Binary, op.index(), &[dtype], variant);
        let args = [op.name(), dtype.as_str()];
        dense.kernel(key(Key::CONTIGUOUS), format!("{op}_{dtype}"), "ISOBIT_BINARY", &args);
        broadcast.kernel(key(Key::ROWS), format!("{op}_rows_{dtype}"), "ISOBIT_BINARY_ROWS", &args);
        broadcast.kernel(key(Key::STRIDED), format!("{op}_strided_{dtype}"), "ISOBIT_BINARY_STRIDED", &args);
    }
    [dense, broadcast]
}
