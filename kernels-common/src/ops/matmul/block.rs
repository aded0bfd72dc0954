//! Block products (`docs/numerics.md`, section 9): both operands are packed as digits of integers,
//! then multiplied by exact integer products.

mod packed;
mod thin;

pub(crate) use packed::{Form, pack_matrix};
pub(in crate::ops) use thin::{Launches, Operands, Shape, Thin, thin_blocks, value_bytes};

use super::{Operand, OwnMatrices, Problem, key, unit};
use crate::args;
use crate::device::GpuDevice;
use crate::key::Key;
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::matmul::{BLOCK, BLOCK_LARGE, BLOCK_WARPGROUP, PACK};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{DType, ErrorKind, Result, trace};
use std::mem::offset_of;

/// Elements of k per segment, and lines of a part. Must match ops/matmul/block/digits.cuh and
/// device_lib/digit_tile.cuh.
pub(in crate::ops) const SEGMENT: usize = 128;
pub(in crate::ops) const LINES: usize = 8;
/// Threads per block of packing, and lines that a block packs.
pub(in crate::ops) const PACK_THREADS: u32 = 256;
pub(in crate::ops) const PACK_LINES: usize = 64;

/// Architectures whose multiprocessors have the shared memory that the large tiles need.
const ROOMY: [&str; 5] = ["sm_80", "sm_87", "sm_90", "sm_100", "sm_103"];

/// The architecture with warpgroups; later ones have other units.
const HOPPER: &str = "sm_90";
const HOPPER_NUMBER: u32 = 90;

/// A tile of results. Must match `ShapeOf` of ops/matmul/block/product.cu.
#[derive(Debug, Clone, Copy)]
struct Tile {
    variant: u8,
    m: usize,
    n: usize,
    threads: u32,
    /// Elements of k per stage, and stages in shared memory, with the scales of as many.
    depth: usize,
    stages: usize,
    scales: usize,
}

impl Tile {
    /// Must match `WarpgroupShape` of ops/matmul/block/warpgroup.cu.
    fn warpgroup(digits: usize) -> Self {
        let n = if digits == 2 { 96 } else { 64 };
        Self { variant: BLOCK_WARPGROUP, m: 128, n, threads: 384, depth: SEGMENT, stages: 3, scales: 4 }
    }

    fn large(digits: usize) -> Self {
        let (m, n) = if digits == 2 { (96, 128) } else { (128, 64) };
        Self { variant: BLOCK_LARGE, m, n, stages: 4, scales: 4, ..Self::SMALL }
    }

    const SMALL: Self = Self { variant: BLOCK, m: 64, n: 64, threads: 256, depth: SEGMENT / 2, stages: 2, scales: 2 };

    /// Returns the bytes of shared memory.
    fn shared(&self, digits: usize) -> u32 {
        ((self.m + self.n) * (self.stages * self.depth * digits + self.scales * size_of::<f32>())) as u32
    }

    fn blocks(&self, m: usize, n: usize) -> usize {
        m.div_ceil(self.m).saturating_mul(n.div_ceil(self.n))
    }
}

/// The layout of the kernels' `BlockLines`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::ops) struct Lines {
    lines: u32,
    segments: u32,
    k: u64,
    line_stride: u64,
    k_stride: u64,
    vectors: u32,
    unused: u32,
}

const _: () = assert!(size_of::<Lines>() == 40);

impl Lines {
    /// Lines of neighbours along k, `stride` apart, of which a kernel knows how to read them.
    pub(in crate::ops) fn strided(lines: usize, k: usize, stride: usize) -> Self {
        Self {
            lines: lines as u32,
            segments: k.div_ceil(SEGMENT) as u32,
            k: k as u64,
            line_stride: stride as u64,
            k_stride: 1,
            vectors: 0,
            unused: 0,
        }
    }

    /// Lines of an operand, whose strides along the batch are `steps`.
    fn new(dtype: DType, operand: Operand, lines: usize, k: usize, steps: impl Iterator<Item = usize>) -> Self {
        // 16 bytes of neighbours, in the direction in which the kernels read.
        let (near, next) =
            if operand.col <= operand.row { (operand.col, operand.row) } else { (operand.row, operand.col) };
        let strides = steps.fold(next, |all, step| all | step);
        let vectors =
            near == 1 && (strides * dtype.size_in_bytes()).is_multiple_of(16) && operand.ptr.0.is_multiple_of(16);
        Self {
            lines: lines as u32,
            segments: k.div_ceil(SEGMENT) as u32,
            k: k as u64,
            line_stride: operand.row as u64,
            k_stride: operand.col as u64,
            vectors: u32::from(vectors),
            unused: 0,
        }
    }
}

