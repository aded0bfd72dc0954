//! Two kernels for each operation and dtype: affine and clamp for every dtype, powf and elu for floats.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for &dtype in DType::ALL {
        let ty = dtype.as_str();
        let key = |op, variant| Key::new(Family::Affine, op, &[dtype], variant);
        let mut affine = Module::new(format!("affine_{dtype}"), "ops/affine/affine.cu");
        affine.kernel(key(0, Key::CONTIGUOUS), format!("affine_{dtype}"), "ISOBIT_AFFINE", &[ty]);
        affine.kernel(key(0, Key::STRIDED), format!("affine_strided_{dtype}"), "ISOBIT_AFFINE_STRIDED", &[ty]);
        modules.push(affine);
        let mut clamp = Module::new(format!("clamp_{dtype}"), "ops/affine/clamp.cu");
        clamp.kernel(key(3, Key::CONTIGUOUS), format!("clamp_{dtype}"), "ISOBIT_CLAMP", &[ty]);
        clamp.kernel(key(3, Key::STRIDED), format!("clamp_strided_{dtype}"), "ISOBIT_CLAMP_STRIDED", &[ty]);
        modules.push(clamp);
        if dtype.is_int() {
            continue;
        }
        let source = match dtype {
            DType::F64 => "ops/affine/math_f64.cu",
            DType::F32 => "ops/affine/math_f32.cu",
            _ => "ops/affine/math_narrow.cu",
        };
        for (op, name) in [(1, "powf"), (2, "elu")] {
            let mut module = Module::new(format!("{name}_{dtype}"), source);
            let args = [name, ty];
            module.kernel(key(op, Key::CONTIGUOUS), format!("{name}_{dtype}"), "ISOBIT_PARAMETER", &args);
            module.kernel(key(op, Key::STRIDED), format!("{name}_strided_{dtype}"), "ISOBIT_PARAMETER_STRIDED", &args);
            modules.push(module);
        }
    }
}
