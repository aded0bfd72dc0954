//! Products of bytes in tiles: operands become lines of signed bytes along k, unless they are, and
//! the vendor's library or the kernel multiplies these. After the library, another kernel adds what
//! zero points change.
//!
//! Libraries are fast for such lines alone: on an H100, cuBLAS multiplies 4096^3 signed bytes at
//! 1450 TFLOP/s if both operands have neighbours along k, and at 128 if the right one has not.

use super::{Kernel, Operand, OwnMatrices, Problem, key};
use crate::args;
use crate::launch::index::{Divisor, Index, IndexDims, count};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::matmul::{BYTES_AFTER, BYTES_PACK, BYTES_TILE};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{DType, Op, Result};
use std::mem::offset_of;

/// The kernel for tiles. Its shared memory holds three stages of 64 bytes along k of both operands.
const TILE: Kernel = Kernel { variant: BYTES_TILE, m: 128, n: 128, threads: 256, shared: 3 * 2 * 128 * 64 };

/// Rows of a block that adds what zero points change.
const AFTER_ROWS: usize = 16;

/// Lines and bytes along k of a block that packs, and its threads.
const PACK_LINES: usize = 32;
const PART: usize = 1024;
const PACK_THREADS: u32 = 256;
/// Bytes that the kernels read at once.
const CHUNK: usize = 16;

/// The layout of the kernels' `BytesPack`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Pack {
    line_stride: u64,
    k_stride: u64,
    k: u64,
    pitch: u64,
    lines: u32,
    flip: u32,
    vectors: u32,
    sums: u32,
    line_blocks: Divisor,
    parts: Divisor,
    batch: Index<1>,
}

const _: () = assert!(size_of::<Pack>() == 240);
const _: () = assert!(offset_of!(Pack, lines) == 32 && offset_of!(Pack, line_blocks) == 48);
const _: () = assert!(offset_of!(Pack, batch) == 72);

/// How an operand's lines are read: where they are, with rows that are lines, and what their packed
/// form has besides the bytes.
#[derive(Debug, Clone, Copy)]
struct Lines {
    from: Operand,
    count: usize,
    k: usize,
    is_unsigned: bool,
    has_sums: bool,
}

impl Lines {
    /// Whether neighbours can be read at once, for these steps along the batch: 16 along k, or the
    /// bytes of four lines if those are closer.
    fn has_vectors(&self, batch: &IndexDims<1>) -> bool {
        let Operand { ptr, row, col } = self.from;
        let (near, next, bytes) = if col <= row { (col, row, CHUNK) } else { (row, col, size_of::<u32>()) };
        let steps = batch.iter().fold(next, |all, d| all | d.stride[0]);
        near == 1 && steps.is_multiple_of(bytes) && ptr.0.is_multiple_of(bytes as u64)
    }

    /// Whether they can stay where they are.
    fn are_packed(&self, batch: &IndexDims<1>) -> bool {
        let in_order = self.from.col == 1 && self.k.is_multiple_of(CHUNK);
        !self.is_unsigned && !self.has_sums && in_order && self.has_vectors(batch)
    }

    /// Returns the bytes of a packed line.
    fn pitch(&self) -> usize {
        let sums = if self.has_sums { self.k.div_ceil(PART) * size_of::<u32>() } else { 0 };
        self.k.next_multiple_of(CHUNK) + sums.next_multiple_of(CHUNK)
    }
}

/// Returns the blocks that pack an operand.
fn pack_blocks(lines: usize, k: usize) -> usize {
    lines.div_ceil(PACK_LINES).saturating_mul(k.div_ceil(PART))
}