/// The layout of the kernels' `BlockSide`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::ops) struct Side {
    lines: Lines,
    packed: u64,
    line_blocks: Divisor,
    all_segments: Divisor,
    batch: Index<1>,
}

const _: () = assert!(size_of::<Side>() == 240);
const _: () = assert!(offset_of!(Side, packed) == 40 && offset_of!(Side, line_blocks) == 48);
const _: () = assert!(offset_of!(Side, batch) == 72);

impl Side {
    /// Lines of each matrix of a batch, whose packed forms have so many bytes.
    pub(in crate::ops) fn new(lines: Lines, bytes: usize, batch: &IndexDims<1>) -> Self {
        Self {
            lines,
            packed: bytes as u64,
            line_blocks: Divisor::new((lines.lines as usize).div_ceil(PACK_LINES)),
            all_segments: Divisor::new(lines.segments as usize),
            batch: Index::new(batch),
        }
    }
}

/// The layout of the kernels' `BlockProduct`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::ops) struct Product {
    m: u32,
    n: u32,
    segments: u32,
    c_pairs: u32,
    chain: u64,
    a: [u64; 2],
    b: [u64; 2],
    c: [u64; 2],
    packed: [u64; 2],
    tiles: u64,
    m_tiles: Divisor,
    n_tiles: Divisor,
    batch: Index<5>,
}

const _: () = assert!(size_of::<Product>() == 544);
const _: () = assert!(offset_of!(Product, chain) == 16 && offset_of!(Product, m_tiles) == 96);
const _: () = assert!(offset_of!(Product, batch) == 120);

/// Returns the bytes of a packed matrix: of two levels the parts with the scale and the step of
/// each line, a part of zeros, and flags.
pub(in crate::ops) fn packed_bytes(digits: usize, lines: usize, k: usize) -> usize {
    let parts = lines.div_ceil(LINES).saturating_mul(k.div_ceil(SEGMENT));
    let part = LINES * SEGMENT * digits;
    let each = 2 * (part + LINES * (size_of::<f32>() + size_of::<i32>())) + size_of::<u32>();
    parts.saturating_mul(each).saturating_add(part).next_multiple_of(16)
}

/// Returns the blocks that pack a matrix.
pub(in crate::ops) fn pack_blocks(lines: usize, k: usize) -> usize {
    lines.div_ceil(PACK_LINES).saturating_mul(k.div_ceil(SEGMENT))
}

/// Packs each matrix of a batch, to pieces of `bytes` bytes. `from` has the lines as rows.
///
/// # Safety
/// Every element must be allocated, and `to` must have space for all packed matrices.
pub(in crate::ops) unsafe fn pack_lines<R: GpuRuntime>(
    device: &GpuDevice<R>,
    dtype: DType,
    from: Operand,
    [lines, k]: [usize; 2],
    bytes: usize,
    batch: &IndexDims<1>,
    to: DevicePtr,
) -> Result<()> {
    let side = Side::new(Lines::new(dtype, from, lines, k, batch.iter().map(|d| d.stride[0])), bytes, batch);
    let blocks = pack_blocks(lines, k) * count(batch);
    // SAFETY: the caller promises what is required.
    unsafe { Launch::linear(key(dtype, PACK), blocks as u32, PACK_THREADS).on(device, args![from.ptr, to, side]) }
}

/// A packed operand, and the number of the packed matrix that each step along the batch adds.
struct Packed<R: GpuRuntime> {
    at: DevicePtr,
    bytes: usize,
    steps: Vec<usize>,
    /// The memory, unless the operand was packed before.
    _scratch: Option<GpuStorage<R>>,
}

