//! Reductions over sets of dimensions.

use crate::args;
use crate::device::GpuDevice;
use crate::key::Key;
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count, push, split};
use crate::launch::{Launch, sizes};
use crate::ops::copy::copy_walk;
use crate::ops::{positions, stored};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, ReduceOp, Result, Scalar, Src};

use crate::manifest::instances::reduce::{COLUMNS, ROWS, SECOND_PASS, key};
use std::mem::offset_of;

/// Lanes per segment.
const LANES: usize = 256;

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let Op::Reduce(reduce) = op else { return Vec::new() };
    let all = |op| [ROWS, COLUMNS, SECOND_PASS].map(|variant| key(op, dtypes[0], variant));
    let mut keys = positions::keys(op, dtypes[1]);
    if reduce.op == ReduceOp::LogSumExp {
        keys.extend(all(ReduceOp::Max));
    }
    keys.extend(all(reduce.op));
    keys
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let Op::Reduce(reduce) = op else { unreachable!("not an operation of the family") };
    let (src, src_layout) = stored(srcs, 0);
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    if src_layout.elem_count() == 0 {
        return dst.const_set(empty_value(reduce.op, dst.dtype()), dst_layout);
    }
    let words = positions::begin(op, dst, dst_layout)?;
    let mut sequence = IndexDims::<1>::new();
    let mut results = IndexDims::<2>::new();
    for (d, &size) in src_layout.dims().iter().enumerate() {
        let stride = src_layout.stride()[d];
        match reduce.dims.contains(&d) {
            true => push(&mut sequence, Dim { size, stride: [stride] }),
            false => results.push(Dim { size, stride: [stride, dst_layout.stride()[d] * words] }),
        }
    }
    let pass = Pass {
        op: reduce.op,
        correction: if matches!(reduce.op, ReduceOp::Var | ReduceOp::Std) { reduce.correction as usize } else { 0 },
        dtype: src.dtype(),
        device: dst.device(),
        src: src.ptr().at(src.dtype(), src_layout.start_offset()),
        dst: dst.ptr().at(dst.dtype(), dst_layout.start_offset()),
    };
    // SAFETY: both layouts were validated against their buffers, which are distinct, because one is
    // borrowed mutably.
    unsafe { pass.run(sequence, results) }
}

/// Reduces each of `rows` rows of `n` elements, which lie one after the other, to one value.
///
/// # Safety
/// The rows must be allocated, and so must a value for each row in the destination, which must not
/// overlap the rows.
pub(crate) unsafe fn reduce_rows<R: GpuRuntime>(
    device: &GpuDevice<R>,
    op: ReduceOp,
    dtype: DType,
    src: DevicePtr,
    dst: DevicePtr,
    [rows, n]: [usize; 2],
) -> Result<()> {
    let sequence = [Dim { size: n, stride: [1] }].into_iter().collect();
    let results = [Dim { size: rows, stride: [n, 1] }].into_iter().collect();
    // SAFETY: the caller promises that the rows are allocated, and a value for each of them in the
    // destination, which does not overlap them.
    unsafe { Pass { op, correction: 0, dtype, device, src, dst }.run(sequence, results) }
}

/// Returns the result of a reduction over no elements, for operations that have one.
fn empty_value(op: ReduceOp, dtype: DType) -> Scalar {
    let value = match op {
        ReduceOp::Prod | ReduceOp::All => 1.0,
        ReduceOp::Mean => f64::NAN,
        ReduceOp::Var | ReduceOp::Std => f64::NAN,
        ReduceOp::Min => f64::INFINITY,
        ReduceOp::Max | ReduceOp::LogSumExp => f64::NEG_INFINITY,
        _ => 0.0,
    };
    Scalar::from_f64(dtype, value)
}

/// Returns the lanes of a thread along sequences of elements of `size` bytes; must match reduce.cu.
const fn lanes_of(size: usize) -> usize {
    match size {
        1 => 8,
        2 | 8 => 2,
        _ => 4,
    }
}

