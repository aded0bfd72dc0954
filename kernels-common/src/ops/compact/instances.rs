//! Kernels per element size: which elements are kept is found in any dtype's bits, and results are
//! moved bits or integers.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Marks elements that are not 0, or at which another value begins.
pub const MARK: u8 = 0;
/// Writes the marked elements.
pub const SELECT: u8 = 1;
/// Writes the coordinates of the marked elements.
pub const COORDINATES: u8 = 2;
/// Writes for each element the number of marks up to it.
pub const RANKS: u8 = 3;
/// Sums the counts of marks before each tile.
pub const PLACES: u8 = 4;

/// Elements of a tile, which is the work of a block of [`BLOCK`] threads; must match tile.cuh.
pub const TILE: usize = 4096;
/// Threads of a block.
pub const BLOCK: usize = 256;
/// The most threads of a block that sums counts; must match places.cu.
pub const PLACES_BLOCK: usize = 1024;

/// Returns the key of a kernel for elements, or integers, with the size of `carrier`.
pub const fn key(carrier: DType, variant: u8) -> Key {
    Key::new(Family::Compact, 0, &[carrier], variant)
}

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    let mut mark = Module::new("compact_mark", "ops/compact/mark.cu");
    let mut write = Module::new("compact_write", "ops/compact/write.cu");
    for (dtype, ty) in super::copy::CARRIERS.into_iter().zip(["u8", "u16", "u32", "u64"]) {
        mark.kernel(key(dtype, MARK), format!("compact_mark_{ty}"), "ISOBIT_COMPACT_MARK", &[ty]);
        write.kernel(key(dtype, SELECT), format!("compact_select_{ty}"), "ISOBIT_COMPACT_SELECT", &[ty]);
    }
    for (dtype, ty) in [(DType::U32, "u32"), (DType::I64, "u64")] {
        let symbol = format!("compact_coordinates_{ty}");
        write.kernel(key(dtype, COORDINATES), symbol, "ISOBIT_COMPACT_COORDINATES", &[ty]);
        write.kernel(key(dtype, RANKS), format!("compact_ranks_{ty}"), "ISOBIT_COMPACT_RANKS", &[ty]);
    }
    let mut places = Module::new("compact_places", "ops/compact/places.cu");
    places.kernel(key(DType::I64, PLACES), "compact_places".into(), "ISOBIT_COMPACT_PLACES", &[]);
    modules.extend([mark, write, places]);
}
