//! Softmax and the norms of rows: chooses the kernel for the length of a row, and makes the layouts
//! that kernels take.

mod channels;
mod long;

use crate::device::GpuDevice;
use crate::key::Key;
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count, push, split};
use crate::launch::{Arg, Launch, sizes};
use crate::manifest::instances::norm::{
    ANY, BATCH_NORM, FIRST, GROUP_NORM, LANES as LANES_OF_CHANNELS, LAYER_NORM, LOCAL_RESPONSE_NORM, LOG_SOFTMAX,
    RMS_NORM, RowShape, SECOND, SKIP_LAYER_NORM, SOFTMAX, WRITE, key, shapes,
};
use crate::ops::copy::copy_walk;
use crate::ops::{binary, stored};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, BinaryOp, DType, Dims, LayerNorm, Layout, Op, Result, Src};
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
        op @ (BATCH_NORM | LOCAL_RESPONSE_NORM) => {
            return [ANY, LANES_OF_CHANNELS].map(|variant| key(op, dtype, variant)).into();
        }
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
        Op::GroupNorm(_) => GROUP_NORM,
        Op::BatchNorm(_) => BATCH_NORM,
        Op::LocalResponseNorm(_) => LOCAL_RESPONSE_NORM,
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
    match op {
        Op::BatchNorm(p) => return channels::batch_norm(*p, srcs, dst, dst_layout),
        Op::LocalResponseNorm(p) => return channels::local_response_norm(*p, srcs, dst, dst_layout),
        _ => {}
    }
    let (rows_of, dtype): (RowsOf, _) = (RowsOf::new(op, src_layout), src.dtype());
    let n = rows_of.length(src_layout);
    if let Op::SkipLayerNorm { eps } = op
        && fitting(dtype, n).is_none()
    {
        return in_three(*eps, srcs, dst, dst_layout);
    }
    let is_skip = matches!(op, Op::SkipLayerNorm { .. });
    let of_rows_count = if is_skip { 2 } else { 1 };
    let operands: SmallVec<[Adjacent<R>; 5]> = (0..srcs.len())
        .map(|i| Adjacent::source(stored(srcs, i), if i < of_rows_count { rows_of } else { RowsOf::Last }))
        .collect::<Result<_>>()?;
    let to = Adjacent::new(dst, dst_layout, rows_of)?;
    let (of_rows, parameters) = operands.split_at(of_rows_count);
    let skip = of_rows.get(1);
    let mut rows = IndexDims::<3>::new();
    for (d, size) in rows_of.outer(src_layout).into_iter().enumerate() {
        let third = match rows_of {
            RowsOf::Group(group) if d == 1 => group.channels,
            _ => skip.map_or(0, |s| s.strides[d]),
        };
        push(&mut rows, Dim { size, stride: [of_rows[0].strides[d], to.strides[d], third] });
    }
    let eps = match op {
        Op::RmsNorm { eps } | Op::LayerNormStats { eps } | Op::SkipLayerNorm { eps } => *eps,
        Op::LayerNorm(p) => p.eps,
        Op::GroupNorm(p) => p.eps,
        _ => 0.0,
    };
    let is_stats = matches!(op, Op::LayerNormStats { .. });
    let mut parameters: SmallVec<[DevicePtr; 3]> = parameters.iter().map(|p| p.ptr).collect();
    let absent = |is_absent: bool| is_absent.then_some(DevicePtr(0));
    let present = match op {
        Op::LayerNorm(p) => [p.has_weight, p.has_bias],
        Op::GroupNorm(p) => [p.has_weight, p.has_bias],
        Op::LayerNormStats { .. } => [false; 2],
        _ => [true; 2],
    };
    // The kernel takes a null pointer for what is absent.
    parameters.insert_many(0, absent(!present[0]));
    parameters.extend(absent(!present[1]));
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
        spatial: rows_of.spatial(),
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
            parameters: match call.spatial {
                Some(_) => call.parameters.iter().map(|&p| if p.0 == 0 { p } else { at(p, dtype, skip) }).collect(),
                None => call.parameters.clone(),
            },
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

/// What the rows of an operation are.
#[derive(Debug, Clone, Copy)]
enum RowsOf {
    /// The elements of the last dimension.
    Last,
    /// The channels of each group of `[n, c, ..]`.
    Group(Group),
}

/// How many groups of channels there are, the channels of each and the elements of a channel.
#[derive(Debug, Clone, Copy)]
struct Group {
    groups: usize,
    channels: usize,
    spatial: usize,
}

impl RowsOf {
    fn new(op: &Op, layout: &Layout) -> Self {
        let Op::GroupNorm(p) = op else { return Self::Last };
        let (channels, spatial) = (layout.dims()[1] / p.groups, layout.dims()[2..].iter().product());
        Self::Group(Group { groups: p.groups, channels, spatial })
    }

    /// Returns the elements of a row.
    fn length(self, layout: &Layout) -> usize {
        match self {
            Self::Last => *layout.dims().last().expect("validated to have a last dimension"),
            Self::Group(group) => group.channels * group.spatial,
        }
    }

