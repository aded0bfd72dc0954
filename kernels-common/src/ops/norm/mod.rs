//! Softmax and the norms over the last dimension: chooses the kernel for the length of a row, and
//! makes the layouts that kernels take.

mod long;

use crate::device::GpuDevice;
use crate::key::Key;
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count, push, split};
use crate::launch::{Arg, Launch, sizes};
use crate::manifest::instances::norm::{
    FIRST, LAYER_NORM, LOG_SOFTMAX, RMS_NORM, RowShape, SECOND, SKIP_LAYER_NORM, SOFTMAX, WRITE, key, shapes,
};
use crate::ops::copy::copy_walk;
use crate::ops::{binary, stored};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, BinaryOp, DType, LayerNorm, Layout, Op, Result, Src};
use smallvec::SmallVec;
use std::mem::offset_of;

/// The number of lanes in the order of sums.
const LANES: usize = 256;

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let dtype = dtypes[0];
    if matches!(op, Op::SkipLayerNorm { .. }) {
        let rows = (0..shapes(dtype).len() as u8).map(|variant| key(SKIP_LAYER_NORM, dtype, variant));
        let parts = [binary::keys(&ADD, dtypes), keys(&Op::LayerNorm(LayerNorm::new(0.0)), dtypes)].concat();
        return rows.chain(parts).collect();
    }
    let passes: &[(usize, u8)] = match number(op) {
        SOFTMAX | LOG_SOFTMAX => &[(SOFTMAX, FIRST), (SOFTMAX, SECOND)],
        RMS_NORM => &[(RMS_NORM, FIRST)],
        _ => &[(LAYER_NORM, FIRST), (LAYER_NORM, SECOND)],
    };
    let rows = (0..shapes(dtype).len() as u8).chain([WRITE]).map(|variant| key(number(op), dtype, variant));
    rows.chain(passes.iter().map(|&(op, variant)| key(op, dtype, variant))).collect()
}

/// Returns the number of an operation in keys.
fn number(op: &Op) -> usize {
    match op {
        Op::Softmax | Op::SafeSoftmax => SOFTMAX,
        Op::LogSoftmax => LOG_SOFTMAX,
        Op::RmsNorm { .. } => RMS_NORM,
        Op::LayerNorm(_) | Op::LayerNormStats { .. } => LAYER_NORM,
        Op::SkipLayerNorm { .. } => SKIP_LAYER_NORM,
        _ => unreachable!("not an operation of the family"),
    }
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let (src, src_layout) = stored(srcs, 0);
    let (&n, outer) = src_layout.dims().split_last().expect("validated to have a last dimension");
    let dtype = src.dtype();
    if let Op::SkipLayerNorm { eps } = op
        && fitting(dtype, n).is_none()
    {
        return in_three(*eps, srcs, dst, dst_layout);
    }
    let operands: SmallVec<[Adjacent<R>; 5]> =
        (0..srcs.len()).map(|i| Adjacent::source(stored(srcs, i))).collect::<Result<_>>()?;
    let to = Adjacent::destination(dst, dst_layout)?;
    let (of_rows, parameters) = operands.split_at(if matches!(op, Op::SkipLayerNorm { .. }) { 2 } else { 1 });
    let skip = of_rows.get(1);
    let mut rows = IndexDims::<3>::new();
    for (d, &size) in outer.iter().enumerate() {
        push(&mut rows, Dim { size, stride: [of_rows[0].strides[d], to.strides[d], skip.map_or(0, |s| s.strides[d])] });
    }
    let eps = match op {
        Op::RmsNorm { eps } | Op::LayerNormStats { eps } | Op::SkipLayerNorm { eps } => *eps,
        Op::LayerNorm(p) => p.eps,
        _ => 0.0,
    };
    let is_stats = matches!(op, Op::LayerNormStats { .. });
    let mut parameters: SmallVec<[DevicePtr; 3]> = parameters.iter().map(|p| p.ptr).collect();
    let absent = |is_absent: bool| is_absent.then_some(DevicePtr(0));
    match op {
        // The kernel takes a null pointer for what is absent.
        Op::LayerNorm(p) => {
            parameters.insert_many(0, absent(!p.has_weight));
            parameters.extend(absent(!p.has_bias));
        }
        Op::LayerNormStats { .. } => parameters.extend([DevicePtr(0); 2]),
        _ => {}
    }
    let call = Call {
        op: number(op),
        dtype,
        device: dst.device(),
        src: of_rows[0].ptr,
        dst: to.ptr,
        skip: skip.map(|skip| skip.ptr),
        parameters,
        is_stats,
        is_safe: *op == Op::SafeSoftmax,
        n,
        eps,
    };
    let at = |ptr: DevicePtr, dtype: DType, offset: usize| DevicePtr(ptr.0 + (offset * dtype.size_in_bytes()) as u64);
    let of_result = dst.dtype();
    split(&rows, call.most_rows(count(&rows)), [0; 3], &mut |rows, [src, dst, skip]| {
        let part = Call {
            src: at(call.src, dtype, src),
            dst: at(call.dst, of_result, dst),
            skip: call.skip.map(|ptr| at(ptr, dtype, skip)),
            parameters: call.parameters.clone(),
            ..call
        };
        // SAFETY: the layouts were validated against their buffers, and the destination is borrowed
        // mutably. If the elements of a row were not adjacent, the buffers are compact ones with
        // the same number of elements.
        unsafe { part.run(rows) }
    })?;
    to.copy_out(dst, dst_layout)
}

