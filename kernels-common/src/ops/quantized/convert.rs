//! Launches that quantize elements to blocks and dequantize blocks to elements.

use crate::args;
use crate::device::GpuDevice;
use crate::launch::index::Divisor;
use crate::launch::{Launch, sizes};
use crate::runtime::{DevicePtr, GpuRuntime};
use isobit_hal::{DType, GgmlDType, Result};

use crate::manifest::instances::quantized::{ACTIVATIONS, DEQUANTIZE, QUANTIZE, key};
use std::mem::offset_of;

/// Elements of the smallest blocks; `SEGMENT` is the unit in which kernels take elements.
pub(super) const BLOCK: usize = 32;
pub(super) const SEGMENT: usize = 256;
/// Threads per block of the converting kernels, and elements that each thread dequantizes; must
/// match convert.cu.
const CONVERT_THREADS: usize = 256;
const EACH: usize = 8;
/// Threads per block of the quantizing kernels.
const QUANTIZE_THREADS: usize = 128;

/// Returns the number of a dtype in the kernels; must match values.cuh.
pub(super) fn code(dtype: DType) -> u32 {
    match dtype {
        DType::F32 => 0,
        DType::F16 => 1,
        _ => 2,
    }
}

/// Returns the number of threads that quantize one block of a format together; must match the
/// kernels.
fn team(format: GgmlDType) -> usize {
    match format {
        GgmlDType::Q2K | GgmlDType::Q3K | GgmlDType::Q6K => 16,
        GgmlDType::Q8_0 | GgmlDType::Q8_1 => 4,
        GgmlDType::NVFP4 => 1,
        _ => format.block_size() / BLOCK,
    }
}

/// Quantizes `elements` elements to blocks.
///
/// # Safety
/// Both must be allocated, and `to` must have the alignment of the blocks.
pub(super) unsafe fn quantize<R: GpuRuntime>(
    device: &GpuDevice<R>,
    format: GgmlDType,
    dtype: DType,
    from: DevicePtr,
    to: DevicePtr,
    elements: usize,
) -> Result<()> {
    let blocks = elements / format.block_size();
    let at_once = QUANTIZE_THREADS / team(format);
    let most = sizes::QUANTIZE_BLOCKS.limit(blocks.div_ceil(at_once)) * at_once;
    for first in (0..blocks).step_by(most) {
        let count = (blocks - first).min(most);
        let from = from.at(dtype, first * format.block_size());
        let to = to.at(DType::U8, first * format.block_bytes());
        let grid = count.div_ceil(at_once) as u32;
        let launch = Launch::linear(key(format, QUANTIZE), grid, QUANTIZE_THREADS as u32);
        // SAFETY: this is a part of the elements; the caller promises that both are allocated and
        // `to` is aligned.
        unsafe { launch.on(device, args![count as u64, code(dtype), from, to])? };
    }
    Ok(())
}

/// Rows of blocks with `elements` elements each.
pub(super) struct Blocks {
    pub(super) format: GgmlDType,
    pub(super) ptr: DevicePtr,
    pub(super) row: usize,
    pub(super) rows: usize,
    pub(super) elements: usize,
}

/// The layout of the kernels' `Conversion`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Conversion {
    blocks: u64,
    row: u64,
    dtype: u32,
    unused: u32,
    chunks: Divisor,
}

const _: () = assert!(size_of::<Conversion>() == 40);
const _: () = assert!(offset_of!(Conversion, dtype) == 16 && offset_of!(Conversion, chunks) == 24);

/// Dequantizes blocks to elements, row after row.
///
/// # Safety
/// The rows must be allocated and aligned as blocks are, and `to` must have space for every
/// element.
pub(super) unsafe fn dequantize<R: GpuRuntime>(
    device: &GpuDevice<R>,
    blocks: &Blocks,
    dtype: DType,
    to: DevicePtr,
) -> Result<()> {
    let chunk = CONVERT_THREADS * EACH;
    let chunks = blocks.elements.div_ceil(chunk);
    let most = sizes::DEQUANTIZE_BLOCKS.limit(chunks.saturating_mul(blocks.rows));
    // Each launch takes several rows, or a part of one row.
    let (rows, length) = ((most / chunks).max(1), blocks.elements.min(most * chunk));
    for row in (0..blocks.rows).step_by(rows) {
        for start in (0..blocks.elements).step_by(length) {
            let (rows, length) = ((blocks.rows - row).min(rows), (blocks.elements - start).min(length));
            let chunks = length.div_ceil(chunk);
            let conversion = Conversion {
                blocks: (length / BLOCK) as u64,
                row: blocks.row as u64,
                dtype: code(dtype),
                unused: 0,
                chunks: Divisor::new(chunks),
            };
            let bytes = start / blocks.format.block_size() * blocks.format.block_bytes();
            let from = blocks.ptr.at(DType::U8, row * blocks.row + bytes);
            let to = to.at(dtype, row * blocks.elements + start);
            let launch = Launch::linear(key(blocks.format, DEQUANTIZE), (rows * chunks) as u32, CONVERT_THREADS as u32);
            // SAFETY: this is a part of what the caller promises. A part of a row has its own
            // launch, so the rows of a launch lie one after the other.
            unsafe { launch.on(device, args![conversion, from, to])? };
        }
    }
    Ok(())
}

/// Quantizes activations to the form that integer products take: integers, and a scale and a scaled
/// sum per block.
///
/// # Safety
/// `x` must have `blocks` blocks of 32 elements, and `q` and `scales` must have space for each of
/// them.
pub(super) unsafe fn activations<R: GpuRuntime>(
    device: &GpuDevice<R>,
    dtype: DType,
    x: DevicePtr,
    [q, scales]: [DevicePtr; 2],
    blocks: usize,
) -> Result<()> {
    // Blocks of a thread block.
    let each = CONVERT_THREADS / team(GgmlDType::Q8_1);
    let most = sizes::ACTIVATION_BLOCKS.limit(blocks.div_ceil(each)) * each;
    for first in (0..blocks).step_by(most) {
        let count = (blocks - first).min(most);
        let grid = count.div_ceil(each) as u32;
        let x = x.at(dtype, first * BLOCK);
        let (q, scales) = (q.at(DType::U8, first * BLOCK), scales.at(DType::F32, first * 2));
        let launch = Launch::linear(key(GgmlDType::Q8_1, ACTIVATIONS), grid, CONVERT_THREADS as u32);
        // SAFETY: this is a part of the blocks; the caller promises that `x` has all `blocks`
        // blocks of 32 elements, and that `q` and `scales` have space for each of them.
        unsafe { launch.on(device, args![count as u64, code(dtype), x, q, scales])? };
    }
    Ok(())
}
