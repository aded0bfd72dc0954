//! One kernel per element size for nearest neighbours, which move bits; per float dtype, those of
//! linear and cubic interpolation for two and three dimensions, with antialiasing and without.

use super::combined_floats;
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Ways to interpolate, which are the operations' numbers in keys.
pub const NEAREST: usize = 0;
pub const LINEAR: usize = 1;
pub const CUBIC: usize = 2;

/// Variants are the number of dimensions, and with antialiasing so much more.
pub const ANTIALIASED: u8 = 8;

/// Returns the key of a kernel. Nearest neighbours have the dtype of the element size, and one
/// variant.
pub const fn key(op: usize, dtype: DType, variant: u8) -> Key {
    Key::new(Family::Resize, op, &[dtype], variant)
}

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    let mut nearest = Module::new("resize_nearest", "ops/resize/resize.cu");
    for (dtype, ty) in [(DType::U8, "u8"), (DType::I16, "u16"), (DType::U32, "u32"), (DType::I64, "u64")] {
        let name = format!("resize_nearest_{ty}");
        nearest.kernel(key(NEAREST, dtype, 3), name, "ISOBIT_RESIZE", &["nearest", ty]);
    }
    modules.push(nearest);
    for dtype in combined_floats() {
        let mut module = Module::new(format!("resize_{dtype}"), "ops/resize/resize.cu");
        for (op, name, taps, is_cubic) in [(LINEAR, "linear", "2", "false"), (CUBIC, "cubic", "4", "true")] {
            for dims in [2u8, 3] {
                let kernel = format!("resize{dims}d_{name}_{dtype}");
                let args = [&dims.to_string(), taps, dtype.as_str()];
                module.kernel(key(op, dtype, dims), kernel, "ISOBIT_RESIZE_INTERPOLATED", &args);
                let kernel = format!("resize{dims}d_{name}_antialiased_{dtype}");
                let args = [&dims.to_string(), is_cubic, dtype.as_str()];
                module.kernel(key(op, dtype, ANTIALIASED + dims), kernel, "ISOBIT_RESIZE_ANTIALIASED", &args);
            }
        }
        modules.push(module);
    }
}
