//! Launches of the products that work on blocks themselves.

use super::convert::{self, BLOCK, MOST_BLOCKS, SEGMENT, code};
use super::dense::{ANYWHERE, Dense, Rows};
use crate::args;
use crate::device::GpuDevice;
use crate::launch::Launch;
use crate::launch::index::Divisor;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, GgmlDType, Layout, Op, QActivations, Result};
use std::mem::offset_of;

use crate::manifest::instances::quantized::{
    GROUP, SEGMENTS_FLOAT, SEGMENTS_INT, SEGMENTS_INT_4, TILE, VECTOR_FLOAT, VECTOR_INT, VECTOR_INT_4, key,
};

/// Rows of activations as they come for which their own kernel is worth it.
pub(super) const FLOAT_ROWS: usize = 16;
/// The same for activations through q8_1, in groups of four.
const INT_ROWS: usize = 32;
/// The same where rows choose their matrices, for each matrix: the kernel for few takes one at a
/// time then, and a tile has rows of one matrix alone.
const CHOSEN_ROWS: usize = 8;
/// Rows of the result up to which each block of threads quantizes its activations for itself.
const OWN_ROWS: usize = 8;
/// Threads of a block of the kernels for few rows, and of that for tiles; a tile.
const VECTOR_THREADS: usize = 128;
const TILE_THREADS: usize = 256;
const TILE_M: usize = 128;
const TILE_N: usize = 64;
const GROUP_THREADS: usize = 256;
/// Rows of a matrix in one launch.
const SIDE: usize = 1 << 26;

/// Looks at ids alone, of which any but those of a matrix or of padding are reported.
pub(super) fn check_ids<R: GpuRuntime>(
    op: &Op,
    matrices: usize,
    (ids, layout): (&GpuStorage<R>, &Layout),
) -> Result<()> {
    let device = ids.device();
    let m = layout.elem_count();
    if m == 0 {
        return Ok(());
    }
    let (dense, fault) = (Dense::new(ids, layout, ANYWHERE)?, device.index_faults(op, matrices)?);
    let product = QProduct { m: m as u32, matrices: matrices as u32, ..QProduct::default() };
    // SAFETY: the layout was validated against its buffer, and the dense ids have all its elements.
    unsafe { group(device, &product, dense.ptr, fault.ptr()).map(drop) }
}

/// The rows of a product grouped by the matrix that each chose, and the memory of that, to be held
/// until what reads it is launched.
///
/// # Safety
/// `ids` has an id for each row, and `fault` is a flag of the device.
unsafe fn group<R: GpuRuntime>(
    device: &GpuDevice<R>,
    product: &QProduct,
    ids: DevicePtr,
    fault: DevicePtr,
) -> Result<(GpuStorage<R>, QGroups)> {
    let (ends, m) = (product.matrices as usize + 2, product.m as usize);
    let memory = device.alloc(2 * (ends + m), DType::U32)?;
    let at = |entries| memory.ptr().at(DType::U32, entries);
    let groups = QGroups { starts: at(0), tiles: at(ends), list: at(2 * ends), places: at(2 * ends + m) };
    let launch = Launch::linear(key(GgmlDType::Q8_1, GROUP), 1, GROUP_THREADS as u32);
    // SAFETY: as the caller promises; the memory has a place for every entry.
    unsafe { launch.on(device, args![*product, ids, fault, groups])? };
    Ok((memory, groups))
}

/// A product with dense operands: m rows of the result, of n elements, and rows of activations of
/// k.
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

/// `QProduct` of the kernels.
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

/// `EightBitRows` of the kernels; of zeros where blocks of threads quantize for themselves.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct EightBitRows {
    q: DevicePtr,
    scales: DevicePtr,
}

const _: () = assert!(size_of::<EightBitRows>() == 16);

/// `QGroups` of the kernels; of zeros where rows are not grouped.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct QGroups {
    starts: DevicePtr,
    tiles: DevicePtr,
    list: DevicePtr,
    places: DevicePtr,
}

const _: () = assert!(size_of::<QGroups>() == 32);

/// A kernel, with the rows of the result and of the matrix that one of its blocks takes.
#[derive(Debug, Clone, Copy)]
struct Kernel {
    variant: u8,
    m: usize,
    n: usize,
    threads: usize,
}

