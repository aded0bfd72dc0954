//! One kernel per operation and dtype for any windows in up to three dimensions, and one for
//! adjacent windows of two by two, or for powers of windows that overlap. One for each way back,
//! and for windows whose elements were taken apart.

use super::{combined, recipes};
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Any windows in any layout.
pub const ANY: u8 = 0;
/// Adjacent windows of two by two, with contiguous rows.
pub const TWOS: u8 = 1;

/// Windows of rows and columns in tiles, of norms alone.
pub const TILES: u8 = 2;

/// The way back through averages whose windows all count the same, and through others.
pub const SHARE: u8 = 3;
pub const OWN_SHARE: u8 = 4;

/// Averages, maxima, and positions of maxima, which have no kernels of [`TWOS`].
pub const AVERAGE: usize = 0;
pub const MAX: usize = 1;
pub const ARG_MAX: usize = 2;
/// Norms of order 1, 2, 3, and of any other, which have none either; only the last has [`TILES`].
pub const ABSOLUTE_SUM: usize = 3;
pub const EUCLIDEAN: usize = 4;
pub const CUBIC: usize = 5;
pub const POWER_NORM: usize = 6;
/// The way back through averages, with [`SHARE`] and [`OWN_SHARE`], and through maxima, with one
/// kernel for all windows, whose key also has the dtype of the positions.
pub const AVERAGE_BACKWARD: usize = 7;
pub const MAX_BACKWARD: usize = 8;
/// Sums of the elements of windows.
pub const COL2IM: usize = 9;

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
            module.kernel(key(ANY), format!("{name}_{dtype}"), "ISOBIT_POOL", &[functor, ty, ty]);
            module.kernel(key(TWOS), format!("{name}_twos_{dtype}"), "ISOBIT_POOL_TWOS", &[functor, ty, &width]);
        }
        let positions = Key::new(Family::Pooling, ARG_MAX, &[dtype], ANY);
        module.kernel(positions, format!("argmax_pool_{dtype}"), "ISOBIT_POOL", &["ArgMaximum", ty, "u32"]);
        modules.push(module);
        if !dtype.is_float() {
            continue;
        }
        let mut module = Module::new(format!("lp_pool_{dtype}"), "ops/pooling/pooling.cu");
        for (op, name, functor) in [(ABSOLUTE_SUM, "l1_pool", "AbsoluteSum"), (EUCLIDEAN, "l2_pool", "Euclidean")] {
            let norm = Key::new(Family::Pooling, op, &[dtype], ANY);
            module.kernel(norm, format!("{name}_{dtype}"), "ISOBIT_POOL", &[functor, ty, ty]);
        }
        modules.push(module);
        // Powers of elements and of sums are those of the compute type.
        let prelude = recipes(if dtype == DType::F64 { DType::F64 } else { DType::F32 });
        let mut module = Module::new(format!("power_pool_{dtype}"), "ops/pooling/pooling.cu").with_prelude(prelude);
        let norm = |variant| Key::new(Family::Pooling, POWER_NORM, &[dtype], variant);
        module.kernel(norm(ANY), format!("power_pool_{dtype}"), "ISOBIT_POOL", &["PowerNorm", ty, ty]);
        module.kernel(norm(TILES), format!("power_pool_tiles_{dtype}"), "ISOBIT_POWER_POOL_TILES", &[ty]);
        let cubic = Key::new(Family::Pooling, CUBIC, &[dtype], ANY);
        module.kernel(cubic, format!("cubic_pool_{dtype}"), "ISOBIT_POOL", &["CubicNorm", ty, ty]);
        modules.push(module);
        let mut module = Module::new(format!("pool_backward_{dtype}"), "ops/pooling/backward.cu");
        for (variant, name, gives) in [(SHARE, "share", "SHARE"), (OWN_SHARE, "own_share", "OWN_SHARE")] {
            let average = Key::new(Family::Pooling, AVERAGE_BACKWARD, &[dtype], variant);
            let name = format!("avg_pool_backward_{name}_{dtype}");
            module.kernel(average, name, "ISOBIT_AVG_POOL_BACKWARD", &[ty, gives]);
        }
        for places in [DType::U32, DType::I64] {
            let largest = Key::new(Family::Pooling, MAX_BACKWARD, &[dtype, places], ANY);
            let name = format!("max_pool_backward_{dtype}_{places}");
            module.kernel(largest, name, "ISOBIT_MAX_POOL_BACKWARD", &[ty, places.as_str()]);
        }
        modules.push(module);
        let mut module = Module::new(format!("col2im_{dtype}"), "ops/pooling/col2im.cu");
        let sums = Key::new(Family::Pooling, COL2IM, &[dtype], ANY);
        module.kernel(sums, format!("col2im_{dtype}"), "ISOBIT_COL2IM", &[ty]);
        modules.push(module);
    }
}
