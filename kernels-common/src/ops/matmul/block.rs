//! Block products (`docs/numerics.md`, section 9): both operands are packed as digits of integers,
//! then multiplied by exact integer products.

use super::{Operand, Problem, key, unit};
use crate::args;
use crate::device::GpuDevice;
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::matmul::{BLOCK, BLOCK_LARGE, PACK};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{DType, Result};
use std::mem::offset_of;

/// Elements of k per segment, and lines that are packed together. Must match
/// ops/matmul/block/digits.cuh and device_lib/digit_tile.cuh.
const SEGMENT: usize = 128;
const LINES: usize = 16;
/// Threads per block of a product, and of packing.
const THREADS: u32 = 256;
const PACK_THREADS: u32 = 64;

/// Architectures whose multiprocessors have the shared memory that the large tiles need.
const ROOMY: [&str; 5] = ["sm_80", "sm_87", "sm_90", "sm_100", "sm_103"];

/// A tile of results. Must match `ShapeOf` of ops/matmul/block/product.cu.
#[derive(Debug, Clone, Copy)]
struct Tile {
    variant: u8,
    m: usize,
    n: usize,
    stages: usize,
}

impl Tile {
    fn large(digits: usize) -> Self {
        let (m, n) = if digits == 2 { (96, 128) } else { (128, 64) };
        Self { variant: BLOCK_LARGE, m, n, stages: 4 }
    }

    const SMALL: Self = Self { variant: BLOCK, m: 64, n: 64, stages: 2 };

    /// Returns the bytes of shared memory: stages of half a segment of all lines, and their steps.
    fn shared(&self, digits: usize) -> u32 {
        (self.stages * (self.m + self.n) * (SEGMENT / 2 * digits + size_of::<i32>())) as u32
    }

    fn blocks(&self, m: usize, n: usize) -> usize {
        m.div_ceil(self.m).saturating_mul(n.div_ceil(self.n))
    }
}

/// The layout of the kernels' `BlockSide`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Side {
    lines: u32,
    segments: u32,
    k: u64,
    line_stride: u64,
    k_stride: u64,
    packed: u64,
    groups: Divisor,
    all_segments: Divisor,
    batch: Index<1>,
    columns: u32,
}

const _: () = assert!(size_of::<Side>() == 240);
const _: () = assert!(offset_of!(Side, groups) == 40 && offset_of!(Side, batch) == 64);
const _: () = assert!(offset_of!(Side, columns) == 232);

/// The layout of the kernels' `BlockProduct`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Product {
    m: u32,
    n: u32,
    segments: u32,
    c_pairs: u32,
    k: u64,
    a: [u64; 2],
    b: [u64; 2],
    c: [u64; 2],
    packed: [u64; 2],
    m_tiles: Divisor,
    n_tiles: Divisor,
    batch: Index<5>,
}

const _: () = assert!(size_of::<Product>() == 536);
const _: () = assert!(offset_of!(Product, k) == 16 && offset_of!(Product, m_tiles) == 88);
const _: () = assert!(offset_of!(Product, batch) == 112);

/// Returns the bytes of a packed matrix: parts and steps of two levels, and flags.
fn packed_bytes(digits: usize, lines: usize, k: usize) -> usize {
    let parts = lines.div_ceil(LINES).saturating_mul(k.div_ceil(SEGMENT));
    let part = 2 * (LINES * SEGMENT * digits + LINES * size_of::<i32>()) + size_of::<u32>();
    parts.saturating_mul(part).next_multiple_of(16)
}

/// A packed operand, and the number of the packed matrix that each step along the batch adds.
struct Packed<R: GpuRuntime> {
    storage: GpuStorage<R>,
    bytes: usize,
    steps: Vec<usize>,
}

