//! Elements of windows, added to their places in an image.

use super::{Channels, Windows, key, over_three};
use crate::args;
use crate::launch::element_walk::{dims, parts};
use crate::launch::index::{Divisor, gcd};
use crate::manifest::instances::pooling::ANY;
use crate::ops::channels::groups;
use crate::ops::stored;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, Dims, Layout, Op, PoolBackward, Result, Src};
use std::mem::offset_of;

/// The layout of the kernels' `Columns`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Columns {
    windows: Windows,
    counts: [u64; 3],
    place_step: [u64; 3],
    period: [u64; 3],
    place_period: [u64; 3],
    advance: [i64; 3],
    narrow_stride: [Divisor; 3],
    narrow_period: [Divisor; 3],
    narrow_place_period: [Divisor; 3],
}

const _: () = assert!(size_of::<Columns>() == 528);
const _: () = assert!(offset_of!(Columns, advance) == 392 && offset_of!(Columns, narrow_place_period) == 488);

pub(super) fn apply_into<R: GpuRuntime>(
    op: &Op,
    image: &PoolBackward,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let (src, layout) = stored(srcs, 0);
    let (dtype, spatial) = (dst.dtype(), dst_layout.dims().len() - 2);
    let (pool, size) = (image.over_three(), over_three(dst_layout.dims(), 1));
    let counts = pool.counts(size).expect("validated windows");
    let [image_step, place, window] = [0, 1, 2].map(|d| layout.stride()[d]);
    let steps = |step: usize, [_, h, w]: [usize; 3]| [step * h * w, step * w, step];
    let (window_step, place_step) = (steps(window, counts), steps(place, pool.kernel));
    let channel_step = place * pool.kernel.iter().product::<usize>();
    let windows = Windows::new(op, dtype, size, counts, window_step);
    let each = |of: &dyn Fn(usize) -> usize| -> [usize; 3] { std::array::from_fn(of) };
    let common = each(&|d| gcd(pool.stride[d], pool.dilation[d]));
    let (apart, places_apart) = (each(&|d| pool.dilation[d] / common[d]), each(&|d| pool.stride[d] / common[d]));
    // Steps larger than all there is lead nowhere, and would overflow.
    let stride = each(&|d| pool.stride[d].min(size[d] + pool.padding_before[d]));
    let period = each(&|d| apart[d].min(counts[d]));
    let place_period = each(&|d| places_apart[d].min(pool.kernel[d]));
    let advance =
        |d: usize| ((place_period[d] * place_step[d]) as i64).wrapping_sub((period[d] * window_step[d]) as i64);
    let all = |values: [usize; 3]| values.map(|value| value as u64);
    let columns = Columns {
        windows: if spatial == 3 { windows.with_rows(size[1]) } else { windows },
        counts: all(counts),
        place_step: all(place_step),
        period: all(period),
        place_period: all(place_period),
        advance: [0, 1, 2].map(advance),
        narrow_stride: stride.map(Divisor::new),
        narrow_period: period.map(Divisor::new),
        narrow_place_period: place_period.map(Divisor::new),
    };
    let from = src.ptr().at(dtype, layout.start_offset());
    let to = dst.ptr().at(dtype, dst_layout.start_offset());
    let mut planes: Dims = dst_layout.dims().into();
    planes.fill(0);
    (planes[0], planes[1]) = (image_step, channel_step);
    let step = dst_layout.stride()[1];
    for group in groups(dst_layout) {
        let dims = dims(&planes, &dst_layout.narrow(1, 0, group.count)?, spatial, 1);
        let (from, to) = (from.at(dtype, group.first * channel_step), to.at(dtype, group.first * step));
        let channels = Channels::new(group, step, [channel_step, 0]);
        parts(dst.device(), key(op, dtype, ANY), &dims, |part| {
            let (from, to) = (from.at(dtype, part.src), to.at(dtype, part.dst));
            // SAFETY: both layouts were validated against their buffers; the kernel reads elements
            // of windows that exist.
            unsafe { part.launch.on(dst.device(), args![from, to, part.walk, columns, channels]) }
        })?;
    }
    Ok(())
}
