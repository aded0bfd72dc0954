//! Two kernels per operation and dtype: one for any windows, one for adjacent windows of two by
//! two.

use super::combined;
use crate::key::{Family, Key};
use crate::manifest::Module;

/// Any windows in any layout.
pub const ANY: u8 = 0;
/// Adjacent windows of two by two, with contiguous rows.
pub const TWOS: u8 = 1;

/// Returns the number of results that a thread of [`TWOS`] computes: their windows take 16 bytes of
/// each row of the source.
pub const fn width(size: usize) -> usize {
    8 / size
}

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    for dtype in combined() {
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
