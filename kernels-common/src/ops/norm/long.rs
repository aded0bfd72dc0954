//! Rows that do not fit in a block: one pass over their segments for each value that they need,
//! then one pass that writes.

use super::{Call, LANES};
use crate::args;
use crate::launch::index::{Dim, Divisor, count};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::norm::{FIRST, LAYER_NORM, LOG_SOFTMAX, RMS_NORM, SECOND, SOFTMAX, WRITE, key};
use crate::ops::reduce::reduce_rows;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{DType, ReduceOp, Result};

/// Lanes per thread, and the resulting threads per block; must match long.cuh, as must the part of
/// a row that a block writes.
const LONG_LANES: usize = 2;
const THREADS: usize = LANES / LONG_LANES;

impl<R: GpuRuntime> Call<'_, R> {
    /// # Safety
    /// Same as [`run`](Self::run).
    pub(super) unsafe fn run_long(&self, rows: &[Dim<3>]) -> Result<()> {
        // SAFETY: the caller promises what each pass requires.
        unsafe {
            match self.op {
                SOFTMAX | LOG_SOFTMAX => {
                    let largest = self.value(rows, SOFTMAX, FIRST, ReduceOp::Max, DevicePtr(0))?;
                    let sums = self.value(rows, SOFTMAX, SECOND, ReduceOp::Sum, largest.ptr())?;
                    self.write(rows, &[largest.ptr(), sums.ptr()])
                }
                RMS_NORM => {
                    let squares = self.value(rows, RMS_NORM, FIRST, ReduceOp::Sum, DevicePtr(0))?;
                    self.write(rows, &[squares.ptr()])
                }
                _ => {
                    let sums = self.value(rows, LAYER_NORM, FIRST, ReduceOp::Sum, DevicePtr(0))?;
                    let squares = self.value(rows, LAYER_NORM, SECOND, ReduceOp::Sum, sums.ptr())?;
                    self.write(rows, &[sums.ptr(), squares.ptr()])
                }
            }
        }
    }

    /// Computes one value per row, in the compute type. `found` is the result of an earlier pass,
    /// if the kernel takes it.
    ///
    /// # Safety
    /// Same as [`run`](Self::run). In addition, `found` must have a value for each row, unless it
    /// is not read.
    unsafe fn value(
        &self,
        rows: &[Dim<3>],
        op: usize,
        pass: u8,
        fold: ReduceOp,
        found: DevicePtr,
    ) -> Result<GpuStorage<R>> {
        let compute = if self.dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let segments = self.n.div_ceil(sizes::NORM_SEGMENT.limit(self.n));
        let items = count(rows) * segments;
        let values = self.device.alloc(items, compute)?;
        let mut norm = self.norm(rows, LONG_LANES);
        norm.parts = Divisor::new(segments);
        norm.team_shift = THREADS.ilog2();
        let launch = Launch::linear(key(op, self.dtype, pass), items as u32, THREADS as u32);
        // SAFETY: the caller promises valid source and `found`; there is space for the value of
        // every segment.
        unsafe { launch.on(self.device, args![self.src, found, values.ptr(), norm])? };
        if segments == 1 {
            return Ok(values);
        }
        let results = self.device.alloc(count(rows), compute)?;
        // SAFETY: both were allocated just above, with the required number of values.
        unsafe { reduce_rows(self.device, fold, compute, values.ptr(), results.ptr(), [count(rows), segments])? };
        Ok(results)
    }

    /// # Safety
    /// Same as [`run`](Self::run). In addition, each of `found` must have a value for each row.
    unsafe fn write(&self, rows: &[Dim<3>], found: &[DevicePtr]) -> Result<()> {
        // The statistics of a row are written by one block.
        let parts = if self.is_stats { 1 } else { self.n.div_ceil(sizes::NORM_PART.limit(self.n)) };
        let mut norm = self.norm(rows, LONG_LANES);
        norm.parts = Divisor::new(parts);
        norm.team_shift = THREADS.ilog2();
        // SAFETY: the caller promises what `run` requires, and that each of `found` has a value for
        // each row.
        unsafe { self.launch(key(self.op, self.dtype, WRITE), count(rows) * parts, THREADS, found, &norm) }
    }
}
