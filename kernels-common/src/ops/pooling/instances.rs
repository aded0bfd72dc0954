//! Three kernels per operation and dtype: one for windows of neighbours in rows and columns, one
//! for any windows in up to three dimensions, one for adjacent windows of two by two.

use super::combined;
use crate::key::{Family, Key};
use crate::manifest::Module;

/// Windows of neighbours in rows and columns, in any layout.
pub const PLANE: u8 = 0;
/// Adjacent windows of two by two, with contiguous rows.
pub const TWOS: u8 = 1;
/// Any windows in any layout.
pub const VOLUME: u8 = 2;

/// Averages, maxima, and positions of maxima, which have only the kernels of [`VOLUME`].
pub const AVERAGE: usize = 0;
pub const MAX: usize = 1;
pub const ARG_MAX: usize = 2;

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
        for (op, name, functor) in [(AVERAGE, "avg_pool", "Average"), (MAX, "max_pool", "Maximum")] {
            if op == AVERAGE && !dtype.is_float() {
                continue;
            }
            let key = |variant| Key::new(Family::Pooling, op, &[dtype], variant);
            module.kernel(key(PLANE), format!("{name}_plane_{dtype}"), "ISOBIT_POOL", &[functor, ty, "false", ty]);
            module.kernel(key(VOLUME), format!("{name}_volume_{dtype}"), "ISOBIT_POOL", &[functor, ty, "true", ty]);
            module.kernel(key(TWOS), format!("{name}_twos_{dtype}"), "ISOBIT_POOL_TWOS", &[functor, ty, &width]);
        }
        let positions = Key::new(Family::Pooling, ARG_MAX, &[dtype], VOLUME);
        let name = format!("argmax_pool_{dtype}");
        module.kernel(positions, name, "ISOBIT_POOL", &["ArgMaximum", ty, "true", "u32"]);
        modules.push(module);
    }
}
