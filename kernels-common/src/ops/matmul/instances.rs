//! Kernels of the portable matrix product, for each float dtype, of integers, and of bytes.

use super::without_sign;
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Tiles of 128 x 64 results.
pub const TILE: u8 = 0;
/// One result per thread, or for [`THIN_4`] four in a column.
pub const THIN: u8 = 1;
/// Like [`THIN`], with four results per thread.
pub const THIN_4: u8 = 2;
/// The sum of segments that were computed separately.
pub const SEGMENTS: u8 = 3;
/// Tiles of 64 x 64 results on matrix units, of f64. Empty for targets without such units.
pub const UNIT: u8 = 4;

/// Packs an operand of a block product.
pub const PACK: u8 = 5;
/// The block product in tiles of 64 x 64 results.
pub const BLOCK: u8 = 6;
/// The block product in larger tiles. Empty for targets without the units.
pub const BLOCK_LARGE: u8 = 7;
/// The block product in tiles of Hopper's warpgroups. Empty for other targets.
pub const BLOCK_WARPGROUP: u8 = 9;
/// The values of segments of a block product with few rows or columns, and their sums.
pub const BLOCK_THIN: u8 = 10;
pub const BLOCK_SUM: u8 = 11;
/// Like [`BLOCK_THIN`], with at most eight rows or columns, of elements.
pub const BLOCK_GEMV: u8 = 12;
/// Like [`TILE`], on AMD's matrix units. Empty for other targets.
pub const TILE_UNIT: u8 = 8;

/// Products of bytes in tiles, and of a row. Their keys have the dtype u8, for bytes of either
/// sign.
pub const BYTES_TILE: u8 = 13;
/// See [`BYTES_TILE`].
pub const BYTES_THIN: u8 = 14;
/// Makes lines of signed bytes along k.
pub const BYTES_PACK: u8 = 15;
/// Adds to products of such lines what zero points change.
pub const BYTES_AFTER: u8 = 16;

/// Like [`TILE`], [`TILE_UNIT`], [`THIN`], [`THIN_4`] and [`SEGMENTS`], of f8 with scales. Their
/// keys have the dtype of the result.
pub const SCALED_TILE: u8 = 17;
/// See [`SCALED_TILE`].
pub const SCALED_TILE_UNIT: u8 = 18;
/// See [`SCALED_TILE`].
pub const SCALED_THIN: u8 = 19;
/// See [`SCALED_TILE`].
pub const SCALED_THIN_4: u8 = 20;
/// See [`SCALED_TILE`].
pub const SCALED_SEGMENTS: u8 = 21;

/// The floats that matrix products support.
pub const DTYPES: [DType; 5] = [DType::F8E4M3, DType::F16, DType::BF16, DType::F32, DType::F64];

/// Returns the dtype whose kernels a product has: products wrap to the same bits with either sign.
pub const fn carrier(dtype: DType) -> DType {
    without_sign(dtype)
}

/// Adds the products of integers: those of floats with another multiply-add, and those of bytes.
fn add_integers(modules: &mut Vec<Module>) {
    const WRAPPING: &str = "#include \"ops/matmul/wrapping.cuh\"\n";
    let mut tile = Module::new("matmul_integers", "ops/matmul/tile.cu").with_prelude(WRAPPING);
    let mut thin = Module::new("matmul_thin_integers", "ops/matmul/gemv.cu").with_prelude(WRAPPING);
    for (dtype, ty, resident) in [(DType::U32, "u32", "2"), (DType::I64, "u64", "1")] {
        let key = |variant| Key::new(Family::Matmul, 0, &[dtype], variant);
        tile.kernel(key(TILE), format!("matmul_{dtype}_tile"), "ISOBIT_MATMUL_TILE", &[ty, resident]);
        thin.kernel(key(THIN), format!("matmul_{dtype}_thin"), "ISOBIT_MATMUL_THIN", &[ty, "1"]);
        thin.kernel(key(THIN_4), format!("matmul_{dtype}_thin_4"), "ISOBIT_MATMUL_THIN", &[ty, "4"]);
        thin.kernel(key(SEGMENTS), format!("matmul_{dtype}_segments"), "ISOBIT_MATMUL_SEGMENTS", &[ty]);
    }
    let mut bytes_tile = Module::new("matmul_bytes_tile", "ops/matmul/bytes_tile.cu");
    let mut bytes_thin = Module::new("matmul_bytes_thin", "ops/matmul/bytes_thin.cu");
    let key = |variant| Key::new(Family::Matmul, 0, &[DType::U8], variant);
    let mut bytes_pack = Module::new("matmul_bytes_pack", "ops/matmul/bytes_pack.cu");
    bytes_pack.kernel(key(BYTES_PACK), "matmul_bytes_pack".into(), "ISOBIT_MATMUL_BYTES_PACK", &[]);
    bytes_tile.kernel(key(BYTES_TILE), "matmul_bytes_tile".into(), "ISOBIT_MATMUL_BYTES_TILE", &[]);
    bytes_tile.kernel(key(BYTES_AFTER), "matmul_bytes_after".into(), "ISOBIT_MATMUL_BYTES_AFTER", &[]);
    bytes_thin.kernel(key(BYTES_THIN), "matmul_bytes_thin".into(), "ISOBIT_MATMUL_BYTES_THIN", &[]);
    modules.extend([tile, thin, bytes_pack, bytes_tile, bytes_thin]);
}

