//! Three kernels for each operation and dtype, in modules of what is cheap to compile and what is not.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{BinaryOp, DType};

use BinaryOp::*;

/// The operations by module: those of one module are compiled together when one of them is wanted.
const GROUPS: &[(&str, &[BinaryOp])] = &[("arith", &[Add, Sub, Mul, Div, Maximum, Minimum]), ("rem", &[Rem])];

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for &dtype in DType::ALL {
        for (group, ops) in GROUPS {
            let mut dense = Module::new(format!("binary_{group}_{dtype}"), "ops/binary/binary.cu");
            let mut broadcast = Module::new(format!("binary_{group}_broadcast_{dtype}"), "ops/binary/binary.cu");
            for &op in *ops {
                let key = |variant| Key::new(Family::Binary, op.index(), &[dtype], variant);
                let args = [op.name(), dtype.as_str()];
                dense.kernel(key(Key::CONTIGUOUS), format!("{op}_{dtype}"), "ISOBIT_BINARY", &args);
                broadcast.kernel(key(Key::ROWS), format!("{op}_rows_{dtype}"), "ISOBIT_BINARY_ROWS", &args);
                broadcast.kernel(key(Key::STRIDED), format!("{op}_strided_{dtype}"), "ISOBIT_BINARY_STRIDED", &args);
            }
            modules.extend([dense, broadcast]);
        }
    }
}
