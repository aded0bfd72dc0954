//! Kernels of quantized matrices, per format. The dtype of activations is a parameter, because it
//! only affects one load and one store.

use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::GgmlDType;

/// Few rows of float activations, one per thread block.
pub const VECTOR_FLOAT: u8 = 0;
/// One row of activations through q8_1.
pub const VECTOR_INT: u8 = 1;
/// Several rows of activations through q8_1: tiles of so many.
pub const TILE_8: u8 = 2;
pub const TILE_16: u8 = 3;
pub const TILE_32: u8 = 4;
pub const TILE_64: u8 = 5;
/// Dequantizes blocks to elements.
pub const DEQUANTIZE: u8 = 6;
/// Quantizes elements to blocks.
pub const QUANTIZE: u8 = 7;
/// Quantizes activations to q8_1; its key has that format.
pub const ACTIVATIONS: u8 = 8;
/// Groups rows by the matrix that each of them selects, for any format; its key has the format q8_1
/// too.
pub const GROUP: u8 = 9;
/// The values of segments of a block product with few rows of float activations, and their sums.
pub const BLOCK_VALUES: u8 = 10;
pub const BLOCK_SUM: u8 = 11;
/// Packs a matrix for a block product with many rows of float activations, and computes those
/// results that are chains.
pub const BLOCK_PACK: u8 = 12;
pub const BLOCK_CHAINS: u8 = 13;

/// The kernels with tiles, and the rows of their tiles.
pub const TILES: [(u8, usize); 4] = [(TILE_8, 8), (TILE_16, 16), (TILE_32, 32), (TILE_64, 64)];

/// Segments of k that a thread block of a kernel for few rows processes at a time.
pub const SEGMENTS_FLOAT: usize = 8;
/// See [`SEGMENTS_FLOAT`].
pub const SEGMENTS_INT: usize = 16;

/// Returns the key of a kernel of a format.
pub const fn key(format: GgmlDType, variant: u8) -> Key {
    Key::new(Family::Quantized, format.index(), &[], variant)
}

/// Adds the modules of quantized matrices.
pub fn add(modules: &mut Vec<Module>) {
    let mut convert = Module::new("quantized_convert", "ops/quantized/convert.cu");
    let activations = key(GgmlDType::Q8_1, ACTIVATIONS);
    convert.kernel(activations, "quantized_activations".into(), "ISOBIT_Q_ACTIVATIONS", &[]);
    let mut group = Module::new("quantized_group", "ops/quantized/moe_groups.cu");
    group.kernel(key(GgmlDType::Q8_1, GROUP), "quantized_group".into(), "ISOBIT_Q_GROUP", &[]);
    modules.push(group);
    for &format in GgmlDType::ALL {
        let name = format.name();
        let mut one = |what: &str, source, macro_name, variant, args: &[&str]| {
            let mut module = Module::new(format!("quantized_{what}_{name}"), source);
            module.kernel(key(format, variant), format!("quantized_{what}_{name}"), macro_name, args);
            modules.push(module);
        };
        let [float, int] = [SEGMENTS_FLOAT, SEGMENTS_INT].map(|s| s.to_string());
        one("float", "ops/quantized/vector_float.cu", "ISOBIT_Q_VECTOR_FLOAT", VECTOR_FLOAT, &[name, &float]);
        one("int", "ops/quantized/vector_int.cu", "ISOBIT_Q_VECTOR_INT", VECTOR_INT, &[name, &int]);
        for (variant, rows) in TILES {
            let own = format!("tile_{rows}");
            one(&own, "ops/quantized/tile.cu", "ISOBIT_Q_TILE", variant, &[name, &rows.to_string()]);
        }
        let mut block = Module::new(format!("quantized_block_{name}"), "ops/quantized/block.cu");
        let symbol = |what| format!("quantized_block_{what}_{name}");
        block.kernel(key(format, BLOCK_VALUES), symbol("values"), "ISOBIT_Q_BLOCK_VALUES", &[name]);
        block.kernel(key(format, BLOCK_SUM), symbol("sum"), "ISOBIT_Q_BLOCK_SUM", &[name]);
        let mut pack = Module::new(format!("quantized_block_pack_{name}"), "ops/quantized/block_pack.cu");
        pack.kernel(key(format, BLOCK_PACK), symbol("pack"), "ISOBIT_Q_PACK", &[name]);
        pack.kernel(key(format, BLOCK_CHAINS), symbol("chains"), "ISOBIT_Q_CHAINS", &[name]);
        match format {
            _ if !format.has_quantizer() => {}
            GgmlDType::Q8K => one("quantize", "ops/quantized/quantize_8k.cu", "ISOBIT_Q_QUANTIZE_8K", QUANTIZE, &[]),
            GgmlDType::IQ4NL | GgmlDType::IQ4XS => {
                one("quantize", "ops/quantized/quantize_iq4.cu", "ISOBIT_Q_QUANTIZE_IQ4", QUANTIZE, &[name]);
            }
            GgmlDType::TQ1_0 | GgmlDType::TQ2_0 => {
                one("quantize", "ops/quantized/quantize_ternary.cu", "ISOBIT_Q_QUANTIZE_TERNARY", QUANTIZE, &[name]);
            }
            GgmlDType::MXFP4 | GgmlDType::NVFP4 => {
                one("quantize", "ops/quantized/quantize_fp4.cu", "ISOBIT_Q_QUANTIZE_FP4", QUANTIZE, &[name]);
            }
            _ if format.block_size() == 32 => {
                one("quantize", "ops/quantized/quantize_32.cu", "ISOBIT_Q_QUANTIZE_32", QUANTIZE, &[name]);
            }
            _ => one("quantize", "ops/quantized/quantize_256.cu", "ISOBIT_Q_QUANTIZE_256", QUANTIZE, &[name]),
        }
        let symbol = format!("quantized_dequantize_{name}");
        convert.kernel(key(format, DEQUANTIZE), symbol, "ISOBIT_Q_DEQUANTIZE", &[name]);
        modules.extend([block, pack]);
    }
    modules.push(convert);
}
