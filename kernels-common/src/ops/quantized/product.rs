//! Launches of the products that work directly on blocks.

use super::convert::{self, BLOCK, SEGMENT, code};
use crate::args;
use crate::device::GpuDevice;
use crate::launch::index::Divisor;
use crate::launch::{Launch, sizes};
use crate::ops::dense::{ANYWHERE, Dense, Rows};
use crate::ops::matmul::block::has_unit_room;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, GgmlDType, Layout, Op, QActivations, Result};
use std::mem::offset_of;

use crate::manifest::instances::quantized::{
    GROUP, SEGMENTS_FLOAT, SEGMENTS_INT, TILE_64, TILES, VECTOR_FLOAT, VECTOR_INT, key,
};

/// The most rows of activations through q8_1 per matrix, if rows select their matrices, for which
/// the kernel for few rows is faster: it then takes one row at a time, and a tile only has rows of
/// one matrix.
const CHOSEN_ROWS: usize = 2;
/// Threads per block of the kernels for few rows and of those with tiles.
const VECTOR_THREADS: usize = 128;
const TILE_THREADS: usize = 256;
/// Segments of rows of activations, and of the matrix, in a stage of a tile.
const STAGE_X: usize = 64;
const STAGE_W: usize = 128;
const GROUP_THREADS: usize = 256;

/// Only checks ids: reports every id that neither selects a matrix nor marks padding.
pub(super) fn check_ids<R: GpuRuntime>(
    op: &Op,
    weight: &Layout,
    (ids, layout): (&GpuStorage<R>, &Layout),
) -> Result<()> {
    let (device, matrices) = (ids.device(), weight.dims()[0]);
    let m = layout.elem_count();
    if m == 0 {
        return Ok(());
    }
    let (dense, fault) = (Dense::new(ids, layout, ANYWHERE)?, device.index_faults(op, [layout.dims(), weight.dims()])?);
    let product = QProduct { m: m as u32, matrices: matrices as u32, ..QProduct::default() };
    // SAFETY: the layout was validated against its buffer, and the dense ids have all of its
    // elements.
    unsafe { group(device, &product, dense.ptr, (fault.ptr(), 0), TILES[0].1).map(drop) }
}

/// Groups the rows of a product by the matrix that each of them selects, in tiles of so many rows.
/// Also returns the memory of the groups, which the caller must keep until the kernels that read it
/// are launched.
///
/// # Safety
/// `ids` must have an id for each row, the first of which is row `first_row` of all, and `fault`
/// must be a flag of the device.
unsafe fn group<R: GpuRuntime>(
    device: &GpuDevice<R>,
    product: &QProduct,
    ids: DevicePtr,
    (fault, first_row): (DevicePtr, u32),
    tile: usize,
) -> Result<(GpuStorage<R>, QGroups)> {
    let (ends, m) = (product.matrices as usize + 2, product.m as usize);
    let memory = device.alloc(2 * (ends + m), DType::U32)?;
    let at = |entries| memory.ptr().at(DType::U32, entries);
    let groups = QGroups { starts: at(0), tiles: at(ends), list: at(2 * ends), places: at(2 * ends + m) };
    let launch = Launch::linear(key(GgmlDType::Q8_1, GROUP), 1, GROUP_THREADS as u32);
    // SAFETY: the caller promises valid ids and a valid flag; the memory has space for every entry.
    unsafe { launch.on(device, args![*product, ids, fault, first_row, groups, tile as u32])? };
    Ok((memory, groups))
}

/// A product with dense operands: m rows of the result with n elements each, and rows of k
/// activations.
pub(super) struct Problem<'a, R: GpuRuntime> {
    pub(super) device: &'a GpuDevice<R>,
    pub(super) format: GgmlDType,
    pub(super) activations: QActivations,
    pub(super) dtype: DType,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) matrices: usize,
    pub(super) w: &'a Rows<R>,
    pub(super) x: DevicePtr,
    pub(super) repeat: usize,
    pub(super) ids: Option<DevicePtr>,
    pub(super) fault: Option<DevicePtr>,
    pub(super) y: DevicePtr,
}

/// The layout of the kernels' `QProduct`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct QProduct {
    m: u32,
    n: u32,
    blocks: u32,
    segments: u32,
    w_row: u64,
    w_matrix: u64,
    matrices: u32,
    dtype: u32,
    n_tiles: Divisor,
    repeat: Divisor,
    y_row: u64,
}

const _: () = assert!(size_of::<QProduct>() == 72);
const _: () = assert!(offset_of!(QProduct, w_row) == 16 && offset_of!(QProduct, matrices) == 32);
const _: () = assert!(offset_of!(QProduct, n_tiles) == 40 && offset_of!(QProduct, y_row) == 64);

/// The layout of the kernels' `EightBitRows`; null if thread blocks quantize their own activations.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct EightBitRows {
    q: DevicePtr,
    scales: DevicePtr,
}