impl<R: GpuRuntime> Problem<'_, R> {
    /// Computes the block product.
    ///
    /// # Safety
    /// Same as [`vendor`](Self::vendor).
    pub(super) unsafe fn block(self, digits: usize) -> Result<()> {
        let large = Tile::large(digits);
        let blocks = large.blocks(self.m, self.n).saturating_mul(count(&self.batch));
        let enough = self.device.runtime().limits().multiprocessors as usize;
        let fills = sizes::MATMUL_ENOUGH.is_reached_or(blocks, enough);
        let tile = if fills && has_room(self.device, self.dtype) { large } else { Tile::SMALL };
        let each = packed_bytes(digits, self.m, self.k).saturating_add(packed_bytes(digits, self.n, self.k));
        let all = each.saturating_mul(count(&self.batch));
        let most = sizes::MATMUL_SCRATCH.limit(all) / each;
        self.in_parts(&|m, n| tile.blocks(m, n), most, &mut |part| {
            // SAFETY: this is a part of the problem, for which the caller promises what `vendor`
            // requires.
            unsafe { part.launch_block(digits, tile) }
        })
    }

    /// # Safety
    /// Same as [`vendor`](Self::vendor).
    unsafe fn launch_block(&self, digits: usize, tile: Tile) -> Result<()> {
        // SAFETY: the caller promises that every element of both operands is allocated.
        let [a, b] = unsafe {
            let (rows, columns) = (self.a, Operand { row: self.b.col, col: self.b.row, ..self.b });
            [self.pack(digits, rows, self.m, 0)?, self.pack(digits, columns, self.n, 1)?]
        };
        let batch: IndexDims<5> = (self.batch.iter().zip(a.steps.iter().zip(&b.steps)))
            .map(|(d, (&a, &b))| Dim { size: d.size, stride: [d.stride[0], d.stride[1], d.stride[2], a, b] })
            .collect();
        let strides = |o: &Operand| [o.row as u64, o.col as u64];
        let pair = 2 * self.dtype.size_in_bytes() as u64;
        let steps = self.batch.iter().fold(self.c.row, |all, d| all | d.stride[2]);
        let product = Product {
            m: self.m as u32,
            n: self.n as u32,
            segments: self.k.div_ceil(SEGMENT) as u32,
            c_pairs: u32::from(self.c.col == 1 && steps.is_multiple_of(2) && self.c.ptr.0.is_multiple_of(pair)),
            k: self.k as u64,
            a: strides(&self.a),
            b: strides(&self.b),
            c: strides(&self.c),
            packed: [a.bytes as u64, b.bytes as u64],
            m_tiles: Divisor::new(self.m.div_ceil(tile.m)),
            n_tiles: Divisor::new(self.n.div_ceil(tile.n)),
            batch: Index::new(&batch),
        };
        let blocks = tile.blocks(self.m, self.n) * count(&self.batch);
        let mut launch = Launch::linear(key(self.dtype, tile.variant), blocks as u32, THREADS);
        launch.config.shared_bytes = tile.shared(digits);
        let [a_packed, b_packed] = [a.storage.ptr(), b.storage.ptr()];
        let args = args![self.a.ptr, self.b.ptr, self.c.ptr, a_packed, b_packed, product];
        // SAFETY: the caller promises valid matrices; both operands are packed earlier in stream
        // order, and their memory returns to the pool afterwards.
        unsafe { launch.on(self.device, args) }
    }

    /// Packs each matrix of an operand once: `which` is its place in the strides of the batch.
    ///
    /// # Safety
    /// Every element of the operand must be allocated.
    unsafe fn pack(&self, digits: usize, lines: Operand, count_of: usize, which: usize) -> Result<Packed<R>> {
        let mut matrices = 1;
        let mut steps = vec![0; self.batch.len()];
        for (step, d) in steps.iter_mut().zip(&self.batch).rev() {
            if d.stride[which] != 0 {
                *step = matrices;
                matrices *= d.size;
            }
        }
        let own = self.batch.iter().map(|d| Dim { size: d.size, stride: [d.stride[which]] });
        let batch: IndexDims<1> = own.filter(|d| d.stride[0] != 0).collect();
        let bytes = packed_bytes(digits, count_of, self.k);
        let storage = self.device.alloc(bytes.saturating_mul(matrices), DType::U8)?;
        let (groups, segments) = (count_of.div_ceil(LINES), self.k.div_ceil(SEGMENT));
        let side = Side {
            lines: count_of as u32,
            segments: segments as u32,
            k: self.k as u64,
            line_stride: lines.row as u64,
            k_stride: lines.col as u64,
            packed: bytes as u64,
            groups: Divisor::new(groups),
            all_segments: Divisor::new(segments),
            batch: Index::new(&batch),
            columns: which as u32,
        };
        let blocks = groups * segments * matrices;
        let to: DevicePtr = storage.ptr();
        // SAFETY: the caller promises that the operand is allocated, and `storage` has space for
        // every packed matrix.
        unsafe {
            Launch::linear(key(self.dtype, PACK), blocks as u32, PACK_THREADS)
                .on(self.device, args![lines.ptr, to, side])?;
        }
        Ok(Packed { storage, bytes, steps })
    }
}

/// Returns whether a device runs the large tiles: it has the shared memory, and code with matrix
/// units.
fn has_room<R: GpuRuntime>(device: &GpuDevice<R>, dtype: DType) -> bool {
    unit::has_unit_code(device, key(dtype, BLOCK_LARGE), &ROOMY)
}