impl<R: GpuRuntime> Problem<'_, R> {
    /// # Safety
    /// Everything is allocated: the result's rows, so many of activations as these take `repeat` by
    /// `repeat`, an id for each row of the result, and the matrices.
    pub(super) unsafe fn run(&self) -> Result<()> {
        let vector =
            |variant, m, segments| Kernel { variant, m, n: VECTOR_THREADS / segments, threads: VECTOR_THREADS };
        let kernel = match self.activations {
            QActivations::Float => vector(VECTOR_FLOAT, 1, SEGMENTS_FLOAT),
            QActivations::Q8_1 if self.m == 1 || (self.ids.is_some() && self.m <= CHOSEN_ROWS * self.matrices) => {
                vector(VECTOR_INT, 1, SEGMENTS_INT)
            }
            QActivations::Q8_1 if self.ids.is_none() && self.m <= INT_ROWS => vector(VECTOR_INT_4, 4, SEGMENTS_INT_4),
            QActivations::Q8_1 => Kernel { variant: TILE, m: TILE_M, n: TILE_N, threads: TILE_THREADS },
        };
        let own = kernel.variant == VECTOR_FLOAT || (kernel.variant == VECTOR_INT && self.m <= OWN_ROWS);
        if own {
            // SAFETY: the caller promises that everything is allocated: the result's rows, so many
            // of activations as these take `repeat` by `repeat`, an id for each row of the result,
            // and the matrices.
            return unsafe { self.launches(kernel, None) };
        }
        let blocks = self.m / self.repeat * (self.k / BLOCK);
        let q = self.device.alloc(blocks * BLOCK, DType::U8)?;
        let scales = self.device.alloc(blocks * 2, DType::F32)?;
        let rows = [q.ptr(), scales.ptr()];
        // SAFETY: as the caller promises; both have a place for every block, and go back to the
        // pool after the launches, in stream order.
        unsafe {
            convert::activations(self.device, self.dtype, self.x, rows, blocks)?;
            self.launches(kernel, Some(rows))
        }
    }

    /// # Safety
    /// As [`run`](Self::run); `rows` are the activations' blocks.
    unsafe fn launches(&self, kernel: Kernel, rows: Option<[DevicePtr; 2]>) -> Result<()> {
        let n_tiles = self.n.min(SIDE).div_ceil(kernel.n);
        // Whole groups of rows that share activations, and whole blocks of threads.
        let unit = self.repeat.max(kernel.m);
        let most = (MOST_BLOCKS / n_tiles * kernel.m / unit).max(1) * unit;
        for m0 in (0..self.m).step_by(most) {
            for n0 in (0..self.n).step_by(SIDE) {
                let (m, n) = ((self.m - m0).min(most), (self.n - n0).min(SIDE));
                // SAFETY: a part of it: the caller promises what `run`; `rows` are the activations'
                // blocks asks.
                unsafe { self.launch(kernel, rows, [m0, m], [n0, n])? };
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`launches`](Self::launches).
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
        let fault = self.fault.unwrap_or(null);
        let m_tiles = m.div_ceil(kernel.m);
        let launch =
            |tiles| Launch::linear(key(self.format, kernel.variant), (tiles * n_tiles) as u32, kernel.threads as u32);
        // SAFETY: as the caller promises; no block reads or writes beyond the rows that the product
        // names, and the groups' memory goes back to the pool after the launches, in stream order.
        unsafe {
            match kernel.variant {
                TILE if self.ids.is_some() => {
                    let (_memory, groups) = group(self.device, &product, ids, fault)?;
                    // Every group may end in a tile that is not full.
                    let tiles = m_tiles + m.min(self.matrices + 1);
                    launch(tiles).on(self.device, args![product, w, rows, groups, y])
                }
                TILE => {
                    let none = QGroups { starts: null, tiles: null, list: null, places: null };
                    launch(m_tiles).on(self.device, args![product, w, rows, none, y])
                }
                VECTOR_FLOAT => launch(m_tiles).on(self.device, args![product, w, x, ids, fault, y]),
                _ => launch(m_tiles).on(self.device, args![product, w, x, rows, ids, fault, y]),
            }
        }
    }
}