const _: () = assert!(size_of::<EightBitRows>() == 16);

/// The layout of the kernels' `QGroups`; null if rows are not grouped.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct QGroups {
    starts: DevicePtr,
    tiles: DevicePtr,
    list: DevicePtr,
    places: DevicePtr,
}

impl QGroups {
    pub(super) const NONE: Self =
        Self { starts: DevicePtr(0), tiles: DevicePtr(0), list: DevicePtr(0), places: DevicePtr(0) };
}

const _: () = assert!(size_of::<QGroups>() == 32);

/// A kernel, with the rows of the result and of the matrix that one of its blocks processes.
#[derive(Debug, Clone, Copy)]
struct Kernel {
    variant: u8,
    m: usize,
    n: usize,
    threads: usize,
}

impl Kernel {
    /// Returns a kernel with tiles of m rows of the result: with fewer rows of activations than a
    /// stage has, it takes several segments of each row of the matrix at a time.
    const fn tile(variant: u8, m: usize) -> Self {
        Self { variant, m, n: STAGE_W / (STAGE_X / m), threads: TILE_THREADS }
    }
}

/// Returns the bytes of a stage of a tile: `TileStage` of ops/quantized/tile.cu.
fn stage_bytes(format: GgmlDType) -> usize {
    let segment = SEGMENT / format.block_size() * format.block_bytes();
    let before = if segment.is_multiple_of(16) { 0 } else { 15 };
    let parts = (before + segment).div_ceil(16) | 1;
    STAGE_W * parts * 16 + STAGE_X * (SEGMENT + 16) + STAGE_X * (SEGMENT / BLOCK) * 2 * size_of::<f32>()
}

