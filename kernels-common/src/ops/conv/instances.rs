//! Kernels of the portable convolutions, for each supported float dtype.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// Tiles of 128 outputs by 64 channels.
pub const TILE: u8 = 0;
/// One channel of four outputs per thread.
pub const THIN: u8 = 1;
/// Four channels of two outputs per thread.
pub const THIN_4: u8 = 2;
/// The sum of segments that were computed separately.
pub const SEGMENTS: u8 = 3;
/// Tiles of 64 outputs by 64 channels on matrix units, of f64. Empty for targets without such
/// units.
pub const UNIT: u8 = 4;
/// Like [`TILE`], on AMD's matrix units. Empty for other targets.
pub const TILE_UNIT: u8 = 5;

/// The dtypes that convolutions support.
pub const DTYPES: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    for dtype in DTYPES {
        let ty = dtype.as_str();
        let key = |variant| Key::new(Family::Conv, 0, &[dtype], variant);
        let mut tile = Module::new(format!("conv_{dtype}"), "ops/conv/tile.cu");
        // The number of blocks that share the registers of a multiprocessor.
        let [resident, strips_4] = if dtype == DType::F64 { ["1", "4"] } else { ["2", "5"] };
        tile.kernel(key(TILE), format!("conv_{dtype}_tile"), "ISOBIT_CONV_TILE", &[ty, resident]);
        tile.kernel(key(TILE_UNIT), format!("conv_{dtype}_tile_unit"), "ISOBIT_CONV_TILE_UNIT", &[ty]);
        modules.push(tile);
        let mut thin = Module::new(format!("conv_thin_{dtype}"), "ops/conv/depthwise.cu");
        thin.kernel(key(THIN), format!("conv_{dtype}_thin"), "ISOBIT_CONV_THIN", &[ty, "1", "4", "8"]);
        thin.kernel(key(THIN_4), format!("conv_{dtype}_thin_4"), "ISOBIT_CONV_THIN", &[ty, "4", "2", strips_4]);
        thin.kernel(key(SEGMENTS), format!("conv_{dtype}_segments"), "ISOBIT_CONV_SEGMENTS", &[ty]);
        modules.push(thin);
    }
    let mut unit = Module::new("conv_unit_f64", "ops/conv/unit.cu");
    let key = Key::new(Family::Conv, 0, &[DType::F64], UNIT);
    unit.kernel(key, "conv_f64_unit".into(), "ISOBIT_CONV_UNIT", &[]);
    modules.push(unit);
}
