//! One kernel per element size: a copy moves bits, whatever their dtype.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Copies from any layout to any layout.
pub const STRIDED: u8 = 0;
/// The same in units of 16 bytes (under the key of the 8-byte dtype).
pub const STRIDED_16: u8 = 1;
/// Exchanges two dimensions, element by element.
pub const TILE: u8 = 2;
/// Exchanges two dimensions, in vectors of [`vector`] elements.
pub const TILE_VECTOR: u8 = 3;

/// Copies runs of adjacent elements that do not divide into, or are not aligned to, larger units.
pub const RUNS: u8 = 4;

/// One dtype for each element size.
pub const CARRIERS: [DType; 4] = [DType::U8, DType::I16, DType::U32, DType::I64];

/// Returns the number of elements that a thread moves at a time through a tile of vectors.
pub const fn vector(size: usize) -> usize {
    match size {
        1 => 8,
        _ => 16 / size,
    }
}

/// Adds the modules of copies.
pub fn add(modules: &mut Vec<Module>) {
    let mut strided = Module::new("copy", "ops/copy/copy.cu");
    let mut tiles = Module::new("transpose", "ops/copy/transpose.cu");
    for (dtype, ty) in CARRIERS.into_iter().zip(["u8", "u16", "u32", "u64"]) {
        let key = |variant| Key::new(Family::Copy, 0, &[dtype], variant);
        let k = vector(dtype.size_in_bytes()).to_string();
        strided.kernel(key(STRIDED), format!("copy_{ty}"), "ISOBIT_COPY", &[ty]);
        strided.kernel(key(RUNS), format!("copy_runs_{ty}"), "ISOBIT_COPY_RUNS", &[ty]);
        tiles.kernel(key(TILE), format!("transpose_{ty}"), "ISOBIT_TRANSPOSE", &[ty]);
        tiles.kernel(key(TILE_VECTOR), format!("transpose_{ty}_x{k}"), "ISOBIT_TRANSPOSE_VECTOR", &[ty, &k]);
    }
    let key = Key::new(Family::Copy, 0, &[DType::I64], STRIDED_16);
    strided.kernel(key, "copy_16".into(), "ISOBIT_COPY", &["vector_detail::words4"]);
    modules.push(strided);
    modules.push(tiles);
}
