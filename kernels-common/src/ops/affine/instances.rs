//! Two kernels per operation and dtype: affine and clamp for every dtype, powf and elu for floats.
//! Signed integers share the `affine` kernels of the unsigned ones.

use super::{recipes, without_sign};
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// The numbers of `affine` and `clamp` in keys; powf and elu are 1 and 2.
pub const AFFINE: usize = 0;
/// See [`AFFINE`].
pub const CLAMP: usize = 3;

/// Returns the dtype whose key the kernels have: a product or a sum of integers has the same bits
/// whether they are signed or not.
pub fn carrier(op: usize, dtype: DType) -> DType {
    if op == AFFINE { without_sign(dtype) } else { dtype }
}

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for &dtype in DType::ALL {
        let ty = dtype.as_str();
        let key = |op, variant| Key::new(Family::Affine, op, &[dtype], variant);
        if carrier(AFFINE, dtype) == dtype {
            let mut affine = Module::new(format!("affine_{dtype}"), "ops/affine/affine.cu");
            affine.kernel(key(AFFINE, Key::CONTIGUOUS), format!("affine_{dtype}"), "ISOBIT_AFFINE", &[ty]);
            affine.kernel(key(AFFINE, Key::STRIDED), format!("affine_strided_{dtype}"), "ISOBIT_AFFINE_STRIDED", &[ty]);
            modules.push(affine);
        }
        let mut clamp = Module::new(format!("clamp_{dtype}"), "ops/affine/clamp.cu");
        clamp.kernel(key(CLAMP, Key::CONTIGUOUS), format!("clamp_{dtype}"), "ISOBIT_CLAMP", &[ty]);
        clamp.kernel(key(CLAMP, Key::STRIDED), format!("clamp_strided_{dtype}"), "ISOBIT_CLAMP_STRIDED", &[ty]);
        modules.push(clamp);
        if dtype.is_int() {
            continue;
        }
        for (op, name) in [(1, "powf"), (2, "elu")] {
            let mut module = Module::new(format!("{name}_{dtype}"), "ops/affine/math.cu").with_prelude(recipes(dtype));
            let args = [name, ty];
            module.kernel(key(op, Key::CONTIGUOUS), format!("{name}_{dtype}"), "ISOBIT_PARAMETER", &args);
            module.kernel(key(op, Key::STRIDED), format!("{name}_strided_{dtype}"), "ISOBIT_PARAMETER_STRIDED", &args);
            modules.push(module);
        }
    }
}
