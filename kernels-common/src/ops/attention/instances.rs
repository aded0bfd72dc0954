//! Kernels of attention, for each dtype.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Tiles of 64 rows and one block of keys, and the same of 16 rows.
pub const SPLIT: u8 = 0;
pub const SPLIT_FEW: u8 = 1;
/// The sum over blocks of keys.
pub const COMBINE: u8 = 2;

/// Integers of keys and values of heads of up to 64 and up to 128 elements ...
pub const PACK: [u8; 2] = [3, 4];
/// ... tiles of rows and all blocks of keys, and the same with a mask or a soft-cap. Empty for
/// targets without the units.
pub const FLASH: [u8; 2] = [5, 6];
pub const FLASH_MASKED: [u8; 2] = [7, 8];
/// The sizes of heads of these kernels.
pub const FLASH_SIZES: [usize; 2] = [64, 128];

/// Lengths for the vendor's library, of the one dtype that stands for those of its size.
pub const LENGTHS: u8 = 9;

/// The dtypes that attention supports.
pub const DTYPES: [DType; 3] = [DType::F16, DType::BF16, DType::F32];

/// Returns the key of the kernel that prepares lengths.
pub const fn lengths_key() -> Key {
    Key::new(Family::Attention, 0, &[DType::I16], LENGTHS)
}

/// Adds the attention modules.
pub fn add(modules: &mut Vec<Module>) {
    let mut lengths = Module::new("attention_lengths", "ops/attention/lengths.cu");
    lengths.kernel(lengths_key(), "attention_lengths".into(), "ISOBIT_ATTENTION_LENGTHS", &["u16"]);
    modules.push(lengths);
    for dtype in DTYPES {
        let ty = if dtype == DType::F32 { "float" } else { dtype.as_str() };
        let key = |variant| Key::new(Family::Attention, 0, &[dtype], variant);
        let mut split = Module::new(format!("attention_split_{dtype}"), "ops/attention/split.cu");
        for (variant, name, tiles, blocks) in [(SPLIT, "split", "4", "1"), (SPLIT_FEW, "split_few", "1", "2")] {
            let symbol = format!("attention_{dtype}_{name}");
            split.kernel(key(variant), symbol, "ISOBIT_ATTENTION_SPLIT", &[ty, tiles, blocks]);
        }
        modules.push(split);
        let mut combine = Module::new(format!("attention_combine_{dtype}"), "ops/attention/combine.cu");
        let symbol = format!("attention_{dtype}_combine");
        combine.kernel(key(COMBINE), symbol, "ISOBIT_ATTENTION_COMBINE", &[ty]);
        modules.push(combine);
        for (at, size) in FLASH_SIZES.into_iter().enumerate() {
            let d = &*size.to_string();
            let mut pack = Module::new(format!("attention_pack_{dtype}_{d}"), "ops/attention/flash_pack.cu");
            pack.kernel(key(PACK[at]), format!("attention_{dtype}_pack_{d}"), "ISOBIT_ATTENTION_PACK", &[ty, d]);
            modules.push(pack);
            for (variant, name, masked) in [(FLASH[at], "flash", "false"), (FLASH_MASKED[at], "masked", "true")] {
                let mut flash = Module::new(format!("attention_{name}_{dtype}_{d}"), "ops/attention/flash.cu");
                let symbol = format!("attention_{dtype}_{name}_{d}");
                flash.kernel(key(variant), symbol, "ISOBIT_ATTENTION_FLASH", &[ty, d, masked]);
                modules.push(flash);
            }
        }
    }
}
