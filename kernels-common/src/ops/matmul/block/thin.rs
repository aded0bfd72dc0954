//! Block products with few rows or few columns: the short operand is packed, the long one is read
//! once.

use super::{Form, Lines, PACK_LINES, PACK_THREADS, SEGMENT, packed_bytes};
use crate::args;
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::matmul::{BLOCK_SUM, BLOCK_THIN};
use crate::ops::matmul::{Operand, Problem, key};
use crate::runtime::GpuRuntime;
use isobit_hal::{DType, Result};
use std::mem::offset_of;

/// Threads per block that adds segments. Must match ops/matmul/block/thin.cu.
const SUM_THREADS: usize = 64;

/// The layout of the kernels' `BlockThin`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Thin {
    lines: Lines,
    rows: u32,
    is_right: u32,
    line_blocks: Divisor,
    all_segments: Divisor,
    sum_blocks: Divisor,
    row: [u64; 2],
    result: [u64; 2],
    packed: u64,
    values: u64,
    batch: Index<4>,
}

const _: () = assert!(size_of::<Thin>() == 496);
const _: () = assert!(offset_of!(Thin, rows) == 40 && offset_of!(Thin, line_blocks) == 48);
const _: () = assert!(offset_of!(Thin, row) == 88 && offset_of!(Thin, batch) == 136);

/// Returns the bytes of the values of one matrix: those of three passes and the steps of two levels
/// of each line, for each segment, and a word for each block of lines.
fn value_bytes(rows: usize, lines: usize, k: usize) -> usize {
    let in_segment = (3 * rows + 2).saturating_mul(lines).saturating_add(lines.div_ceil(PACK_LINES));
    in_segment.saturating_mul(k.div_ceil(SEGMENT)).saturating_mul(size_of::<f32>()).next_multiple_of(16)
}

impl<R: GpuRuntime> Problem<'_, R> {
    /// Computes a block product of which one side is short. Only the short side is used packed.
    ///
    /// # Safety
    /// Same as [`vendor`](Self::vendor).
    pub(super) unsafe fn thin(&self, digits: usize, packed: [Option<Form>; 2]) -> Result<()> {
        let each = |m: usize, n: usize| {
            value_bytes(m.min(n), m.max(n), self.k).saturating_add(packed_bytes(digits, m.min(n), self.k))
        };
        let all = each(self.m, self.n).saturating_mul(count(&self.batch));
        let most = sizes::MATMUL_SCRATCH.limit(all) / each(self.m, self.n);
        let segments = self.k.div_ceil(SEGMENT);
        let blocks = |m: usize, n: usize| {
            let sums = (m * n).div_ceil(SUM_THREADS);
            m.max(n).div_ceil(PACK_LINES).saturating_mul(segments).max(sums)
        };
        self.in_parts(&blocks, most, &mut |part, [a, b]| {
            // SAFETY: this is a part of the problem, for which the caller promises what `vendor`
            // requires.
            unsafe { part.launch_thin(digits, [packed[0].map(|p| p.after(a)), packed[1].map(|p| p.after(b))]) }
        })
    }

    /// # Safety
    /// Same as [`vendor`](Self::vendor).
    unsafe fn launch_thin(&self, digits: usize, packed: [Option<Form>; 2]) -> Result<()> {
        let columns = Operand { row: self.b.col, col: self.b.row, ..self.b };
        let is_right = self.n < self.m;
        let (thin, long, which) = if is_right { (columns, self.a, [1, 0]) } else { (self.a, columns, [0, 1]) };
        let (rows, lines) = (self.m.min(self.n), self.m.max(self.n));
        // SAFETY: the caller promises that every element of both operands is allocated.
        let packed = unsafe { self.pack(digits, thin, rows, which[0], packed[which[0]])? };
        let batch: IndexDims<4> = (self.batch.iter().zip(&packed.steps))
            .map(|(d, &step)| Dim { size: d.size, stride: [d.stride[which[0]], d.stride[which[1]], d.stride[2], step] })
            .collect();
        let result = if is_right { [self.c.col, self.c.row] } else { [self.c.row, self.c.col] };
        let (line_blocks, segments) = (lines.div_ceil(PACK_LINES), self.k.div_ceil(SEGMENT));
        let sum_blocks = (rows * lines).div_ceil(SUM_THREADS);
        let bytes = value_bytes(rows, lines, self.k);
        let matrices = count(&self.batch);
        let values = self.device.alloc(bytes.saturating_mul(matrices), DType::U8)?;
        let parameters = Thin {
            lines: Lines::new(self.dtype, long, lines, self.k, self.batch.iter().map(|d| d.stride[which[1]])),
            rows: rows as u32,
            is_right: u32::from(is_right),
            line_blocks: Divisor::new(line_blocks),
            all_segments: Divisor::new(segments),
            sum_blocks: Divisor::new(sum_blocks),
            row: [thin.row as u64, thin.col as u64],
            result: result.map(|stride| stride as u64),
            packed: packed.bytes as u64,
            values: bytes as u64,
            batch: Index::new(&batch),
        };
        let (rows_at, values_at) = (packed.at, values.ptr());
        let blocks = (line_blocks * segments * matrices) as u32;
        let products = Launch::linear(key(self.dtype, BLOCK_THIN), blocks, PACK_THREADS);
        let sums = Launch::linear(key(self.dtype, BLOCK_SUM), (sum_blocks * matrices) as u32, SUM_THREADS as u32);
        // SAFETY: the caller promises valid matrices; the thin operand is packed earlier in stream
        // order, `values` has space for the values of every segment, and the memory of both returns
        // to the pool afterwards.
        unsafe {
            products.on(self.device, args![long.ptr, rows_at, values_at, parameters])?;
            sums.on(self.device, args![thin.ptr, long.ptr, self.c.ptr, rows_at, values_at, parameters])
        }
    }
}
