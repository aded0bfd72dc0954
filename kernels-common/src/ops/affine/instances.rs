//! Two kernels per operation and dtype: affine and clamp for every dtype, the others for floats.
//! powf has kernels for some exponents, but not of 8-bit floats, whose kernels look results up.
//! Signed integers share the `affine` kernels of the unsigned ones.

use super::{declaration, functions_of, recipes, recipes_of_functions, without_sign};
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// The numbers of operations in keys.
pub const AFFINE: usize = 0;
/// See [`AFFINE`].
pub const POWF: usize = 1;
/// See [`AFFINE`].
pub const ELU: usize = 2;
/// See [`AFFINE`].
pub const CLAMP: usize = 3;
/// See [`AFFINE`].
pub const LEAKY_RELU: usize = 4;
/// See [`AFFINE`].
pub const CELU: usize = 5;
/// See [`AFFINE`]: powf with an exponent of 3.
pub const CUBE: usize = 6;
/// See [`AFFINE`]: powf with an exponent of -2.
pub const INVERSE_SQUARE: usize = 7;
/// See [`AFFINE`]: powf with an exponent of 1/2.
pub const ROOT: usize = 8;
/// See [`AFFINE`]: powf with an exponent of -1/2.
pub const INVERSE_ROOT: usize = 9;

const POWERS: [(usize, &str); 4] =
    [(CUBE, "cube"), (INVERSE_SQUARE, "inverse_square"), (ROOT, "root"), (INVERSE_ROOT, "inverse_root")];

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
        let declared = |name: String, source| Module::new(name, source).with_prelude(declaration(dtype));
        if carrier(AFFINE, dtype) == dtype {
            let mut affine = declared(format!("affine_{dtype}"), "ops/affine/affine.cu");
            affine.kernel(key(AFFINE, Key::CONTIGUOUS), format!("affine_{dtype}"), "ISOBIT_AFFINE", &[ty]);
            affine.kernel(key(AFFINE, Key::STRIDED), format!("affine_strided_{dtype}"), "ISOBIT_AFFINE_STRIDED", &[ty]);
            modules.push(affine);
        }
        let mut clamp = declared(format!("clamp_{dtype}"), "ops/affine/clamp.cu");
        clamp.kernel(key(CLAMP, Key::CONTIGUOUS), format!("clamp_{dtype}"), "ISOBIT_CLAMP", &[ty]);
        clamp.kernel(key(CLAMP, Key::STRIDED), format!("clamp_strided_{dtype}"), "ISOBIT_CLAMP_STRIDED", &[ty]);
        modules.push(clamp);
        if dtype.is_int() {
            continue;
        }
        let mut leaky = declared(format!("leaky_relu_{dtype}"), "ops/affine/leaky_relu.cu");
        leaky.kernel(key(LEAKY_RELU, Key::CONTIGUOUS), format!("leaky_relu_{dtype}"), "ISOBIT_LEAKY_RELU", &[ty]);
        let strided = format!("leaky_relu_strided_{dtype}");
        leaky.kernel(key(LEAKY_RELU, Key::STRIDED), strided, "ISOBIT_LEAKY_RELU_STRIDED", &[ty]);
        modules.push(leaky);
        let Some((suffix, dtypes)) = functions_of(dtype) else { continue };
        for (op, name) in [(POWF, "powf"), (ELU, "elu"), (CELU, "celu")] {
            let prelude = recipes_of_functions(dtypes);
            let mut module = Module::new(format!("{name}_{suffix}"), "ops/affine/math.cu").with_prelude(prelude);
            for &dtype in dtypes {
                let key = |variant| Key::new(Family::Affine, op, &[dtype], variant);
                let args = [name, dtype.as_str()];
                module.kernel(key(Key::CONTIGUOUS), format!("{name}_{dtype}"), "ISOBIT_PARAMETER", &args);
                let strided = format!("{name}_strided_{dtype}");
                module.kernel(key(Key::STRIDED), strided, "ISOBIT_PARAMETER_STRIDED", &args);
            }
            modules.push(module);
        }
        if !dtype.is_f8() {
            let mut powers =
                Module::new(format!("powers_{dtype}"), "ops/affine/powers.cu").with_prelude(recipes(dtype));
            for (op, name) in POWERS {
                let key = |variant| Key::new(Family::Affine, op, &[dtype], variant);
                powers.kernel(key(Key::CONTIGUOUS), format!("{name}_{dtype}"), "ISOBIT_POWER", &[name, ty]);
                let strided = format!("{name}_strided_{dtype}");
                powers.kernel(key(Key::STRIDED), strided, "ISOBIT_POWER_STRIDED", &[name, ty]);
            }
            modules.push(powers);
        }
    }
}