/// Adds the products of f8 with scales, by the dtype of the result.
fn add_scaled(modules: &mut Vec<Module>) {
    for (dtype, ty) in [(DType::F16, "f16"), (DType::BF16, "bf16"), (DType::F32, "float")] {
        let key = |variant| Key::new(Family::Matmul, 0, &[dtype], variant);
        let symbol = |what: &str| format!("matmul_scaled_{dtype}_{what}");
        let mut tile = Module::new(format!("matmul_scaled_{dtype}"), "ops/matmul/scaled_tile.cu");
        tile.kernel(key(SCALED_TILE), symbol("tile"), "ISOBIT_MATMUL_SCALED_TILE", &[ty]);
        tile.kernel(key(SCALED_TILE_UNIT), symbol("tile_unit"), "ISOBIT_MATMUL_SCALED_TILE_UNIT", &[ty]);
        let mut thin = Module::new(format!("matmul_scaled_thin_{dtype}"), "ops/matmul/scaled_thin.cu");
        thin.kernel(key(SCALED_THIN), symbol("thin"), "ISOBIT_MATMUL_SCALED_THIN", &[ty, "1"]);
        thin.kernel(key(SCALED_THIN_4), symbol("thin_4"), "ISOBIT_MATMUL_SCALED_THIN", &[ty, "4"]);
        thin.kernel(key(SCALED_SEGMENTS), symbol("segments"), "ISOBIT_MATMUL_SCALED_SEGMENTS", &[ty]);
        modules.extend([tile, thin]);
    }
}

/// Adds the matrix product modules.
pub fn add(modules: &mut Vec<Module>) {
    add_integers(modules);
    add_scaled(modules);
    for dtype in DTYPES {
        let ty = match dtype {
            DType::F32 => "float",
            DType::F64 => "double",
            other => other.as_str(),
        };
        let key = |variant| Key::new(Family::Matmul, 0, &[dtype], variant);
        let mut tile = Module::new(format!("matmul_{dtype}"), "ops/matmul/tile.cu");
        tile.kernel(
            key(TILE),
            format!("matmul_{dtype}_tile"),
            "ISOBIT_MATMUL_TILE",
            &[ty, if dtype == DType::F64 { "1" } else { "2" }],
        );
        tile.kernel(key(TILE_UNIT), format!("matmul_{dtype}_tile_unit"), "ISOBIT_MATMUL_TILE_UNIT", &[ty]);
        modules.push(tile);
        let mut thin = Module::new(format!("matmul_thin_{dtype}"), "ops/matmul/gemv.cu");
        thin.kernel(key(THIN), format!("matmul_{dtype}_thin"), "ISOBIT_MATMUL_THIN", &[ty, "1"]);
        thin.kernel(key(THIN_4), format!("matmul_{dtype}_thin_4"), "ISOBIT_MATMUL_THIN", &[ty, "4"]);
        thin.kernel(key(SEGMENTS), format!("matmul_{dtype}_segments"), "ISOBIT_MATMUL_SEGMENTS", &[ty]);
        modules.push(thin);
        if dtype == DType::F64 {
            continue;
        }
        let blocks = if dtype == DType::F32 { "3" } else { "4" };
        let mut pack = Module::new(format!("matmul_pack_{dtype}"), "ops/matmul/block/pack.cu");
        pack.kernel(key(PACK), format!("matmul_{dtype}_pack"), "ISOBIT_MATMUL_PACK", &[ty, blocks]);
        modules.push(pack);
        let mut block = Module::new(format!("matmul_block_{dtype}"), "ops/matmul/block/product.cu");
        block.kernel(key(BLOCK), format!("matmul_{dtype}_block"), "ISOBIT_MATMUL_BLOCK", &[ty, "false"]);
        block.kernel(key(BLOCK_LARGE), format!("matmul_{dtype}_block_large"), "ISOBIT_MATMUL_BLOCK", &[ty, "true"]);
        modules.push(block);
        // One row by 4096 x 4096 of f32 takes 50 us with three blocks on an H100, 45 with two.
        let blocks = if dtype == DType::F32 { "2" } else { "4" };
        let mut thin = Module::new(format!("matmul_block_thin_{dtype}"), "ops/matmul/block/thin.cu");
        thin.kernel(key(BLOCK_THIN), format!("matmul_{dtype}_block_thin"), "ISOBIT_MATMUL_THIN_VALUES", &[ty, blocks]);
        thin.kernel(key(BLOCK_SUM), format!("matmul_{dtype}_block_sum"), "ISOBIT_MATMUL_THIN_SUM", &[ty]);
        modules.push(thin);
        let mut gemv = Module::new(format!("matmul_block_gemv_{dtype}"), "ops/matmul/block/gemv.cu");
        gemv.kernel(key(BLOCK_GEMV), format!("matmul_{dtype}_block_gemv"), "ISOBIT_MATMUL_BLOCK_GEMV", &[ty]);
        modules.push(gemv);
        let warpgroup = Module::new(format!("matmul_warpgroup_{dtype}"), "ops/matmul/block/warpgroup.cu");
        let mut warpgroup = warpgroup.with_variant(["sm_90", "sm_90a"]);
        let symbol = format!("matmul_{dtype}_warpgroup");
        warpgroup.kernel(key(BLOCK_WARPGROUP), symbol, "ISOBIT_MATMUL_WARPGROUP", &[ty]);
        modules.push(warpgroup);
    }
    let mut unit = Module::new("matmul_unit_f64", "ops/matmul/unit.cu");
    let key = Key::new(Family::Matmul, 0, &[DType::F64], UNIT);
    unit.kernel(key, "matmul_f64_unit".into(), "ISOBIT_MATMUL_UNIT", &[]);
    modules.push(unit);
}
