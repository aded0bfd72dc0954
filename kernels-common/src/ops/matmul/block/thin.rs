//! Block products with few rows or few columns: both operands are read once, and nothing is packed.

use super::{Form, LINES, Lines, PACK_LINES, PACK_THREADS, SEGMENT};
use crate::args;
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::matmul::{BLOCK_GEMV, BLOCK_SUM, BLOCK_THIN};
use crate::ops::matmul::{Operand, Problem, key};
use crate::runtime::GpuRuntime;
use isobit_hal::{DType, Result};
use std::mem::offset_of;

/// Threads per block that adds segments. Must match ops/matmul/block/thin.cu.
const SUM_THREADS: usize = 64;
/// Blocks of products that fit on a multiprocessor together; of f32 in digits, half as many do.
const BLOCKS_TOGETHER: usize = 4;

/// A kernel that computes the values of segments.
#[derive(Debug, Clone, Copy)]
struct Values {
    variant: u8,
    threads: u32,
    /// Lines of the long operand that a block takes at once.
    lines: usize,
}

impl Values {
    /// Reads packed operands too.
    const THIN: Self = Self { variant: BLOCK_THIN, threads: PACK_THREADS, lines: PACK_LINES };
    /// Of few rows or columns. Must match ops/matmul/block/gemv.cu.
    const GEMV: Self = Self { variant: BLOCK_GEMV, threads: 128, lines: 32 };
}

/// The layout of the kernels' `BlockThin`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Thin {
    lines: Lines,
    rows: Lines,
    is_right: u32,
    times: u32,
    pieces: Divisor,
    all_segments: Divisor,
    sum_blocks: Divisor,
    result: [u64; 2],
    packed: [u64; 2],
    values: u64,
    batch: Index<5>,
}

const _: () = assert!(size_of::<Thin>() == 592);
const _: () = assert!(offset_of!(Thin, is_right) == 80 && offset_of!(Thin, pieces) == 88);
const _: () = assert!(offset_of!(Thin, result) == 128 && offset_of!(Thin, batch) == 168);

/// Returns the bytes of the values of one matrix: for each segment those of three passes, a word
/// for two levels of each line and row, and the flags of groups of lines.
fn value_bytes(rows: usize, lines: usize, k: usize) -> usize {
    let in_segment = (3 * rows + 2).saturating_mul(lines).saturating_add(2 * rows + lines.div_ceil(LINES));
    in_segment.saturating_mul(k.div_ceil(SEGMENT)).saturating_mul(size_of::<f32>()).next_multiple_of(16)
}

impl<R: GpuRuntime> Problem<'_, R> {
    /// Computes a block product of which one side is short.
    ///
    /// # Safety
    /// Same as [`vendor`](Self::vendor).
    pub(super) unsafe fn thin(&self, packed: [Option<Form>; 2]) -> Result<()> {
        let each = value_bytes(self.m.min(self.n), self.m.max(self.n), self.k);
        let most = sizes::MATMUL_SCRATCH.limit(each.saturating_mul(count(&self.batch))) / each;
        let short = self.m.min(self.n);
        let few = !sizes::MATMUL_DIGITS_FROM.is_reached(short);
        // The packed form of f16 has three bytes for two: by 4096 x 4096 on an H100, one row takes
        // 31 us with it and 26 without, eight rows 43 and 47.
        let reads_elements = self.dtype == DType::F16 && !sizes::MATMUL_F16_PACKED_FROM.is_reached(short);
        let packed = if reads_elements { [None; 2] } else { packed };
        let kernel = if few && packed.iter().all(Option::is_none) { Values::GEMV } else { Values::THIN };
        let blocks = |m: usize, n: usize| {
            let values = m.max(n).div_ceil(kernel.lines).saturating_mul(self.k.div_ceil(SEGMENT));
            values.max((m * n).div_ceil(SUM_THREADS))
        };
        self.in_parts(&blocks, most, &mut |part, [a, b]| {
            // SAFETY: this is a part of the problem, for which the caller promises what `vendor`
            // requires.
            unsafe { part.launch_thin(kernel, [packed[0].map(|p| p.after(a)), packed[1].map(|p| p.after(b))]) }
        })
    }

    /// # Safety
    /// Same as [`vendor`](Self::vendor).
    unsafe fn launch_thin(&self, kernel: Values, packed: [Option<Form>; 2]) -> Result<()> {
        let columns = Operand { row: self.b.col, col: self.b.row, ..self.b };
        let is_right = self.n < self.m;
        let (thin, long, which) = if is_right { (columns, self.a, [1, 0]) } else { (self.a, columns, [0, 1]) };
        let (rows, lines) = (self.m.min(self.n), self.m.max(self.n));
        let batch: IndexDims<5> = (self.batch.iter())
            .map(|d| {
                let [thin, long] = which.map(|side| d.stride[side]);
                let [of_thin, of_long] = which.map(|side| packed[side].map_or(0, |form| form.matrices(d.stride[side])));
                Dim { size: d.size, stride: [thin, long, d.stride[2], of_thin, of_long] }
            })
            .collect();
        let result = if is_right { [self.c.col, self.c.row] } else { [self.c.row, self.c.col] };
        let (line_blocks, segments) = (lines.div_ceil(kernel.lines), self.k.div_ceil(SEGMENT));
        let matrices = count(&self.batch);
        // A block that takes several blocks of lines prepares the rows once.
        let (blocks, resident) = (line_blocks * segments * matrices, self.device.runtime().limits().multiprocessors);
        let enough = sizes::MATMUL_ENOUGH.limit_or(blocks, BLOCKS_TOGETHER * resident as usize);
        let times = blocks.div_ceil(enough).min(line_blocks);
        let (pieces, sum_blocks) = (line_blocks.div_ceil(times), (rows * lines).div_ceil(SUM_THREADS));
        let bytes = value_bytes(rows, lines, self.k);
        let values = self.device.alloc(bytes.saturating_mul(matrices), DType::U8)?;
        let steps = |side: usize| self.batch.iter().map(move |d| d.stride[side]);
        let parameters = Thin {
            lines: Lines::new(self.dtype, long, lines, self.k, steps(which[1])),
            rows: Lines { vectors: 0, ..Lines::new(self.dtype, thin, rows, self.k, steps(which[0])) },
            is_right: u32::from(is_right),
            times: times as u32,
            pieces: Divisor::new(pieces),
            all_segments: Divisor::new(segments),
            sum_blocks: Divisor::new(sum_blocks),
            result: result.map(|stride| stride as u64),
            packed: which.map(|side| packed[side].map_or(0, |form| form.bytes as u64)),
            values: bytes as u64,
            batch: Index::new(&batch),
        };
        let values_at = values.ptr();
        // Not read where an operand is not packed.
        let [rows_at, lines_at] = which.map(|side| packed[side].map_or(values_at, |form| form.at));
        let blocks = (pieces * segments * matrices) as u32;
        let products = Launch::linear(key(self.dtype, kernel.variant), blocks, kernel.threads);
        let sums = Launch::linear(key(self.dtype, BLOCK_SUM), (sum_blocks * matrices) as u32, SUM_THREADS as u32);
        // SAFETY: the caller promises valid matrices, and `values` has space for the values of
        // every segment; its memory returns to the pool afterwards.
        unsafe {
            products.on(self.device, args![thin.ptr, long.ptr, rows_at, lines_at, values_at, parameters])?;
            sums.on(self.device, args![thin.ptr, long.ptr, self.c.ptr, values_at, parameters])
        }
    }
}