impl<R: GpuRuntime> Problem<'_, R> {
    /// Computes the block product of operands, which may be packed already. `bias` has an element
    /// for each row of each left matrix, which is added to the row's results before they are
    /// rounded; null is none, as it must be unless the product [takes one](Self::takes_bias).
    ///
    /// # Safety
    /// Same as [`vendor`](Self::vendor), also for the bias.
    pub(in crate::ops) unsafe fn block(self, digits: usize, packed: [Option<Form>; 2], bias: DevicePtr) -> Result<()> {
        if !sizes::MATMUL_TILE_FROM.is_reached(self.m.min(self.n)) {
            // SAFETY: the caller promises what is required.
            return unsafe { self.thin(packed) };
        }
        let tile = self.tile(digits);
        let each = self.scratch(digits, packed);
        let all = each.saturating_mul(count(&self.batch));
        let most = sizes::MATMUL_SCRATCH.limit(all) / each;
        self.in_parts(&|m, n| self.blocks(&tile, m, n), most, &mut |part, [a, b]| {
            // SAFETY: this is a part of the problem, for which the caller promises what `vendor`
            // requires.
            unsafe {
                let packed = [packed[0].map(|p| p.after(a)), packed[1].map(|p| p.after(b))];
                part.launch_block(digits, tile, packed, self.k, bias)
            }
        })
    }

    /// Returns the blocks of a product of so many rows and columns, or of packing either operand.
    fn blocks(&self, tile: &Tile, m: usize, n: usize) -> usize {
        tile.blocks(m, n).max(pack_blocks(m.max(n), self.k))
    }

    /// Returns the bytes that each matrix of a batch packs.
    fn scratch(&self, digits: usize, packed: [Option<Form>; 2]) -> usize {
        let of = |packed: Option<Form>, lines| packed.map_or_else(|| packed_bytes(digits, lines, self.k), |_| 0);
        of(packed[0], self.m).saturating_add(of(packed[1], self.n)).max(1)
    }

    /// Whether a block product of operands that are not packed may have a bias: if one launch of
    /// tiles computes it.
    pub(in crate::ops) fn takes_bias(&self, digits: usize) -> bool {
        let blocks = self.blocks(&self.tile(digits), self.m, self.n);
        let all = |each: usize| each.saturating_mul(count(&self.batch));
        sizes::MATMUL_TILE_FROM.is_reached(self.m.min(self.n))
            && !sizes::MATMUL_SIDE.is_exceeded(self.m.max(self.n))
            && !sizes::MATMUL_BLOCKS.is_exceeded(all(blocks))
            && !sizes::MATMUL_SCRATCH.is_exceeded(all(self.scratch(digits, [None; 2])))
    }

    /// Computes the block product of packed matrices by one launch, without those results that are
    /// chains: the elements of the operands are not read. The steps of both operands along the
    /// batch are in matrices of their forms. `bias` is that of [`block`](Self::block).
    ///
    /// # Safety
    /// Every element of the result and of the bias must be allocated, and the result must overlap
    /// neither itself nor the bias. The forms must have all matrices. Blocks and tiles must fit a
    /// launch.
    pub(in crate::ops) unsafe fn block_of_packed(
        &self,
        digits: usize,
        packed: [Form; 2],
        bias: DevicePtr,
    ) -> Result<()> {
        // SAFETY: the caller promises what is required; without chains, no element is read.
        unsafe { self.launch_block(digits, self.tile(digits), packed.map(Some), 0, bias) }
    }

    /// Whether [`block_of_packed`](Self::block_of_packed) would run on warpgroups.
    pub(in crate::ops) fn is_on_warpgroups(&self, digits: usize) -> bool {
        self.tile(digits).variant == BLOCK_WARPGROUP
    }

    /// Returns the parameters and the launch of a kernel on warpgroups that finds the right operand
    /// by itself.
    pub(in crate::ops) fn on_warpgroups(&self, digits: usize, left: Form, key: Key) -> (Product, Launch) {
        let steps = |which: usize| self.batch.iter().map(|d| d.stride[which]).collect();
        let side = |which| Packed::<R> { at: left.at, bytes: left.bytes, steps: steps(which), _scratch: None };
        let (product, launch) = self.block_product(digits, Tile::warpgroup(digits), [&side(0), &side(1)], 0);
        (product, Launch { key, ..launch })
    }

    /// Returns the tile for all results.
    fn tile(&self, digits: usize) -> Tile {
        let enough = self.device.runtime().limits().multiprocessors as usize;
        let fills = |tile: &Tile| {
            let blocks = tile.blocks(self.m, self.n).saturating_mul(count(&self.batch));
            sizes::MATMUL_ENOUGH.is_reached_or(blocks, enough)
        };
        let tiles = Tile::SMALL.blocks(self.m, self.n).saturating_mul(count(&self.batch));
        if sizes::MATMUL_WARPGROUP.is_reached(tiles) && has_warpgroups(self.device, self.dtype) {
            Tile::warpgroup(digits)
        } else if fills(&Tile::large(digits)) && has_room(self.device, self.dtype) {
            Tile::large(digits)
        } else {
            Tile::SMALL
        }
    }

    /// Chains have `chain` products: `k`, or none if they are not asked for.
    ///
    /// # Safety
    /// Same as [`vendor`](Self::vendor).
    unsafe fn launch_block(
        &self,
        digits: usize,
        tile: Tile,
        packed: [Option<Form>; 2],
        chain: usize,
        bias: DevicePtr,
    ) -> Result<()> {
        // SAFETY: the caller promises that every element of both operands is allocated.
        let [a, b] = unsafe {
            let (rows, columns) = (self.a, Operand { row: self.b.col, col: self.b.row, ..self.b });
            [self.pack(digits, rows, self.m, 0, packed[0])?, self.pack(digits, columns, self.n, 1, packed[1])?]
        };
        let (product, launch) = self.block_product(digits, tile, [&a, &b], chain);
        let args = args![self.a.ptr, self.b.ptr, bias, self.c.ptr, a.at, b.at, product];
        // SAFETY: the caller promises valid matrices; both operands are packed earlier in stream
        // order, and their memory returns to the pool afterwards.
        unsafe { launch.on(self.device, args) }
    }

    /// Returns the parameters of a product of packed operands, and its launch.
    fn block_product(&self, digits: usize, tile: Tile, [a, b]: [&Packed<R>; 2], chain: usize) -> (Product, Launch) {
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
            chain: chain as u64,
            a: strides(&self.a),
            b: strides(&self.b),
            c: strides(&self.c),
            packed: [a.bytes as u64, b.bytes as u64],
            tiles: (tile.blocks(self.m, self.n) * count(&self.batch)) as u64,
            m_tiles: Divisor::new(self.m.div_ceil(tile.m)),
            n_tiles: Divisor::new(self.n.div_ceil(tile.n)),
            batch: Index::new(&batch),
        };
        // A block of warpgroups takes tiles one after the other.
        let at_once = match tile.variant {
            BLOCK_WARPGROUP => u64::from(self.device.runtime().limits().multiprocessors),
            _ => u64::MAX,
        };
        let blocks = product.tiles.min(at_once) as u32;
        let mut launch = Launch::linear(key(self.dtype, tile.variant), blocks, tile.threads);
        launch.config.shared_bytes = tile.shared(digits);
        (product, launch)
    }

    /// Packs each matrix of an operand once, unless it is packed already: `which` is its place in
    /// the strides of the batch.
    ///
    /// # Safety
    /// Every element of the operand must be allocated.
    unsafe fn pack(
        &self,
        digits: usize,
        lines: Operand,
        count_of: usize,
        which: usize,
        packed: Option<Form>,
    ) -> Result<Packed<R>> {
        if let Some(form) = packed {
            let steps = self.batch.iter().map(|d| form.matrices(d.stride[which])).collect();
            return Ok(Packed { at: form.at, bytes: form.bytes, steps, _scratch: None });
        }
        let OwnMatrices { dims, count, steps } = self.own_matrices(which);
        let bytes = packed_bytes(digits, count_of, self.k);
        let storage = self.device.alloc(bytes.saturating_mul(count), DType::U8)?;
        let at = storage.ptr();
        // SAFETY: the caller promises that the operand is allocated, and `storage` has space for
        // every packed matrix.
        unsafe { pack_lines(self.device, self.dtype, lines, [count_of, self.k], bytes, &dims, at)? };
        Ok(Packed { at, bytes, steps, _scratch: Some(storage) })
    }
}

