//! Kernels per element size: the order of a dtype's bits is a parameter.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Rows of up to 2^[`SMALL`] elements in the shared memory of a block. A block holds several of the
/// shorter rows.
pub const TILE_SMALL: u8 = 0;
/// Rows of up to 2^[`large`] elements, and the tiles of longer rows.
pub const TILE_LARGE: u8 = 1;
/// Merges two sorted runs.
pub const MERGE: u8 = 2;
/// Counts the digits of the keys in each tile.
pub const RADIX_COUNT: u8 = 3;
/// Sums those counts.
pub const RADIX_SCAN: u8 = 4;
/// Moves every element to its place.
pub const RADIX_PLACE: u8 = 5;

/// The log2 of the elements of a small tile.
pub const SMALL: u32 = 10;

/// Returns the log2 of the elements of a large tile, limited by 48 KiB of shared memory.
pub const fn large(size: usize) -> u32 {
    if size == 8 { 11 } else { 12 }
}

/// Returns the key of a kernel for elements with the size of `carrier`.
pub const fn key(carrier: DType, variant: u8) -> Key {
    Key::new(Family::Sort, 0, &[carrier], variant)
}

/// Adds the modules of sorting.
pub fn add(modules: &mut Vec<Module>) {
    for (dtype, ty) in super::copy::CARRIERS.into_iter().zip(["u8", "u16", "u32", "u64"]) {
        let mut tiles = Module::new(format!("sort_{ty}"), "ops/sort/tile.cu");
        for (variant, name, log) in [(TILE_SMALL, "small", SMALL), (TILE_LARGE, "large", large(dtype.size_in_bytes()))]
        {
            let arguments = [ty, &log.to_string()];
            tiles.kernel(key(dtype, variant), format!("sort_{ty}_{name}"), "ISOBIT_SORT_TILE", &arguments);
        }
        let mut long = Module::new(format!("sort_long_{ty}"), "ops/sort/radix.cu");
        long.kernel(key(dtype, MERGE), format!("sort_merge_{ty}"), "ISOBIT_SORT_MERGE", &[ty]);
        long.kernel(key(dtype, RADIX_COUNT), format!("sort_radix_count_{ty}"), "ISOBIT_RADIX_COUNT", &[ty]);
        long.kernel(key(dtype, RADIX_SCAN), format!("sort_radix_scan_{ty}"), "ISOBIT_RADIX_SCAN", &[]);
        long.kernel(key(dtype, RADIX_PLACE), format!("sort_radix_place_{ty}"), "ISOBIT_RADIX_PLACE", &[ty]);
        modules.extend([tiles, long]);
    }
}