const ADD: Op = Op::Binary(BinaryOp::Add);

/// Computes a layer norm of sums by the three operations that it consists of, for rows that no
/// kernel holds in registers.
fn in_three<R: GpuRuntime>(
    eps: f64,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let [src, skip, weight, bias, src_bias] = [0, 1, 2, 3, 4].map(|i| stored(srcs, i));
    let all = Layout::contiguous(dst_layout.shape());
    let repeated = src_bias.1.broadcast_as(dst_layout.shape())?;
    let mut sum = dst.device().alloc(dst_layout.elem_count(), dst.dtype())?;
    binary::apply_into(&ADD, &[src.into(), (src_bias.0, &repeated).into()], &mut sum, &all)?;
    binary::apply_into(&ADD, &[Src::InPlace, skip.into()], &mut sum, &all)?;
    let norm = Op::LayerNorm(LayerNorm::new(eps));
    apply_into(&norm, &[(&sum, &all).into(), weight.into(), bias.into()], dst, dst_layout)
}

/// Returns the first kernel that holds rows of n elements in registers, and its variant.
fn fitting(dtype: DType, n: usize) -> Option<(u8, RowShape)> {
    let shapes = shapes(dtype);
    let longest = shapes.last().map_or(0, |s| s.elements * LANES);
    let most = sizes::NORM_ROW.limit_or(n, longest);
    let mut fitting = (0u8..).zip(shapes).filter(|(_, s)| n <= most && n <= s.elements * LANES);
    fitting.next().map(|(variant, &shape)| (variant, shape))
}

/// A tensor that is contiguous along its last dimension: the tensor itself, or a compact buffer in
/// its place.
struct Adjacent<R: GpuRuntime> {
    ptr: DevicePtr,
    strides: SmallVec<[usize; 6]>,
    compact: Option<GpuStorage<R>>,
}

impl<R: GpuRuntime> Adjacent<R> {
    fn new(storage: &GpuStorage<R>, layout: &Layout) -> Result<Self> {
        if matches!((layout.dims().last(), layout.stride().last()), (Some(1), _) | (_, Some(1))) {
            let ptr = storage.ptr().at(storage.dtype(), layout.start_offset());
            return Ok(Self { ptr, strides: layout.stride().into(), compact: None });
        }
        let compact = storage.device().alloc(layout.elem_count(), storage.dtype())?;
        let strides = Layout::contiguous(layout.shape()).stride().into();
        Ok(Self { ptr: compact.ptr(), strides, compact: Some(compact) })
    }

    fn source((storage, layout): (&GpuStorage<R>, &Layout)) -> Result<Self> {
        let this = Self::new(storage, layout)?;
        if let Some(compact) = &this.compact {
            let from = storage.ptr().at(storage.dtype(), layout.start_offset());
            let dims = walk(layout, layout.stride(), &this.strides);
            // SAFETY: the layout was validated against its buffer, and the compact buffer has the
            // same number of elements.
            unsafe { copy_walk(storage.device(), storage.dtype().size_in_bytes(), from, compact.ptr(), dims)? };
        }
        Ok(this)
    }

    fn destination(storage: &GpuStorage<R>, layout: &Layout) -> Result<Self> {
        Self::new(storage, layout)
    }

    /// Copies the results from the compact buffer, if there is one, to the destination.
    fn copy_out(&self, storage: &mut GpuStorage<R>, layout: &Layout) -> Result<()> {
        let Some(compact) = &self.compact else { return Ok(()) };
        let to = storage.ptr().at(storage.dtype(), layout.start_offset());
        let dims = walk(layout, &self.strides, layout.stride());
        // SAFETY: same as in `source`; the destination was validated not to overlap itself.
        unsafe { copy_walk(storage.device(), storage.dtype().size_in_bytes(), compact.ptr(), to, dims) }
    }
}

fn walk(layout: &Layout, from: &[usize], to: &[usize]) -> IndexDims<2> {
    (0..layout.dims().len()).map(|d| Dim { size: layout.dims()[d], stride: [from[d], to[d]] }).collect()
}

/// The layout of the kernels' `Norm`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Norm {
    n: u64,
    count: f64,
    eps: f64,
    end: [u32; 5],
    places: Index<3>,
    rows: u32,
    team_shift: u32,
    vectors: u32,
    parts: Divisor,
    safe: u64,
}

