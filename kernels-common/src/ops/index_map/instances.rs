//! Two kernels per element size for maps, and two for concatenations: both move bits, whatever
//! their dtype. Elements of up to four bytes have a third.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Moves elements one by one, between any layouts.
pub const ELEMENTS: u8 = 0;
/// The same in units of 16 bytes (under the key of the 8-byte dtype).
pub const ELEMENTS_16: u8 = 1;
/// Moves long rows.
pub const ROWS: u8 = 2;
/// Moves packs of elements of up to four bytes.
pub const PACKS: u8 = 3;

/// Returns whether elements of `size` bytes have [`PACKS`].
pub const fn has_packs(size: usize) -> bool {
    size <= 4
}

/// The operations' numbers in keys.
pub const MAP: usize = 0;
/// See [`MAP`].
pub const CONCAT: usize = 1;

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    for (op, name, source, macro_name) in [
        (MAP, "index_map", "ops/index_map/map.cu", "ISOBIT_MAP"),
        (CONCAT, "concat", "ops/index_map/concat.cu", "ISOBIT_CONCAT"),
    ] {
        let mut module = Module::new(name, source);
        for (dtype, ty) in [(DType::U8, "u8"), (DType::I16, "u16"), (DType::U32, "u32"), (DType::I64, "u64")] {
            let key = |variant| Key::new(Family::IndexMap, op, &[dtype], variant);
            module.kernel(key(ELEMENTS), format!("{name}_{ty}"), macro_name, &[ty]);
            module.kernel(key(ROWS), format!("{name}_rows_{ty}"), &format!("{macro_name}_ROWS"), &[ty]);
            if has_packs(dtype.size_in_bytes()) {
                module.kernel(key(PACKS), format!("{name}_packs_{ty}"), &format!("{macro_name}_PACKS"), &[ty]);
            }
        }
        let key = Key::new(Family::IndexMap, op, &[DType::I64], ELEMENTS_16);
        module.kernel(key, format!("{name}_16"), macro_name, &["vector_detail::words4"]);
        modules.push(module);
    }
}
