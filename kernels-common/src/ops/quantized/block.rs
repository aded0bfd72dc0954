//! Block products with few rows of float activations per matrix: both operands are read once, and
//! the matrix is dequantized in registers.

use super::convert::code;
use super::product::{Problem, QGroups};
use crate::args;
use crate::launch::index::{Dim, Divisor, IndexDims};
use crate::launch::sizes;
use crate::manifest::instances::quantized::{BLOCK_SUM, BLOCK_VALUES, key};
use crate::ops::matmul::block::{Launches, Lines, Operands, Shape, Thin, thin_blocks, value_bytes};
use crate::runtime::GpuRuntime;
use isobit_hal::{DType, Result};
use std::mem::offset_of;

/// The most rows that the kernels take at once. Must match ops/matmul/block/gemv.cuh.
const ROWS: usize = 8;

/// The layout of the kernels' `QBlockProduct`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct QBlockProduct {
    thin: Thin,
    w_matrix: u64,
    matrices: u32,
    dtype: u32,
    first_tile: u32,
    repeat: Divisor,
}

const _: () = assert!(size_of::<QBlockProduct>() == 624);
const _: () = assert!(offset_of!(QBlockProduct, w_matrix) == 592 && offset_of!(QBlockProduct, repeat) == 612);

/// Which results a launch computes: consecutive rows, or tiles of those that select a matrix; and
/// columns. Ranges are given by their first and their length.
struct Part {
    rows: [usize; 2],
    tiles: [usize; 2],
    columns: [usize; 2],
    groups: QGroups,
}

impl<R: GpuRuntime> Problem<'_, R> {
    /// Computes block products.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub(super) unsafe fn run_block(&self) -> Result<()> {
        let rows = self.m.min(ROWS);
        let bytes = |columns| value_bytes(rows, columns, self.k);
        // SAFETY: the caller promises valid ids and a valid flag.
        let grouped = self.ids.map(|ids| unsafe { self.grouped(ids, ROWS) }).transpose()?;
        // Every group may end in a partial tile, but no tile is empty.
        let most = (self.m.div_ceil(ROWS) + self.matrices + 1).min(self.m);
        let tiles = if grouped.is_some() { most } else { 1 };
        let groups = grouped.as_ref().map_or(QGroups::NONE, |(_, groups)| *groups);
        let memory = sizes::MATMUL_SCRATCH.limit(bytes(self.n).saturating_mul(tiles));
        let columns = (memory / bytes(1)).clamp(1, sizes::QUANTIZED_SIDE.limit(self.n));
        let blocks = thin_blocks(Shape::GEMV, [rows, columns, self.k]);
        let launched = sizes::QUANTIZED_BLOCKS.limit(blocks.saturating_mul(tiles));
        let most = (launched / blocks).min(memory / bytes(columns)).max(1);
        for n0 in (0..self.n).step_by(columns) {
            let columns = [n0, (self.n - n0).min(columns)];
            let launch = |rows, tiles| {
                // SAFETY: the caller promises what is required, and this is a part of the product.
                unsafe { self.launch_block(&Part { rows, tiles, columns, groups }) }
            };
            if grouped.is_some() {
                (0..tiles).step_by(most).try_for_each(|first| launch([0, rows], [first, (tiles - first).min(most)]))?;
            } else {
                (0..self.m).step_by(ROWS).try_for_each(|m0| launch([m0, (self.m - m0).min(ROWS)], [0, 1]))?;
            }
        }
        Ok(())
    }

    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn launch_block(&self, part: &Part) -> Result<()> {
        let ([m0, rows], [first_tile, tiles], [n0, columns]) = (part.rows, part.tiles, part.columns);
        let operands = Operands {
            rows: Lines::strided(rows, self.k, self.k),
            lines: Lines::strided(columns, self.k, self.w.row),
            is_right: false,
            result: [self.n, 1],
            packed: [0; 2],
            batch: IndexDims::from_slice(&[Dim { size: tiles, stride: [0; 5] }]),
        };
        let keys = [BLOCK_VALUES, BLOCK_SUM].map(|variant| key(self.format, variant));
        let launches = Launches::new(self.device, keys, Shape::GEMV, &operands)?;
        let product = QBlockProduct {
            thin: launches.parameters,
            w_matrix: self.w.matrix as u64,
            matrices: self.matrices as u32,
            dtype: code(self.dtype),
            first_tile: first_tile as u32,
            repeat: Divisor::new(self.repeat),
        };
        let x = self.x.at(self.dtype, m0 * self.k);
        let w = self.w.ptr.at(DType::U8, n0 * self.w.row);
        let y = self.y.at(self.dtype, m0 * self.n + n0);
        let (groups, values) = (part.groups, launches.values.ptr());
        // SAFETY: the caller promises valid operands, of which this is a part, and `values` has
        // space for the values of every segment; its memory returns to the pool afterwards.
        unsafe {
            launches.products.on(self.device, args![x, w, groups, values, product])?;
            launches.sums.on(self.device, args![x, w, groups, values, y, product])
        }
    }
}
