//! Three kernels per operation and dtype; those for dense operands have their own modules. Signed
//! integers share the wrapping kernels of the unsigned ones.

use super::{declaration, has_recipes_of_f32, recipes, without_sign};
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{BinaryOp, DType};

use BinaryOp::*;

/// Returns the dtype whose key the kernels have: sums, differences, products and bitwise functions
/// of integers have the same bits whether they are signed or not.
pub fn carrier(op: BinaryOp, dtype: DType) -> DType {
    let signless = matches!(op, Add | Sub | Mul | BitwiseAnd | BitwiseOr | BitwiseXor | BitwiseLeftShift);
    if signless { without_sign(dtype) } else { dtype }
}

/// The operations of `exact.cu`.
const EXACT: &[BinaryOp] = &[
    Add,
    Sub,
    Mul,
    Div,
    Maximum,
    Minimum,
    Rem,
    FloorDiv,
    FloorMod,
    NextAfter,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    BitwiseLeftShift,
    BitwiseRightShift,
];

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for &dtype in DType::ALL {
        if dtype.is_elementwise() {
            // Few programs compute in these dtypes, so their kernels share two modules.
            let exact = pair("exact", dtype, "ops/binary/exact.cu", EXACT);
            modules.extend(exact.map(|module| module.with_prelude(declaration(dtype))));
            if !has_recipes_of_f32(dtype) {
                let pow = pair("pow", dtype, "ops/binary/pow.cu", &[Pow]);
                modules.extend(pow.map(|module| module.with_prelude(recipes(dtype))));
            }
            continue;
        }
        // All kernels of a module are compiled together when one of them is needed, so kernels with
        // long code have their own modules.
        modules.extend(pair("arith", dtype, "ops/binary/exact.cu", &[Add, Sub, Mul, Div, Maximum, Minimum]));
        modules.extend(pair("rem", dtype, "ops/binary/exact.cu", &[Rem]));
        modules.extend(pair("floor", dtype, "ops/binary/exact.cu", &[FloorDiv, FloorMod]));
        let own = if dtype.is_float() {
            pair("nextafter", dtype, "ops/binary/exact.cu", &[NextAfter])
        } else {
            let bitwise = [BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseLeftShift, BitwiseRightShift];
            pair("bitwise", dtype, "ops/binary/exact.cu", &bitwise)
        };
        modules.extend(own);
        let pow = pair("pow", dtype, "ops/binary/pow.cu", &[Pow]);
        modules.extend(pow.map(|module| module.with_prelude(recipes(dtype))));
        if dtype.is_float() {
            let plane = pair("plane", dtype, "ops/binary/plane.cu", &[Atan2, Hypot]);
            modules.extend(plane.map(|module| module.with_prelude(recipes(dtype))));
        }
    }
}

fn pair(group: &str, dtype: DType, source: &'static str, ops: &[BinaryOp]) -> [Module; 2] {
    let mut dense = Module::new(format!("binary_{group}_{dtype}"), source);
    let mut broadcast = Module::new(format!("binary_{group}_broadcast_{dtype}"), source);
    for &op in ops.iter().filter(|&&op| op.takes(dtype) && carrier(op, dtype) == dtype) {
        let key = |variant| Key::new(Family::Binary, op.index(), &[dtype], variant);
        let args = [op.name(), dtype.as_str()];
        dense.kernel(key(Key::CONTIGUOUS), format!("{op}_{dtype}"), "ISOBIT_BINARY", &args);
        broadcast.kernel(key(Key::ROWS), format!("{op}_rows_{dtype}"), "ISOBIT_BINARY_ROWS", &args);
        broadcast.kernel(key(Key::STRIDED), format!("{op}_strided_{dtype}"), "ISOBIT_BINARY_STRIDED", &args);
    }
    [dense, broadcast]
}
