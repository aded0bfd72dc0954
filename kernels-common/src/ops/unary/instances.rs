//! Two kernels for each operation and dtype. What an integer returns as it is has none: that is a copy.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{DType, UnaryOp};

use UnaryOp::*;

/// The operations by module: those of one module are compiled together when one of them is wanted.
const GROUPS: &[(&str, &[UnaryOp])] =
    &[("exact", &[Neg, Abs, Sign, Sqr, Relu, Ceil, Floor, Round, Trunc, Sqrt, Recip])];

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for &dtype in DType::ALL {
        for (group, ops) in GROUPS {
            let mut module = Module::new(format!("unary_{group}_{dtype}"), "ops/unary/unary.cu");
            for &op in ops.iter().filter(|op| !op.is_float_only() || dtype.is_float()) {
                if dtype.is_int() && matches!(op, Ceil | Floor | Round | Trunc) {
                    continue;
                }
                let key = |variant| Key::new(Family::Unary, op.index(), &[dtype], variant);
                let args = [op.name(), dtype.as_str()];
                module.kernel(key(Key::CONTIGUOUS), format!("{op}_{dtype}"), "ISOBIT_UNARY", &args);
                module.kernel(key(Key::STRIDED), format!("{op}_strided_{dtype}"), "ISOBIT_UNARY_STRIDED", &args);
            }
            modules.push(module);
        }
    }
}