/// Returns whether a device runs the large tiles: it has the shared memory, and code with matrix
/// units.
fn has_room<R: GpuRuntime>(device: &GpuDevice<R>, dtype: DType) -> bool {
    has_unit_room(device, key(dtype, BLOCK_LARGE))
}

/// Returns whether a device has the shared memory of large tiles, and code of a kernel with matrix
/// units.
pub(in crate::ops) fn has_unit_room<R: GpuRuntime>(device: &GpuDevice<R>, kernel: Key) -> bool {
    unit::has_unit_code(device, kernel, &ROOMY)
}

/// Returns whether a device runs the tiles of Hopper's warpgroups: code for Hopper is packed or can
/// be compiled here, and loads. A simulated Hopper card does not load it. If it does not compile,
/// an event says so, because products are right then, and half as fast.
fn has_warpgroups<R: GpuRuntime>(device: &GpuDevice<R>, dtype: DType) -> bool {
    let kernel = key(dtype, BLOCK_WARPGROUP);
    let loads = || match device.function(kernel) {
        Ok(_) => true,
        Err(error) => {
            if error.kind() == ErrorKind::CompileFailed {
                tracing::warn!(target: trace::TARGET, device = %device.location_of(), %error, "no warpgroups");
            }
            false
        }
    };
    unit::has_code_since(device, kernel, &[HOPPER], HOPPER_NUMBER) && *device.warpgroups().get_or_init(loads)
}