const _: () = assert!(size_of::<Norm>() == 376);
const _: () = assert!(offset_of!(Norm, count) == 8 && offset_of!(Norm, end) == 24);
const _: () = assert!(offset_of!(Norm, places) == 48 && offset_of!(Norm, rows) == 344);
const _: () = assert!(offset_of!(Norm, parts) == 356 && offset_of!(Norm, safe) == 368);

/// An operation on given tensors with contiguous rows.
struct Call<'a, R: GpuRuntime> {
    op: usize,
    dtype: DType,
    device: &'a GpuDevice<R>,
    src: DevicePtr,
    dst: DevicePtr,
    skip: Option<DevicePtr>,
    parameters: SmallVec<[DevicePtr; 3]>,
    /// Whether the destination takes the mean and the scale of each row, in the compute type.
    is_stats: bool,
    /// Whether the softmax of a row of -infinity is zeros.
    is_safe: bool,
    n: usize,
    eps: f64,
}

impl<R: GpuRuntime> Call<'_, R> {
    /// Returns the maximum number of rows in one launch, of so many rows.
    fn most_rows(&self, rows: usize) -> usize {
        // A row takes at most one thread per element, and a long row the threads of its parts.
        let threads = self.n.next_power_of_two();
        (sizes::NORM_THREADS.limit(threads.saturating_mul(rows)) / threads).max(1)
    }

    /// # Safety
    /// Rows of `n` elements must be allocated at these places of source, skip and destination, of
    /// which the last must not overlap the others, and so must be `n` elements of each parameter that
    /// is not null. A destination of statistics has rows of two.
    unsafe fn run(&self, rows: &[Dim<3>]) -> Result<()> {
        let Some((variant, shape)) = fitting(self.dtype, self.n) else {
            // SAFETY: the caller promises that rows of `n` elements are allocated at these places
            // of source and destination, which do not overlap, and that each parameter has `n`
            // elements.
            return unsafe { self.run_long(rows) };
        };
        let team = self.n.min(LANES).div_ceil(shape.lanes).next_power_of_two();
        // A row of one warp waits for no other if it is a block of its own.
        let warp = self.device.runtime().limits().warp_size as usize;
        let is_warp = shape.elements > 1 && LANES / shape.lanes <= warp;
        let block = if is_warp { shape.block.min(warp) } else { shape.block };
        let blocks = (count(rows) * team).div_ceil(block);
        let mut norm = self.norm(rows, shape.lanes);
        norm.team_shift = team.ilog2();
        // SAFETY: the caller promises valid rows, and the kernel accesses only the elements of
        // these rows.
        unsafe { self.launch(key(self.op, self.dtype, variant), blocks, block, &[], &norm) }
    }

    /// Returns the parameters of a kernel that moves vectors of `lanes` elements.
    fn norm(&self, rows: &[Dim<3>], lanes: usize) -> Norm {
        let rounded = |x: f64| if self.dtype == DType::F64 { x } else { f64::from(x as f32) };
        let count_of = if self.dtype == DType::F64 { self.n as f64 } else { f64::from(self.n as f32) };
        // Statistics are not written by vectors.
        let written = if self.is_stats { 0 } else { self.dst.0 };
        let bases = self.parameters.iter().chain(&self.skip).fold(self.src.0 | written, |all, p| all | p.0);
        let stride = |d: &Dim<3>| if self.is_stats { [d.stride[0], 0, 0] } else { d.stride };
        let steps = rows.iter().flat_map(stride).fold(self.n, |all, stride| all | stride);
        let whole = steps.is_multiple_of(lanes) && bases.is_multiple_of((lanes * self.dtype.size_in_bytes()) as u64);
        Norm {
            n: self.n as u64,
            count: count_of,
            eps: rounded(self.eps),
            end: [self.n as u32; 5],
            places: Index::new(rows),
            rows: count(rows) as u32,
            team_shift: 0,
            vectors: u32::from(whole),
            parts: Divisor::new(1),
            safe: u64::from(self.is_safe),
        }
    }

    /// Launches a kernel whose arguments are source, destination, the skip, parameters, for layer_norm
    /// the place of statistics, the results of earlier passes, and the `Norm`.
    ///
    /// # Safety
    /// Same as [`run`](Self::run). In addition, `found` must be what the kernel expects.
    unsafe fn launch(&self, key: Key, blocks: usize, threads: usize, found: &[DevicePtr], norm: &Norm) -> Result<()> {
        let pointers = [self.src, self.dst];
        let stats = (self.op == LAYER_NORM).then_some(if self.is_stats { self.dst } else { DevicePtr(0) });
        let inputs = pointers.iter().chain(&self.skip).chain(&self.parameters);
        let mut args: SmallVec<[Arg<'_>; 8]> = inputs.chain(&stats).chain(found).map(Arg::new).collect();
        args.push(Arg::new(norm));
        // SAFETY: the caller promises valid memory, and the arguments match the kernel.
        unsafe { Launch::linear(key, blocks as u32, threads as u32).on(self.device, &args) }
    }
}
