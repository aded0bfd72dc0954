//! Kernels of the portable convolutions, for each supported float dtype.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{DType, Matmul};

/// Tiles of 128 outputs by 64 channels.
pub const TILE: u8 = 0;
/// One channel of two runs of four outputs per thread, where input and kernel have one plane.
pub const THIN: u8 = 1;
/// Four channels of a run per thread.
pub const THIN_4: u8 = 2;
/// The sum of segments that were computed separately.
pub const SEGMENTS: u8 = 3;
/// Tiles of 64 outputs by 64 channels on matrix units, of f64. Empty for targets without such
/// units.
pub const UNIT: u8 = 4;
/// Like [`TILE`], on AMD's matrix units. Empty for other targets.
pub const TILE_UNIT: u8 = 5;

/// Packs the input of a block convolution, from the input itself or from packed pixels.
pub const PACK: u8 = 6;
pub const SPREAD: u8 = 7;
/// The weights of a block convolution as a matrix, its results in their places, and those results
/// that are chains.
pub const UNFOLD_KERNEL: u8 = 8;
pub const FOLD: u8 = 9;
pub const CHAINS: u8 = 10;
/// A block convolution on Hopper's warpgroups, from packed pixels. Empty for other targets.
pub const WARPGROUP: u8 = 11;
/// [`THIN`] and [`THIN_4`] for any planes.
pub const THIN_PLANES: u8 = 12;
pub const THIN_4_PLANES: u8 = 13;
/// One channel of eight rows of four outputs per thread, for so many taps along h and w, where
/// input and kernel have one plane.
pub const SLIDING_3: u8 = 14;
pub const SLIDING_5: u8 = 15;
pub const SLIDING_7: u8 = 16;

/// The dtypes that convolutions support.
pub const DTYPES: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    for dtype in DTYPES {
        let ty = dtype.as_str();
        let key = |variant| Key::new(Family::Conv, 0, &[dtype], variant);
        let mut tile = Module::new(format!("conv_{dtype}"), "ops/conv/tile.cu");
        // The numbers of blocks that share the registers of a multiprocessor: of tiles; and of
        // strips of one channel and of four, where there is one plane and where there may be more.
        let is_f64 = dtype == DType::F64;
        let (resident, of_one, of_four) =
            if is_f64 { ("1", ["5", "4"], ["4", "3"]) } else { ("2", ["8", "7"], ["5", "4"]) };
        tile.kernel(key(TILE), format!("conv_{dtype}_tile"), "ISOBIT_CONV_TILE", &[ty, resident]);
        tile.kernel(key(TILE_UNIT), format!("conv_{dtype}_tile_unit"), "ISOBIT_CONV_TILE_UNIT", &[ty]);
        modules.push(tile);
        let mut thin = Module::new(format!("conv_thin_{dtype}"), "ops/conv/depthwise.cu");
        for (name, r, runs, variants, blocks) in
            [("thin", "1", "2", [THIN, THIN_PLANES], of_one), ("thin_4", "4", "1", [THIN_4, THIN_4_PLANES], of_four)]
        {
            for (planes, suffix, i) in [("false", "", 0), ("true", "_planes", 1)] {
                let symbol = format!("conv_{dtype}_{name}{suffix}");
                thin.kernel(key(variants[i]), symbol, "ISOBIT_CONV_THIN", &[ty, r, runs, blocks[i], planes]);
            }
        }
        thin.kernel(key(SEGMENTS), format!("conv_{dtype}_segments"), "ISOBIT_CONV_SEGMENTS", &[ty]);
        modules.push(thin);
        let mut sliding = Module::new(format!("conv_sliding_{dtype}"), "ops/conv/sliding.cu");
        for (variant, taps, [of_f64, of_others]) in
            [(SLIDING_3, "3", ["6", "10"]), (SLIDING_5, "5", ["4", "7"]), (SLIDING_7, "7", ["2", "4"])]
        {
            let symbol = format!("conv_{dtype}_sliding_{taps}");
            sliding.kernel(
                key(variant),
                symbol,
                "ISOBIT_CONV_SLIDING",
                &[ty, taps, if is_f64 { of_f64 } else { of_others }],
            );
        }
        modules.push(sliding);
        if Matmul::block_digits(dtype).is_some() {
            let mut block = Module::new(format!("conv_block_{dtype}"), "ops/conv/block.cu");
            let symbol = format!("conv_{dtype}_unfold_kernel");
            block.kernel(key(UNFOLD_KERNEL), symbol, "ISOBIT_CONV_UNFOLD_KERNEL", &[ty]);
            block.kernel(key(FOLD), format!("conv_{dtype}_fold"), "ISOBIT_CONV_FOLD", &[ty]);
            block.kernel(key(CHAINS), format!("conv_{dtype}_chains"), "ISOBIT_CONV_CHAINS", &[ty]);
            modules.push(block);
            let mut pack = Module::new(format!("conv_pack_{dtype}"), "ops/conv/block_pack.cu");
            pack.kernel(key(PACK), format!("conv_{dtype}_pack"), "ISOBIT_CONV_PACK", &[ty, "3"]);
            pack.kernel(key(SPREAD), format!("conv_{dtype}_spread"), "ISOBIT_CONV_SPREAD", &[ty]);
            modules.push(pack);
            let warpgroup = Module::new(format!("conv_warpgroup_{dtype}"), "ops/conv/block_warpgroup.cu");
            let mut warpgroup = warpgroup.with_variant(["sm_90", "sm_90a"]);
            warpgroup.kernel(key(WARPGROUP), format!("conv_{dtype}_warpgroup"), "ISOBIT_CONV_WARPGROUP", &[ty]);
            modules.push(warpgroup);
        }
    }
    let mut unit = Module::new("conv_unit_f64", "ops/conv/unit.cu");
    let key = Key::new(Family::Conv, 0, &[DType::F64], UNIT);
    unit.kernel(key, "conv_f64_unit".into(), "ISOBIT_CONV_UNIT", &[]);
    modules.push(unit);
}
