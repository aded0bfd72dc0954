//! Three kernels per comparison and dtype; those for dense operands have their own module. `lt` and
//! `le` have no kernels: they are `gt` and `ge` with the operands exchanged, which also holds for
//! NaN. Two kernels per test and dtype.

use super::{declaration, without_sign};
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{CmpOp, DType, Predicate};

/// Returns the comparison that has kernels, and whether its operands must be exchanged.
pub fn exchanged(op: CmpOp) -> (CmpOp, bool) {
    match op {
        CmpOp::Lt => (CmpOp::Gt, true),
        CmpOp::Le => (CmpOp::Ge, true),
        op => (op, false),
    }
}

/// Returns the dtype whose key the kernels have: whether integers are equal, or are zeros, does not
/// depend on their sign.
pub fn carrier(op: CmpOp, dtype: DType) -> DType {
    if matches!(op, CmpOp::Eq | CmpOp::Ne) || op.is_logical() { without_sign(dtype) } else { dtype }
}

/// Returns the key of the contiguous kernel of a test of elements of a dtype.
pub fn predicate_key(op: Predicate, dtype: DType) -> Key {
    Key::new(Family::Compare, CmpOp::ALL.len() + op.index(), &[without_sign(dtype)], Key::CONTIGUOUS)
}

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for &dtype in DType::ALL {
        let mut dense = module(format!("compare_{dtype}"), dtype);
        let mut broadcast = module(format!("compare_broadcast_{dtype}"), dtype);
        for &op in CmpOp::ALL.iter().filter(|&&op| exchanged(op) == (op, false) && carrier(op, dtype) == dtype) {
            let key = |variant| Key::new(Family::Compare, op.index(), &[dtype], variant);
            let args = [op.name(), dtype.as_str()];
            dense.kernel(key(Key::CONTIGUOUS), format!("{op}_{dtype}"), "ISOBIT_COMPARE", &args);
            broadcast.kernel(key(Key::ROWS), format!("{op}_rows_{dtype}"), "ISOBIT_COMPARE_ROWS", &args);
            broadcast.kernel(key(Key::STRIDED), format!("{op}_strided_{dtype}"), "ISOBIT_COMPARE_STRIDED", &args);
        }
        modules.extend([dense, broadcast]);
    }
    for &dtype in DType::ALL.iter().filter(|&&dtype| without_sign(dtype) == dtype) {
        let mut tests = module(format!("predicate_{dtype}"), dtype);
        for &op in Predicate::ALL.iter().filter(|op| op.takes(dtype)) {
            let (key, args) = (predicate_key(op, dtype), [op.name(), dtype.as_str()]);
            tests.kernel(key, format!("{op}_{dtype}"), "ISOBIT_PREDICATE", &args);
            let strided = key.with_variant(Key::STRIDED);
            tests.kernel(strided, format!("{op}_strided_{dtype}"), "ISOBIT_PREDICATE_STRIDED", &args);
        }
        modules.push(tests);
    }
}

fn module(name: String, dtype: DType) -> Module {
    Module::new(name, "ops/compare/compare.cu").with_prelude(declaration(dtype))
}
