//! Norms of `[n, c, ..]` that need no sums over a row. A walk has the channel of each element as a
//! third operand, so one launch covers any layout; where neighbours are adjacent, a thread has
//! several.

use super::{Adjacent, RowsOf};
use crate::args;
use crate::launch::index::{Dim, Index, IndexDims, count, push, split};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::norm::{ANY, BATCH_NORM, LANES, LOCAL_RESPONSE_NORM, channel_lanes, key};
use crate::ops::stored;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, BatchNorm, DType, Layout, LocalResponseNorm, Result, Src};
use smallvec::SmallVec;
use std::mem::offset_of;

/// Must match elementwise.cuh.
const BLOCK: u32 = 256;

/// The layout of the kernels' `Channels`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Channels {
    units: u32,
    lane_step: u32,
    places: Index<3>,
}

const _: () = assert!(size_of::<Channels>() == 304);
const _: () = assert!(offset_of!(Channels, lane_step) == 4 && offset_of!(Channels, places) == 8);

/// The layout of the kernels' `Window`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Window {
    factor: f64,
    k: f64,
    power: f64,
    first: u64,
    channels: u64,
    before: u64,
    after: u64,
    step: u64,
}

const _: () = assert!(size_of::<Window>() == 64);
const _: () = assert!(offset_of!(Window, first) == 24 && offset_of!(Window, before) == 40);

/// Rounds a parameter to the compute type of a dtype.
fn rounded(dtype: DType, x: f64) -> f64 {
    if dtype == DType::F64 { x } else { f64::from(x as f32) }
}

/// A walk over source, destination and channel.
struct Walk {
    src: DevicePtr,
    dst: DevicePtr,
    dims: IndexDims<3>,
    lanes: usize,
    lane_step: usize,
}

impl Walk {
    /// Makes the walk with the most elements per thread that the layouts allow. With `one_channel`,
    /// a thread's elements belong to one channel.
    fn new<R: GpuRuntime>(
        (src, src_layout): (&GpuStorage<R>, &Layout),
        dst: &GpuStorage<R>,
        dst_layout: &Layout,
        one_channel: bool,
    ) -> Self {
        let dtype = dst.dtype();
        let mut dims = IndexDims::<3>::new();
        for (d, &size) in dst_layout.dims().iter().enumerate() {
            push(
                &mut dims,
                Dim { size, stride: [src_layout.stride()[d], dst_layout.stride()[d], usize::from(d == 1)] },
            );
        }
        let [src, dst] = [(src, src_layout), (dst, dst_layout)].map(|(s, l)| s.ptr().at(dtype, l.start_offset()));
        let lanes = channel_lanes(dtype.size_in_bytes());
        let mut walk = Self { src, dst, dims, lanes: 1, lane_step: 0 };
        let Some((inner, outer)) = walk.dims.split_last_mut() else { return walk };
        let steps = outer.iter().fold(inner.size, |all, d| all | d.stride[0] | d.stride[1]);
        let is_aligned = (src.0 | dst.0).is_multiple_of((lanes * dtype.size_in_bytes()) as u64);
        let [1, 1, lane_step] = inner.stride else { return walk };
        if is_aligned && steps.is_multiple_of(lanes) && !(one_channel && lane_step != 0) {
            *inner = Dim { size: inner.size / lanes, stride: inner.stride.map(|s| s * lanes) };
            (walk.lanes, walk.lane_step) = (lanes, lane_step);
        }
        walk
    }

    fn variant(&self) -> u8 {
        if self.lanes == 1 { ANY } else { LANES }
    }

    /// Calls `f` with the source, the destination, the first channel and the walk of each launch.
    fn parts(
        &self,
        dtype: DType,
        mut f: impl FnMut(DevicePtr, DevicePtr, usize, Channels) -> Result<()>,
    ) -> Result<()> {
        let most = sizes::NORM_CHANNELS.limit(count(&self.dims));
        split(&self.dims, most, [0; 3], &mut |dims, [src, dst, first]| {
            let (units, lane_step) = (count(dims) as u32, self.lane_step as u32);
            f(
                self.src.at(dtype, src),
                self.dst.at(dtype, dst),
                first,
                Channels { units, lane_step, places: Index::new(dims) },
            )
        })
    }
}

pub(super) fn batch_norm<R: GpuRuntime>(
    op: BatchNorm,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let (dtype, device) = (dst.dtype(), dst.device());
    let operands: SmallVec<[Adjacent<R>; 4]> =
        (1..srcs.len()).map(|i| Adjacent::source(stored(srcs, i), RowsOf::Last)).collect::<Result<_>>()?;
    let given = |i: usize| operands[i].ptr;
    let weight = op.has_weight.then(|| given(2));
    let bias = op.has_bias.then(|| given(operands.len() - 1));
    let walk = Walk::new(stored(srcs, 0), dst, dst_layout, false);
    let key = key(BATCH_NORM, dtype, walk.variant());
    walk.parts(dtype, |from, to, first, channels| {
        let [mean, variance] = [0, 1].map(|i| given(i).at(dtype.compute(), first));
        // The kernel takes a null pointer for what is absent.
        let [weight, bias] = [weight, bias].map(|p| p.map_or(DevicePtr(0), |p| p.at(dtype, first)));
        let launch = Launch::linear(key, channels.units.div_ceil(BLOCK), BLOCK);
        let eps = rounded(dtype, op.eps);
        // SAFETY: the layouts were validated against their buffers, and each parameter has an
        // element for each channel; the destination is borrowed mutably.
        unsafe { launch.on(device, args![from, to, mean, variance, weight, bias, eps, channels]) }
    })
}

pub(super) fn local_response_norm<R: GpuRuntime>(
    op: LocalResponseNorm,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let (dtype, device) = (dst.dtype(), dst.device());
    let (src, src_layout) = stored(srcs, 0);
    let walk = Walk::new((src, src_layout), dst, dst_layout, true);
    let key = key(LOCAL_RESPONSE_NORM, dtype, walk.variant());
    walk.parts(dtype, |from, to, first, channels| {
        let window = Window {
            factor: rounded(dtype, op.alpha / op.size() as f64),
            k: rounded(dtype, op.k),
            power: rounded(dtype, -op.beta),
            first: first as u64,
            channels: src_layout.dims()[1] as u64,
            before: op.before as u64,
            after: op.after as u64,
            step: src_layout.stride()[1] as u64,
        };
        let launch = Launch::linear(key, channels.units.div_ceil(BLOCK), BLOCK);
        // SAFETY: same as in `batch_norm`; a window is clipped to the channels of the source.
        unsafe { launch.on(device, args![from, to, window, channels]) }
    })
}
