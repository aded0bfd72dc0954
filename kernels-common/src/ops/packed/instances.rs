//! Kernels of packed elements: one for each direction and dtype. The type of the packed elements is
//! a parameter, because it decides only a few instructions.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Packs elements.
pub const PACK: u8 = 0;
/// Unpacks them.
pub const UNPACK: u8 = 1;

/// Returns the key of a kernel.
pub const fn key(variant: u8, dtype: DType) -> Key {
    Key::new(Family::Packed, 0, &[dtype], variant)
}

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    use DType::{BF16, F16, F32, F64, I8, I32, U8};
    for (variant, name, macro_name) in [(PACK, "pack", "ISOBIT_PACK"), (UNPACK, "unpack", "ISOBIT_UNPACK")] {
        let mut module = Module::new(format!("packed_{name}"), "ops/packed/packed.cu");
        for dtype in [F32, F16, BF16, F64, U8, I8, I32] {
            module.kernel(key(variant, dtype), format!("packed_{name}_{dtype}"), macro_name, &[dtype.as_str()]);
        }
        modules.push(module);
    }
}