/// The layout of the kernels' `Reduction`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Reduction {
    n: u64,
    count: f64,
    sequence: Index<1>,
    results: Index<2>,
    items: u32,
    segments: Divisor,
    team_shift: u32,
    vectors: u32,
    wide: u32,
    across_shift: u32,
    columns: u32,
    strips: Divisor,
    dst_column: u64,
}

const _: () = assert!(size_of::<Reduction>() == 472);
const _: () = assert!(offset_of!(Reduction, count) == 8 && offset_of!(Reduction, sequence) == 16);
const _: () = assert!(offset_of!(Reduction, results) == 184 && offset_of!(Reduction, items) == 416);
const _: () = assert!(offset_of!(Reduction, segments) == 420 && offset_of!(Reduction, team_shift) == 432);
const _: () = assert!(offset_of!(Reduction, strips) == 452 && offset_of!(Reduction, dst_column) == 464);

/// An operation on given tensors.
struct Pass<'a, R: GpuRuntime> {
    op: ReduceOp,
    /// What is subtracted from the count before anything is divided by it.
    correction: usize,
    dtype: DType,
    device: &'a GpuDevice<R>,
    src: DevicePtr,
    dst: DevicePtr,
}

impl<R: GpuRuntime> Pass<'_, R> {
    /// Returns the bytes of an accumulator.
    fn acc_size(&self) -> usize {
        let value = if self.dtype.size_in_bytes() == 8 { 8 } else { 4 };
        match self.op {
            ReduceOp::ArgMin | ReduceOp::ArgMax => 2 * value,
            ReduceOp::Var | ReduceOp::Std => 3 * value,
            ReduceOp::Any | ReduceOp::All => 4,
            _ => value,
        }
    }

    /// Returns the bytes that a kernel writes for a result.
    fn dst_size(&self) -> usize {
        self.op.result_dtype(self.dtype).size_in_bytes()
    }

    /// Reduces a sequence to each of the results, given as offsets in source and destination.
    /// Neither may be empty.
    ///
    /// # Safety
    /// Every element of these walks must be allocated.
    unsafe fn run(&self, sequence: IndexDims<1>, mut results: IndexDims<2>) -> Result<()> {
        let inner = sequence.iter().skip(1).map(|d| d.size).max().unwrap_or(0);
        if sizes::REDUCE_RANK.is_exceeded(sequence.len()) || sizes::REDUCE_DIM.is_exceeded(inner) {
            // SAFETY: the caller promises that every element of the walks is allocated.
            return unsafe { self.run_compacted(&sequence, &results) };
        }
        // The order of the results does not matter: neighbours in the source come last.
        results.sort_by_key(|d| (d.stride[0] != 0, std::cmp::Reverse(d.stride)));
        let mut merged = IndexDims::new();
        results.into_iter().for_each(|d| push(&mut merged, d));
        let n = count(&sequence);
        let segments = n.div_ceil(sizes::REDUCE_SEGMENT.limit(n));
        let most = sizes::REDUCE_ITEMS.limit(segments.saturating_mul(count(&merged)));
        let most = (most / segments).max(1);
        split(&merged, most, [0, 0], &mut |results, [src, dst]| {
            let part = Pass {
                src: self.src.at(self.dtype, src),
                dst: DevicePtr(self.dst.0 + (dst * self.dst_size()) as u64),
                ..*self
            };
            // SAFETY: this is a part of the walks; the caller promises that every element is
            // allocated.
            unsafe { part.first(&sequence, results, n, segments) }
        })
    }

    /// Does the same after a copy in which every sequence is contiguous: for walks with more
    /// dimensions than a kernel takes.
    ///
    /// # Safety
    /// Same as [`run`](Self::run).
    unsafe fn run_compacted(&self, sequence: &[Dim<1>], results: &[Dim<2>]) -> Result<()> {
        let n = count(sequence);
        let compact = self.device.alloc(n * count(results), self.dtype)?;
        let mut step = 1;
        let mut place = |size| {
            step *= size;
            step / size
        };
        let mut dims: IndexDims<2> = IndexDims::new();
        dims.extend(sequence.iter().rev().map(|d| Dim { size: d.size, stride: [d.stride[0], place(d.size)] }));
        let runs: IndexDims<2> =
            results.iter().rev().map(|d| Dim { size: d.size, stride: [place(d.size), d.stride[1]] }).collect();
        dims.extend(
            results.iter().rev().zip(&runs).map(|(d, r)| Dim { size: d.size, stride: [d.stride[0], r.stride[0]] }),
        );
        // SAFETY: the caller promises a valid source; the copy has as many elements as the walk.
        unsafe { copy_walk(self.device, self.dtype.size_in_bytes(), self.src, compact.ptr(), dims)? };
        let pass = Pass { src: compact.ptr(), ..*self };
        // SAFETY: the copy has the size of the walk, and the caller promises a valid destination.
        // The copy returns to the pool afterwards, which reuses it in stream order.
        unsafe { pass.run([Dim { size: n, stride: [1] }].into_iter().collect(), runs) }
    }

    /// Runs the pass over the elements, and the passes over the values of segments.
    ///
    /// # Safety
    /// Same as [`run`](Self::run).
    unsafe fn first(&self, sequence: &[Dim<1>], results: &[Dim<2>], n: usize, segments: usize) -> Result<()> {
        let size = self.dtype.size_in_bytes();
        let columns = results.last().filter(|d| d.stride[0] == 1 && sequence.last().is_none_or(|s| s.stride[0] != 1));
        let values = self.values(count(results), segments)?;
        let mut reduction = self.reduction(sequence, n, segments);
        let aligned = |rest: &[Dim<2>]| {
            let steps = rest.iter().fold(0, |all, d| all | d.stride[0]);
            (self.src.0 | (steps * size) as u64).is_multiple_of(16)
        };
        let (variant, blocks, threads) = match columns {
            Some(column) => {
                let outer = &results[..results.len() - 1];
                let v = (16 / size).min(8);
                let team = n.div_ceil(4).next_power_of_two().min(64);
                let across = column.size.div_ceil(v).next_power_of_two().min(512 / team);
                let strips = column.size.div_ceil(across * v);
                let items = count(outer) * segments;
                let steps = sequence.iter().fold(column.size, |all, d| all | d.stride[0]);
                reduction.results = Index::new(outer);
                reduction.items = items as u32;
                reduction.team_shift = team.ilog2();
                reduction.across_shift = across.ilog2();
                reduction.vectors = u32::from(aligned(outer) && steps.is_multiple_of(v));
                reduction.columns = column.size as u32;
                reduction.strips = Divisor::new(strips);
                reduction.dst_column = column.stride[1] as u64;
                (COLUMNS, items * strips, across * team)
            }
            None => {
                let lanes = self.lanes();
                let is_whole = match sequence {
                    [Dim { stride: [1], .. }] => true,
                    [outer, Dim { size, stride: [1] }] => {
                        reduction.wide == 0 && (outer.stride[0] | size).is_multiple_of(lanes)
                    }
                    _ => false,
                };
                reduction.vectors = u32::from(is_whole && aligned(results));
                let (blocks, threads) = self.rows(&mut reduction, results, n, segments, lanes);
                (ROWS, blocks, threads)
            }
        };
        if self.op == ReduceOp::LogSumExp && (variant != ROWS || segments > 1) {
            // The sum of powers finds the maxima where its results go.
            let largest = Pass { op: ReduceOp::Max, ..*self };
            // SAFETY: the caller promises what `run` requires.
            unsafe { largest.first(sequence, results, n, segments)? };
        }
        let key = key(self.op, self.dtype, variant);
        let to = values.as_ref().map_or(DevicePtr(0), GpuStorage::ptr);
        let launch = Launch::linear(key, blocks as u32, threads as u32);
        // SAFETY: the caller promises valid source and destination, and there is space for the
        // value of every segment.
        unsafe { launch.on(self.device, args![self.src, self.dst, to, reduction])? };
        match values {
            // SAFETY: the caller promises what `run` requires.
            Some(values) => unsafe { self.again(values, results, n, segments) },
            None => Ok(()),
        }
    }

    /// Reduces the segment values of each result, until there is one segment.
    ///
    /// # Safety
    /// Same as [`run`](Self::run); `values` must hold `segments` values per result.
    unsafe fn again(
        &self,
        mut values: GpuStorage<R>,
        results: &[Dim<2>],
        all: usize,
        mut segments: usize,
    ) -> Result<()> {
        loop {
            let n = segments;
            segments = n.div_ceil(sizes::REDUCE_SEGMENTS.limit(n));
            let mut step = n;
            let mut runs: IndexDims<2> = results.into();
            for d in runs.iter_mut().rev() {
                d.stride[0] = step;
                step *= d.size;
            }
            let next = self.values(count(results), segments)?;
            let mut reduction = self.reduction(&[Dim { size: n, stride: [1] }], n, segments);
            reduction.count = self.divisor(all);
            let size = self.acc_size();
            let whole = count(results) == 1 || (n * size).is_multiple_of(16);
            reduction.vectors = u32::from(size <= 8 && whole && values.ptr().0.is_multiple_of(16));
            let (blocks, threads) = self.rows(&mut reduction, &runs, n, segments, lanes_of(size));
            let to = next.as_ref().map_or(DevicePtr(0), GpuStorage::ptr);
            let launch = Launch::linear(key(self.op, self.dtype, SECOND_PASS), blocks as u32, threads as u32);
            // SAFETY: the caller promises a valid destination, and each pass has as many values as
            // the previous one has segments.
            unsafe { launch.on(self.device, args![values.ptr(), self.dst, to, reduction])? };
            match next {
                Some(next) => values = next,
                None => return Ok(()),
            }
        }
    }

    /// Allocates memory for the segment values if a result has more than one segment.
    fn values(&self, results: usize, segments: usize) -> Result<Option<GpuStorage<R>>> {
        let bytes = results * segments * self.acc_size();
        (segments > 1).then(|| self.device.alloc(bytes, DType::U8)).transpose()
    }

    /// Returns the divisor of a mean or a variance, rounded to the compute type.
    fn divisor(&self, n: usize) -> f64 {
        let n = n.saturating_sub(self.correction);
        if self.dtype == DType::F64 { n as f64 } else { f64::from(n as f32) }
    }

    fn reduction(&self, sequence: &[Dim<1>], n: usize, segments: usize) -> Reduction {
        Reduction {
            n: n as u64,
            count: self.divisor(n),
            sequence: Index::new(sequence),
            results: Index::new(&[]),
            items: 0,
            segments: Divisor::new(segments),
            team_shift: 0,
            vectors: 0,
            wide: u32::from(sizes::REDUCE_WIDE.is_reached(n)),
            across_shift: 0,
            columns: 0,
            strips: Divisor::new(1),
            dst_column: 0,
        }
    }

    /// Returns the lanes of a thread along the sequences.
    fn lanes(&self) -> usize {
        match (self.op, self.dtype.size_in_bytes()) {
            (ReduceOp::LogSumExp, 4) => 2,
            (_, size) => lanes_of(size),
        }
    }

    /// Completes the parameters for threads along the sequences with so many lanes each.
    /// Returns the number of blocks and the threads per block.
    fn rows(
        &self,
        reduction: &mut Reduction,
        results: &[Dim<2>],
        n: usize,
        segments: usize,
        lanes: usize,
    ) -> (usize, usize) {
        let team = n.min(LANES).div_ceil(lanes).next_power_of_two();
        let items = count(results) * segments;
        // Uses the largest blocks that still give every multiprocessor a few.
        let enough = self.device.runtime().limits().multiprocessors as usize * 4;
        let mut threads = LANES;
        while threads > team.max(64) && !sizes::REDUCE_ENOUGH.is_reached_or(items * team / threads, enough) {
            threads /= 2;
        }
        reduction.results = Index::new(results);
        reduction.items = items as u32;
        reduction.team_shift = team.ilog2();
        ((items * team).div_ceil(threads), threads)
    }
}