impl<R: GpuRuntime> Problem<'_, R> {
    /// Computes a product of bytes by the library, if its sums of products of signed bytes are
    /// exact and so the same with any numerics; else by the kernel.
    ///
    /// # Safety
    /// Same as [`vendor`](Self::vendor).
    pub(super) unsafe fn bytes_in_tiles(mut self, op: &Op) -> Result<()> {
        // Neighbouring threads have neighbours along n.
        if self.c.col > self.c.row {
            self.transpose();
        }
        let each = [0, 1].map(|side| {
            let lines = self.lines(side);
            lines.pitch().saturating_mul(lines.count)
        });
        let each = each[0].saturating_add(each[1]);
        let all = each.saturating_mul(count(&self.batch));
        let most = sizes::MATMUL_SCRATCH.limit(all) / each;
        let blocks = |m: usize, n: usize| {
            let tiles = m.div_ceil(AFTER_ROWS).saturating_mul(n.div_ceil(TILE.n));
            tiles.max(pack_blocks(m.max(n), self.k))
        };
        self.in_parts(&blocks, most, &mut |part, _| {
            // SAFETY: this is a part of the problem, for which the caller promises what `vendor`
            // requires.
            unsafe { part.bytes_of_lines(op) }
        })
    }

    /// # Safety
    /// Same as [`vendor`](Self::vendor).
    unsafe fn bytes_of_lines(mut self, op: &Op) -> Result<()> {
        let mut held = Vec::new();
        for side in [0, 1] {
            // SAFETY: the caller promises that every element is allocated.
            held.extend(unsafe { self.pack_bytes(side)? });
        }
        if !sizes::MATMUL_BYTES_EXACT.is_exceeded(self.k) && self.can_call_library() {
            // The zeros at the end of packed lines change no sum, and libraries may read four bytes
            // at once.
            let whole = Problem { k: self.k.next_multiple_of(CHUNK), batch: self.batch.clone(), ..self };
            // SAFETY: the caller promises what is required.
            if unsafe { whole.vendor(op)? } {
                // SAFETY: the caller promises valid matrices.
                return unsafe { self.add_zero_points() };
            }
        }
        // SAFETY: the caller promises valid matrices; packed ones return to the pool afterwards.
        unsafe { self.launch(false, TILE) }
    }

    /// Adds to the products of packed lines what zero points change.
    ///
    /// # Safety
    /// Same as [`vendor`](Self::vendor).
    unsafe fn add_zero_points(&self) -> Result<()> {
        let zeros = self.zeros.as_ref().expect("products of bytes have them");
        if !zeros.may_be_others_than_0(0) && !zeros.may_be_others_than_0(1) {
            return Ok(());
        }
        let (m_tiles, n_tiles) = (self.m.div_ceil(AFTER_ROWS), self.n.div_ceil(TILE.threads));
        let (product, [a, b], bytes) = (self.product(m_tiles, n_tiles, 1), zeros.addresses(), zeros.bytes());
        let blocks = (m_tiles * n_tiles * count(&self.batch)) as u32;
        let launch = Launch::linear(key(DType::U8, BYTES_AFTER), blocks, TILE.threads as u32);
        // SAFETY: the caller promises valid matrices, and the products were written earlier in
        // stream order.
        unsafe { launch.on(self.device, args![self.a.ptr, self.b.ptr, self.c.ptr, a, b, product, bytes]) }
    }

    /// Whether the library needs nothing that cannot be done now: a handle cannot be created during
    /// a capture, and nobody asked for the library by numerics.
    fn can_call_library(&self) -> bool {
        let (runtime, stream) = (self.device.runtime(), self.device.stream());
        runtime.has_gemm_handle(&stream) || !matches!(runtime.is_capturing(&stream), Ok(true))
    }

    /// Returns the lines of an operand: the rows of `a`, or the columns of `b`.
    fn lines(&self, side: usize) -> Lines {
        let zeros = self.zeros.as_ref().expect("products of bytes have them");
        Lines {
            from: if side == 0 { self.a } else { self.b.transposed() },
            count: [self.m, self.n][side],
            k: self.k,
            is_unsigned: zeros.is_unsigned(side),
            has_sums: zeros.may_be_others_than_0(1 - side),
        }
    }

    /// Packs each matrix of an operand once, which then is the operand, unless its lines can stay
    /// where they are. Returns the memory.
    ///
    /// # Safety
    /// Every element of the operand must be allocated.
    unsafe fn pack_bytes(&mut self, side: usize) -> Result<Option<GpuStorage<R>>> {
        let lines = self.lines(side);
        let OwnMatrices { dims, count, steps } = self.own_matrices(side);
        if lines.are_packed(&dims) {
            return Ok(None);
        }
        let pitch = lines.pitch();
        let bytes = lines.count.saturating_mul(pitch);
        let storage = self.device.alloc(bytes.saturating_mul(count), DType::U8)?;
        let to = storage.ptr();
        let pack = Pack {
            line_stride: lines.from.row as u64,
            k_stride: lines.from.col as u64,
            k: lines.k as u64,
            pitch: pitch as u64,
            lines: lines.count as u32,
            flip: if lines.is_unsigned { super::bytes::FLIP } else { 0 },
            vectors: u32::from(lines.has_vectors(&dims)),
            sums: u32::from(lines.has_sums),
            line_blocks: Divisor::new(lines.count.div_ceil(PACK_LINES)),
            parts: Divisor::new(lines.k.div_ceil(PART)),
            batch: Index::new(&dims),
        };
        let blocks = (pack_blocks(lines.count, lines.k) * count) as u32;
        let launch = Launch::linear(key(DType::U8, BYTES_PACK), blocks, PACK_THREADS);
        // SAFETY: the caller promises that the operand is allocated, and `storage` has space for
        // every packed matrix.
        unsafe { launch.on(self.device, args![lines.from.ptr, to, pack])? };
        let packed = Operand { ptr: to, row: pitch, col: 1 };
        match side {
            0 => self.a = packed,
            _ => self.b = packed.transposed(),
        }
        for (d, step) in self.batch.iter_mut().zip(steps) {
            d.stride[side] = step * bytes;
        }
        Ok(Some(storage))
    }
}