impl<R: GpuRuntime> Problem<'_, R> {
    /// Groups the rows by the ids, in tiles of so many rows, as [`group`] does.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub(super) unsafe fn grouped(&self, ids: DevicePtr, tile: usize) -> Result<(GpuStorage<R>, QGroups)> {
        let product = QProduct { m: self.m as u32, matrices: self.matrices as u32, ..QProduct::default() };
        // SAFETY: the caller promises an id for each row and a valid flag.
        unsafe { group(self.device, &product, ids, (self.fault.unwrap_or(DevicePtr(0)), 0), tile) }
    }

    /// Whether there are few rows per matrix.
    fn are_few(&self) -> bool {
        let few = CHOSEN_ROWS * self.matrices;
        sizes::QUANTIZED_CHOSEN_ROWS.limit_or(self.m, few) >= self.m
    }

    /// Returns the number of stages of a tile in shared memory: two if the device holds them, so
    /// that one is loaded while the other is used. It does where it holds the stages of large tiles
    /// of block products.
    fn stages(&self) -> u32 {
        1 + u32::from(has_unit_room(self.device, key(self.format, TILE_64)))
    }

    /// Returns the tiles for more than one row: the largest of which there are enough, and which
    /// the rows of a matrix fill by more than half.
    fn tile(&self) -> Kernel {
        let rows = self.m.div_ceil(self.matrices.max(1));
        // Somewhat fewer than one to a multiprocessor lose less than smaller tiles do.
        let enough = (self.device.runtime().limits().multiprocessors as usize * 3).div_ceil(4);
        let suits = |tile: &Kernel| {
            let tiles = self.matrices.saturating_mul(rows.div_ceil(tile.m)).saturating_mul(self.n.div_ceil(tile.n));
            rows > tile.m / 2 && (tile.m <= 16 || sizes::QUANTIZED_TILES.is_reached_or(tiles, enough))
        };
        let tiles = TILES.map(|(variant, m)| Kernel::tile(variant, m));
        tiles.into_iter().rfind(suits).unwrap_or(tiles[0])
    }

    /// # Safety
    /// All operands must be allocated: the rows of the result, one row of activations per `repeat`
    /// rows of the result, an id for each row of the result, and the matrices.
    pub(super) unsafe fn run(&self) -> Result<()> {
        let vector =
            |variant, segments| Kernel { variant, m: 1, n: VECTOR_THREADS / segments, threads: VECTOR_THREADS };
        let kernel = match self.activations {
            QActivations::Float => vector(VECTOR_FLOAT, SEGMENTS_FLOAT),
            QActivations::Q8_1 if self.m == 1 || (self.ids.is_some() && self.are_few()) => {
                vector(VECTOR_INT, SEGMENTS_INT)
            }
            QActivations::Q8_1 => self.tile(),
        };
        let own = kernel.variant == VECTOR_FLOAT
            || (kernel.variant == VECTOR_INT && !sizes::QUANTIZED_OWN_ROWS.is_exceeded(self.m));
        if own {
            // SAFETY: the caller promises that all operands are allocated: the rows of the result,
            // one row of activations per `repeat` rows of the result, an id for each row of the
            // result, and the matrices.
            return unsafe { self.launches(kernel, None) };
        }
        let blocks = self.m / self.repeat * (self.k / BLOCK);
        let q = self.device.alloc(blocks * BLOCK, DType::U8)?;
        let scales = self.device.alloc(blocks * 2, DType::F32)?;
        let rows = [q.ptr(), scales.ptr()];
        // SAFETY: the caller promises valid operands. Both buffers have space for every block, and
        // return to the pool after the launches, in stream order.
        unsafe {
            convert::activations(self.device, self.dtype, self.x, rows, blocks)?;
            self.launches(kernel, Some(rows))
        }
    }

    /// # Safety
    /// Same as [`run`](Self::run); `rows` must be the activations' blocks.
    unsafe fn launches(&self, kernel: Kernel, rows: Option<[DevicePtr; 2]>) -> Result<()> {
        let side = sizes::QUANTIZED_SIDE.limit(self.n);
        let n_tiles = self.n.min(side).div_ceil(kernel.n);
        // Launches take whole groups of rows that share activations, which only rows with ids do,
        // or whole thread blocks.
        let unit = if self.ids.is_some() { self.repeat } else { kernel.m };
        let blocks = sizes::QUANTIZED_BLOCKS.limit(self.m.div_ceil(kernel.m).saturating_mul(n_tiles));
        let most = (blocks / n_tiles * kernel.m / unit).max(1) * unit;
        for m0 in (0..self.m).step_by(most) {
            for n0 in (0..self.n).step_by(side) {
                let (m, n) = ((self.m - m0).min(most), (self.n - n0).min(side));
                // SAFETY: this is a part of the product; the caller promises what `run` requires,
                // and that `rows` are the activations' blocks.
                unsafe { self.launch(kernel, rows, [m0, m], [n0, n])? };
            }
        }
        Ok(())
    }

    /// # Safety
    /// Same as [`launches`](Self::launches).
    unsafe fn launch(
        &self,
        kernel: Kernel,
        rows: Option<[DevicePtr; 2]>,
        [m0, m]: [usize; 2],
        [n0, n]: [usize; 2],
    ) -> Result<()> {
        let (n_tiles, x0) = (n.div_ceil(kernel.n), m0 / self.repeat);
        let blocks = self.k / BLOCK;
        let product = QProduct {
            m: m as u32,
            n: n as u32,
            blocks: blocks as u32,
            segments: self.k.div_ceil(SEGMENT) as u32,
            w_row: self.w.row as u64,
            w_matrix: self.w.matrix as u64,
            matrices: self.matrices as u32,
            dtype: code(self.dtype),
            n_tiles: Divisor::new(n_tiles),
            repeat: Divisor::new(self.repeat),
            y_row: self.n as u64,
        };
        let null = DevicePtr(0);
        let w = self.w.ptr.at(DType::U8, n0 * self.w.row);
        let x = self.x.at(self.dtype, x0 * self.k);
        let rows = rows.map_or(EightBitRows { q: null, scales: null }, |[q, scales]| EightBitRows {
            q: q.at(DType::U8, x0 * self.k),
            scales: scales.at(DType::F32, x0 * blocks * 2),
        });
        let y = self.y.at(self.dtype, m0 * self.n + n0);
        let ids = self.ids.map_or(null, |ids| ids.at(DType::U32, m0));
        let (fault, first_row) = (self.fault.unwrap_or(null), m0 as u32);
        let m_tiles = m.div_ceil(kernel.m);
        let launch =
            |tiles| Launch::linear(key(self.format, kernel.variant), (tiles * n_tiles) as u32, kernel.threads as u32);
        let tiled = |tiles, groups: QGroups| {
            let (mut launch, stages) = (launch(tiles), self.stages());
            launch.config.shared_bytes = stages * stage_bytes(self.format) as u32;
            // SAFETY: as below; `groups` are those of the rows, or none.
            unsafe { launch.on(self.device, args![product, w, rows, groups, stages, y]) }
        };
        // SAFETY: the caller promises valid operands. No block accesses rows beyond those of
        // `product`, and the groups' memory returns to the pool after the launches, in stream
        // order.
        unsafe {
            match kernel.variant {
                VECTOR_FLOAT => launch(m_tiles).on(self.device, args![product, w, x, ids, fault, first_row, y]),
                VECTOR_INT => launch(m_tiles).on(self.device, args![product, w, x, rows, ids, fault, first_row, y]),
                _ if self.ids.is_some() => {
                    let (_memory, groups) = group(self.device, &product, ids, (fault, first_row), kernel.m)?;
                    // Every group may end in a partial tile.
                    tiled(m_tiles + m.min(self.matrices + 1), groups)
                }
                _ => tiled(m_tiles, QGroups::NONE),
            }
        }
    }
}