    /// Returns the elements of a channel, if rows are of channels.
    fn spatial(self) -> Option<usize> {
        if let Self::Group(group) = self { Some(group.spatial) } else { None }
    }

    /// Returns the sizes of the dimensions over rows.
    fn outer(self, layout: &Layout) -> Dims {
        match self {
            Self::Last => layout.dims()[..layout.dims().len() - 1].into(),
            Self::Group(group) => [layout.dims()[0], group.groups][..].into(),
        }
    }

    /// Returns the strides of these dimensions, if the elements of each row are adjacent.
    fn strides(self, layout: &Layout) -> Option<Dims> {
        let (dims, strides) = (layout.dims(), layout.stride());
        let Self::Group(group) = self else {
            let is_adjacent = matches!((dims.last(), strides.last()), (Some(1), _) | (_, Some(1)));
            return is_adjacent.then(|| strides[..dims.len() - 1].into());
        };
        let mut in_row: Dims = dims[1..].into();
        in_row[0] = group.channels;
        let mut run = 1;
        for (&size, &stride) in in_row.iter().zip(&strides[1..]).rev() {
            if size != 1 && stride != run {
                return None;
            }
            run *= size;
        }
        Some([strides[0], strides[1] * group.channels][..].into())
    }
}

/// A tensor of which the elements of each row are adjacent: the tensor itself, or a compact buffer
/// in its place.
struct Adjacent<R: GpuRuntime> {
    ptr: DevicePtr,
    /// The strides of the dimensions over rows.
    strides: Dims,
    compact: Option<GpuStorage<R>>,
}

impl<R: GpuRuntime> Adjacent<R> {
    fn new(storage: &GpuStorage<R>, layout: &Layout, rows: RowsOf) -> Result<Self> {
        if let Some(strides) = rows.strides(layout) {
            let ptr = storage.ptr().at(storage.dtype(), layout.start_offset());
            return Ok(Self { ptr, strides, compact: None });
        }
        let compact = storage.device().alloc(layout.elem_count(), storage.dtype())?;
        let strides = rows.strides(&Layout::contiguous(layout.shape())).expect("without gaps, elements are adjacent");
        Ok(Self { ptr: compact.ptr(), strides, compact: Some(compact) })
    }

    fn source((storage, layout): (&GpuStorage<R>, &Layout), rows: RowsOf) -> Result<Self> {
        let this = Self::new(storage, layout, rows)?;
        if let Some(compact) = &this.compact {
            let from = storage.ptr().at(storage.dtype(), layout.start_offset());
            let dims = walk(layout, layout.stride(), Layout::contiguous(layout.shape()).stride());
            // SAFETY: the layout was validated against its buffer, and the compact buffer has the
            // same number of elements.
            unsafe { copy_walk(storage.device(), storage.dtype().size_in_bytes(), from, compact.ptr(), dims)? };
        }
        Ok(this)
    }

    /// Copies the results from the compact buffer, if there is one, to the destination.
    fn copy_out(&self, storage: &mut GpuStorage<R>, layout: &Layout) -> Result<()> {
        let Some(compact) = &self.compact else { return Ok(()) };
        let to = storage.ptr().at(storage.dtype(), layout.start_offset());
        let dims = walk(layout, Layout::contiguous(layout.shape()).stride(), layout.stride());
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
    safe: u32,
    channel: Divisor,
    spatial: u64,
}

const _: () = assert!(size_of::<Norm>() == 392);
const _: () = assert!(offset_of!(Norm, count) == 8 && offset_of!(Norm, end) == 24);
const _: () = assert!(offset_of!(Norm, places) == 48 && offset_of!(Norm, rows) == 344);
const _: () = assert!(offset_of!(Norm, parts) == 356 && offset_of!(Norm, safe) == 368);
const _: () = assert!(offset_of!(Norm, channel) == 372 && offset_of!(Norm, spatial) == 384);

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
    /// The elements of a channel, if rows are of channels. The parameters then have one element for
    /// each channel, the third operand of rows is their first channel.
    spatial: Option<usize>,
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
    /// which the last must not overlap the others, and so must be `n` elements of each parameter
    /// that is not null, or one for each channel if rows are of channels. A destination of
    /// statistics has rows of two.
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
        // Nor are parameters of channels read by them.
        let is_of_channels = self.spatial.is_some();
        let parameters = if is_of_channels { &[] } else { &self.parameters[..] };
        let bases = parameters.iter().chain(&self.skip).fold(self.src.0 | written, |all, p| all | p.0);
        let stride = |d: &Dim<3>| match d.stride {
            [src, ..] if self.is_stats => [src, 0, 0],
            [src, dst, _] if is_of_channels => [src, dst, 0],
            all => all,
        };
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
            safe: u32::from(self.is_safe),
            // Rows in registers and parts of long ones have fewer elements.
            channel: Divisor::new(self.spatial.map_or(1, |n| n.min(Divisor::MOST))),
            spatial: self.spatial.unwrap_or(1) as u64,
        }
    }

    /// Launches a kernel whose arguments are source, destination, the skip, parameters, for
    /// layer_norm the place of statistics, the results of earlier passes, and the `Norm`.
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
