//! Two kernels for each operation and dtype: one for any windows, one for windows of two by two
//! side by side.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Any windows of any layout.
pub const ANY: u8 = 0;
/// Windows of two by two side by side, of rows without gaps.
pub const TWOS: u8 = 1;

/// Results that a thread of [`TWOS`] makes: 16 bytes of each row of the source hold their windows'
/// elements.
pub const fn width(size: usize) -> usize {
    8 / size
}

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    for &dtype in DType::ALL {
        let (ty, width) = (dtype.as_str(), width(dtype.size_in_bytes()).to_string());
        let mut module = Module::new(format!("pool_{dtype}"), "ops/pooling/pooling.cu");
        for (op, name, functor) in [(0, "avg_pool2d", "Average"), (1, "max_pool2d", "Maximum")] {
            if op == 0 && !dtype.is_float() {
                continue;
            }
            let key = |variant| Key::new(Family::Pooling, op, &[dtype], variant);
            module.kernel(key(ANY), format!("{name}_{dtype}"), "ISOBIT_POOL", &[functor, ty]);
            module.kernel(key(TWOS), format!("{name}_twos_{dtype}"), "ISOBIT_POOL_TWOS", &[functor, ty, &width]);
        }
        modules.push(module);
    }
}
