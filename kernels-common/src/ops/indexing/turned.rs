//! Scatters along lines whose elements lie far apart: copies the lines to rows, and back.

use super::in_order;
use super::lines::Strips;
use super::scatter::Scatter;
use crate::launch::index::{Dim, IndexDims, count};
use crate::ops::copy::copy_walk;
use crate::runtime::GpuRuntime;
use isobit_hal::{BackendStorage, Result};

/// Lines of all operands, and where their copies are: one row after another.
pub(super) struct Turned {
    lines: IndexDims<4>,
    rows: IndexDims<4>,
    /// How the rows are divided among blocks.
    strips: Strips,
}

impl Turned {
    /// Returns the number of ranges that the destinations of a row are divided into.
    pub(super) fn ranges(&self) -> usize {
        self.strips.ranges()
    }
}

impl<R: GpuRuntime> Scatter<'_, R> {
    /// Describes the rows of lines along some dimensions.
    pub(super) fn turned(&self, others: &[Dim<4>]) -> Turned {
        let lines = in_order(others.into());
        let mut rows = lines.clone();
        let mut step = [self.size, self.n, self.n];
        for row in rows.iter_mut().rev() {
            for (stride, step) in row.stride.iter_mut().zip(&mut step) {
                *stride = *step;
                *step *= row.size;
            }
        }
        let strips = self.strips(rows.clone(), true);
        Turned { lines, rows, strips }
    }

    /// Runs along rows. For 4096 lines of 16384 elements, an H100 needs 2.4 ms, and 11.4 ms to sort
    /// them.
    ///
    /// # Safety
    /// Same as [`along_lines`](Self::along_lines), for the lines.
    pub(super) unsafe fn along_rows(&self, turned: Turned) -> Result<()> {
        let Turned { lines, rows, strips } = turned;
        let device = self.dst.device();
        let dtypes = [self.dst.dtype(), self.ids, self.dst.dtype()];
        let lengths = [self.size, self.n, self.n];
        // From the lines of an operand to its rows.
        let walk = |o: usize| -> IndexDims<2> {
            let along = Dim { size: lengths[o], stride: [self.along[o], 1] };
            let across = lines
                .iter()
                .zip(&rows)
                .map(|(line, row)| Dim { size: line.size, stride: [line.stride[o], row.stride[o]] });
            across.chain([along]).collect()
        };
        let copy = |o: usize| {
            let copy = device.alloc(count(&rows) * lengths[o], dtypes[o])?;
            // SAFETY: the caller promises that all elements of the lines are allocated, and the new
            // buffer has space for all of them, at different places.
            unsafe { copy_walk(device, dtypes[o].size_in_bytes(), self.at[o], copy.ptr(), walk(o))? };
            Ok(copy)
        };
        let [dst, ids, src] = [copy(0)?, copy(1)?, copy(2)?];
        let at = [dst.ptr(), ids.ptr(), src.ptr()];
        let [_, _, _, place] = self.along;
        let of_rows = Scatter { at, along: [1, 1, 1, place], ..*self };
        // SAFETY: the rows are all elements of the new buffers.
        unsafe { of_rows.along_lines(strips)? };
        let back = walk(0).into_iter().map(|d| Dim { stride: [d.stride[1], d.stride[0]], ..d }).collect();
        // SAFETY: the caller promises that all elements of the lines are allocated, and that no
        // element of the destination occurs twice.
        unsafe { copy_walk(device, dtypes[0].size_in_bytes(), at[0], self.at[0], back) }
    }
}
