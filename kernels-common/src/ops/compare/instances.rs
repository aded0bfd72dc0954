//! Three kernels for each comparison and dtype, dense operands in a module of their own.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{CmpOp, DType};

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for &dtype in DType::ALL {
        let mut dense = Module::new(format!("compare_{dtype}"), "ops/compare/compare.cu");
        let mut broadcast = Module::new(format!("compare_broadcast_{dtype}"), "ops/compare/compare.cu");
        for &op in CmpOp::ALL {
            let key = |variant| Key::new(Family::Compare, op.index(), &[dtype], variant);
            let args = [op.name(), dtype.as_str()];
            dense.kernel(key(Key::CONTIGUOUS), format!("{op}_{dtype}"), "ISOBIT_COMPARE", &args);
            broadcast.kernel(key(Key::ROWS), format!("{op}_rows_{dtype}"), "ISOBIT_COMPARE_ROWS", &args);
            broadcast.kernel(key(Key::STRIDED), format!("{op}_strided_{dtype}"), "ISOBIT_COMPARE_STRIDED", &args);
        }
        modules.extend([dense, broadcast]);
    }
}
