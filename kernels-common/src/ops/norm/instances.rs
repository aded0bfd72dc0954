//! Three modules per dtype. Those of softmax and of the norms of rows have kernels for rows that
//! fit in registers, by row length, and kernels for long rows; the third has the norms of channels.

use super::combined_floats;
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// The numbers of the operations in keys.
pub const SOFTMAX: usize = 0;
pub const LOG_SOFTMAX: usize = 1;
pub const RMS_NORM: usize = 2;
pub const LAYER_NORM: usize = 3;
pub const SKIP_LAYER_NORM: usize = 4;
pub const GROUP_NORM: usize = 5;
pub const BATCH_NORM: usize = 6;
pub const LOCAL_RESPONSE_NORM: usize = 7;

/// The passes over the segments of long rows, and the pass that writes. Smaller variants are
/// indices into [`shapes`].
pub const FIRST: u8 = 16;
pub const SECOND: u8 = 17;
pub const WRITE: u8 = 18;

/// The variants of the norms of channels: one element per thread of any layout, and as many
/// neighbours as [`channel_lanes`] says.
pub const ANY: u8 = 0;
/// See [`ANY`].
pub const LANES: u8 = 1;

/// Returns the elements that a thread of [`LANES`] computes: 16 bytes, at most 8.
pub const fn channel_lanes(size: usize) -> usize {
    if size == 1 { 8 } else { 16 / size }
}

/// The part of a row that a thread holds in registers: `elements` elements of each of its `lanes`
/// lanes. A row has 256 lanes, so it has at most `256 * elements` elements.
#[derive(Debug, Clone, Copy)]
pub struct RowShape {
    pub lanes: usize,
    pub elements: usize,
    /// The maximum number of threads per block.
    pub block: usize,
}

const fn shape(lanes: usize, elements: usize, block: usize) -> RowShape {
    RowShape { lanes, elements, block }
}

/// Returns the shapes for rows of up to 256, for narrow dtypes 512, 1024, 2048, 4096, 8192 and,
/// except for f64, 16384 elements. For the longest rows a thread has few lanes, so that it holds at
/// most 64 words. For the shortest rows it has as many lanes as fit in 16 bytes, up to 8: with
/// eight lanes, rows of up to 1024 elements are those of one warp of 32 threads. 65,536 rows of
/// 1024 elements take 109 us so in f16 on an H100 (layer_norm), and 362 us with four lanes.
pub fn shapes(dtype: DType) -> &'static [RowShape] {
    const F64: &[RowShape] =
        &[shape(2, 1, 128), shape(2, 4, 128), shape(2, 8, 128), shape(2, 16, 128), shape(1, 32, 256)];
    const F32: &[RowShape] =
        &[shape(4, 1, 128), shape(4, 4, 128), shape(4, 8, 64), shape(4, 16, 64), shape(2, 32, 128), shape(1, 64, 256)];
    const NARROW: &[RowShape] = &[
        shape(8, 1, 128),
        shape(8, 2, 64),
        shape(8, 4, 64),
        shape(4, 8, 64),
        shape(4, 16, 64),
        shape(2, 32, 128),
        shape(1, 64, 256),
    ];
    match dtype {
        DType::F64 => F64,
        DType::F32 => F32,
        _ => NARROW,
    }
}

/// Returns the key of a kernel.
pub const fn key(op: usize, dtype: DType, variant: u8) -> Key {
    Key::new(Family::Norm, op, &[dtype], variant)
}

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    for dtype in combined_floats() {
        let ty = dtype.as_str();
        let mut softmax = Module::new(format!("norm_softmax_{dtype}"), "ops/norm/softmax.cu");
        for (op, name, log) in [(SOFTMAX, "softmax", "false"), (LOG_SOFTMAX, "log_softmax", "true")] {
            rows(&mut softmax, op, dtype, name, "ISOBIT_SOFTMAX_ROWS", &[log, ty]);
            let symbol = format!("{name}_{dtype}_long");
            softmax.kernel(key(op, dtype, WRITE), symbol, "ISOBIT_SOFTMAX_LONG", &[log, ty]);
        }
        segments(&mut softmax, SOFTMAX, dtype, "softmax", &["Itself", "Exponential"]);
        modules.push(softmax);

        let mut norms = Module::new(format!("norm_norms_{dtype}"), "ops/norm/norm.cu");
        for (op, name, line, values) in [
            (RMS_NORM, "rms_norm", "ISOBIT_RMS", &["Square"][..]),
            (LAYER_NORM, "layer_norm", "ISOBIT_LAYER", &["Itself", "CentredSquare"]),
        ] {
            rows(&mut norms, op, dtype, name, &format!("{line}_ROWS"), &[ty]);
            segments(&mut norms, op, dtype, name, values);
            norms.kernel(key(op, dtype, WRITE), format!("{name}_{dtype}_long"), &format!("{line}_LONG"), &[ty]);
        }
        rows(&mut norms, SKIP_LAYER_NORM, dtype, "skip_layer_norm", "ISOBIT_SKIP_LAYER_ROWS", &[ty]);
        rows(&mut norms, GROUP_NORM, dtype, "group_norm", "ISOBIT_GROUP_ROWS", &[ty]);
        let symbol = format!("group_norm_{dtype}_long");
        norms.kernel(key(GROUP_NORM, dtype, WRITE), symbol, "ISOBIT_GROUP_LONG", &[ty]);
        modules.push(norms);

        let mut channels = Module::new(format!("norm_channels_{dtype}"), "ops/norm/channels.cu");
        for (op, name, line) in [
            (BATCH_NORM, "batch_norm", "ISOBIT_BATCH_NORM"),
            (LOCAL_RESPONSE_NORM, "local_response_norm", "ISOBIT_LOCAL_RESPONSE_NORM"),
        ] {
            for (variant, lanes) in [(ANY, 1), (LANES, channel_lanes(dtype.size_in_bytes()))] {
                let symbol = format!("{name}_{dtype}_{lanes}");
                channels.kernel(key(op, dtype, variant), symbol, line, &[ty, &lanes.to_string()]);
            }
        }
        modules.push(channels);
    }
}

fn rows(module: &mut Module, op: usize, dtype: DType, name: &str, line: &str, args: &[&str]) {
    for (i, s) in shapes(dtype).iter().enumerate() {
        let symbol = format!("{name}_{dtype}_{}", s.elements * 256);
        let numbers = [s.lanes, s.elements, s.block].map(|n| n.to_string());
        let args = [args, &numbers.each_ref().map(String::as_str)].concat();
        module.kernel(key(op, dtype, i as u8), symbol, line, &args);
    }
}

fn segments(module: &mut Module, op: usize, dtype: DType, name: &str, values: &[&str]) {
    for (variant, value) in [FIRST, SECOND].into_iter().zip(values) {
        let symbol = format!("{name}_{dtype}_segments_{}", value.to_lowercase());
        module.kernel(key(op, dtype, variant), symbol, "ISOBIT_NORM_SEGMENTS", &[value, dtype.as_str()]);
    }
}
