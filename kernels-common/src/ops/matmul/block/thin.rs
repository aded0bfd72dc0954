//! Block products with few rows or few columns: both operands are read once, and nothing is packed.

use super::{Form, LINES, Lines, PACK_LINES, PACK_THREADS, SEGMENT};
use crate::args;
use crate::device::GpuDevice;
use crate::key::Key;
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::matmul::{BLOCK_GEMV, BLOCK_SUM, BLOCK_THIN};
use crate::ops::matmul::{Operand, Problem, key};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{DType, Result};
use std::mem::offset_of;

/// Threads per block that adds segments. Must match ops/matmul/block/thin_sum.cuh.
const SUM_THREADS: usize = 64;
/// Blocks of products that fit on a multiprocessor together; of f32 in digits, half as many do.
const BLOCKS_TOGETHER: usize = 4;

/// A kernel that computes the values of segments.
#[derive(Debug, Clone, Copy)]
struct Values {
    variant: u8,
    shape: Shape,
}

impl Values {
    /// Reads packed operands too.
    const THIN: Self = Self { variant: BLOCK_THIN, shape: Shape { threads: PACK_THREADS, lines: PACK_LINES } };
    /// Of few rows or columns.
    const GEMV: Self = Self { variant: BLOCK_GEMV, shape: Shape::GEMV };
}

/// The threads of a block, and the lines of the long operand that it takes at once.
#[derive(Debug, Clone, Copy)]
pub(in crate::ops) struct Shape {
    threads: u32,
    lines: usize,
}

impl Shape {
    /// Must match ops/matmul/block/gemv.cuh.
    pub(in crate::ops) const GEMV: Self = Self { threads: 128, lines: 32 };
}

/// The layout of the kernels' `BlockThin`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::ops) struct Thin {
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
pub(in crate::ops) fn value_bytes(rows: usize, lines: usize, k: usize) -> usize {
    let in_segment = (3 * rows + 2).saturating_mul(lines).saturating_add(2 * rows + lines.div_ceil(LINES));
    in_segment.saturating_mul(k.div_ceil(SEGMENT)).saturating_mul(size_of::<f32>()).next_multiple_of(16)
}

/// The operands of products with few rows or columns, and where results go.
pub(in crate::ops) struct Operands {
    /// The thin operand, and the long one.
    pub(in crate::ops) rows: Lines,
    pub(in crate::ops) lines: Lines,
    pub(in crate::ops) is_right: bool,
    /// The steps of the results along rows and along lines.
    pub(in crate::ops) result: [usize; 2],
    /// Bytes of a packed matrix of rows and of lines, 0 if they are not packed.
    pub(in crate::ops) packed: [usize; 2],
    /// Of rows, lines, results, and the numbers of packed matrices.
    pub(in crate::ops) batch: IndexDims<5>,
}

/// The launches of both kernels, and the memory between them.
pub(in crate::ops) struct Launches<R: GpuRuntime> {
    pub(in crate::ops) parameters: Thin,
    pub(in crate::ops) values: GpuStorage<R>,
    pub(in crate::ops) products: Launch,
    pub(in crate::ops) sums: Launch,
}

impl<R: GpuRuntime> Launches<R> {
    pub(in crate::ops) fn new(
        device: &GpuDevice<R>,
        keys: [Key; 2],
        shape: Shape,
        operands: &Operands,
    ) -> Result<Self> {
        let (rows, lines) = (operands.rows.lines as usize, operands.lines.lines as usize);
        let (line_blocks, segments) = (lines.div_ceil(shape.lines), operands.lines.segments as usize);
        let matrices = count(&operands.batch);
        // A block that takes several blocks of lines prepares the rows once.
        let (blocks, resident) = (line_blocks * segments * matrices, device.runtime().limits().multiprocessors);
        let enough = sizes::MATMUL_ENOUGH.limit_or(blocks, BLOCKS_TOGETHER * resident as usize);
        let times = blocks.div_ceil(enough).min(line_blocks);
        let (pieces, sum_blocks) = (line_blocks.div_ceil(times), (rows * lines).div_ceil(SUM_THREADS));
        let bytes = value_bytes(rows, lines, operands.lines.k as usize);
        let values = device.alloc(bytes.saturating_mul(matrices), DType::U8)?;
        let parameters = Thin {
            lines: operands.lines,
            rows: operands.rows,
            is_right: u32::from(operands.is_right),
            times: times as u32,
            pieces: Divisor::new(pieces),
            all_segments: Divisor::new(segments),
            sum_blocks: Divisor::new(sum_blocks),
            result: operands.result.map(|stride| stride as u64),
            packed: operands.packed.map(|bytes| bytes as u64),
            values: bytes as u64,
            batch: Index::new(&operands.batch),
        };
        let blocks = (pieces * segments * matrices) as u32;
        let products = Launch::linear(keys[0], blocks, shape.threads);
        let sums = Launch::linear(keys[1], (sum_blocks * matrices) as u32, SUM_THREADS as u32);
        Ok(Self { parameters, values, products, sums })
    }
}

/// Returns the blocks of the kernel with the most, for products of `rows` by `lines` over k.
pub(in crate::ops) fn thin_blocks(shape: Shape, [rows, lines, k]: [usize; 3]) -> usize {
    let values = lines.div_ceil(shape.lines).saturating_mul(k.div_ceil(SEGMENT));
    values.max(rows.saturating_mul(lines).div_ceil(SUM_THREADS))
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
        let blocks = |m: usize, n: usize| thin_blocks(kernel.shape, [m.min(n), m.max(n), self.k]);
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
        let steps = |side: usize| self.batch.iter().map(move |d| d.stride[side]);
        let operands = Operands {
            rows: Lines { vectors: 0, ..Lines::new(self.dtype, thin, rows, self.k, steps(which[0])) },
            lines: Lines::new(self.dtype, long, lines, self.k, steps(which[1])),
            is_right,
            result: if is_right { [self.c.col, self.c.row] } else { [self.c.row, self.c.col] },
            packed: which.map(|side| packed[side].map_or(0, |form| form.bytes)),
            batch,
        };
        let keys = [kernel.variant, BLOCK_SUM].map(|variant| key(self.dtype, variant));
        let launches = Launches::new(self.device, keys, kernel.shape, &operands)?;
        let (parameters, values) = (launches.parameters, launches.values.ptr());
        // Not read where an operand is not packed.
        let [rows_at, lines_at] = which.map(|side| packed[side].map_or(values, |form| form.at));
        // SAFETY: the caller promises valid matrices, and `values` has space for the values of
        // every segment; its memory returns to the pool afterwards.
        unsafe {
            launches.products.on(self.device, args![thin.ptr, long.ptr, rows_at, lines_at, values, parameters])?;
            launches.sums.on(self.device, args![thin.ptr, long.ptr, self.c.ptr, values, parameters])
        }
    }
}
