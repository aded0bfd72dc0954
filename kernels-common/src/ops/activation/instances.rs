//! Three kernels for each function and float: dense operands, rows and repeated elements, any layout.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{Activation, DType};

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    for &dtype in DType::ALL.iter().filter(|d| d.is_float()) {
        let source = match dtype {
            DType::F64 => "ops/activation/f64.cu",
            DType::F32 => "ops/activation/f32.cu",
            _ => "ops/activation/narrow.cu",
        };
        for &op in Activation::ALL {
            let mut module = Module::new(format!("add_{op}_{dtype}"), source);
            let key = |variant| Key::new(Family::Activation, op.index(), &[dtype], variant);
            let args = [op.name(), dtype.as_str()];
            let name = |variant: &str| format!("add_{op}{variant}_{dtype}");
            module.kernel(key(Key::CONTIGUOUS), name(""), "ISOBIT_ACTIVATION", &args);
            module.kernel(key(Key::ROWS), name("_rows"), "ISOBIT_ACTIVATION_ROWS", &args);
            module.kernel(key(Key::STRIDED), name("_strided"), "ISOBIT_ACTIVATION_STRIDED", &args);
            modules.push(module);
        }
    }
}
