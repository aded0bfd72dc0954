//! The way back through pools.

use super::{Channels, Windows, over_three, windows_of};
use crate::args;
use crate::key::{Family, Key};
use crate::launch::element_walk::{dims, parts};
use crate::launch::index::{Divisor, gcd};
use crate::launch::sizes;
use crate::manifest::instances::pooling::{ANY, AVERAGE_BACKWARD, MAX_BACKWARD, OWN_SHARE, SHARE};
use crate::ops::channels::groups;
use crate::ops::stored;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Dims, Layout, Op, Result, Src};
use std::mem::offset_of;

/// Whether the operation is a way back.
pub(super) fn applies_to(op: &Op) -> bool {
    takes_positions(op) || matches!(op, Op::AvgPoolBackward(_) | Op::AdaptiveAvgPoolBackward(_))
}

fn takes_positions(op: &Op) -> bool {
    matches!(op, Op::MaxPoolBackward(_) | Op::AdaptiveMaxPoolBackward(_))
}

/// Returns the kernels that a way back may launch.
pub(super) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    if takes_positions(op) {
        return vec![Key::new(Family::Pooling, MAX_BACKWARD, &dtypes[..2], ANY)];
    }
    let average = |variant| Key::new(Family::Pooling, AVERAGE_BACKWARD, &dtypes[..1], variant);
    [SHARE, OWN_SHARE].map(average).into()
}

/// Neighbours in a row that a thread has; must match backward.cu.
const NEIGHBOURS: usize = 2;

/// The layout of the kernels' `Gradients`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Gradients {
    windows: Windows,
    counts: [u64; 3],
    factor: [u64; 3],
    ahead: [u64; 3],
    divisor: [u64; 3],
    reach: [u64; 3],
    narrow_divisor: [Divisor; 3],
    narrow_channels: Divisor,
    place_step: [u64; 3],
    plane_step: [u64; 2],
    place_plane_step: [u64; 2],
    channels: u64,
    column_step: u64,
    period: [u32; 3],
    stores_groups: u32,
}

const _: () = assert!(size_of::<Gradients>() == 552);
const _: () = assert!(offset_of!(Gradients, place_step) == 464 && offset_of!(Gradients, channels) == 520);

pub(super) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let (gradient, layout) = stored(srcs, 0);
    let (places, place_layout) = stored(srcs, srcs.len() - 1);
    let (dtype, spatial) = (dst.dtype(), dst_layout.dims().len() - 2);
    let (size, counts) = (over_three(dst_layout.dims(), 1), over_three(layout.dims(), 1));
    let (pool, sharing) = windows_of(op, size, counts);
    let mut windows = Windows::new(op, dtype, size, counts, over_three(layout.stride(), 0));
    let is_adaptive = sharing != [0; 3];
    let each = |of: &dyn Fn(usize) -> usize| -> [usize; 3] { std::array::from_fn(of) };
    let factor = each(&|d| if is_adaptive { counts[d] } else { 1 });
    let ahead = each(&|d| if is_adaptive { counts[d] - 1 } else { pool.padding_before[d] });
    // A larger stride than there are positions has one window, and would overflow.
    let most = |d: usize| size[d] + pool.padding_before[d];
    let divisor = each(&|d| if is_adaptive { size[d] } else { pool.stride[d].min(most(d)) });
    let reach = each(&|d| match is_adaptive {
        true => counts[d] - 1 + size[d],
        false => (pool.kernel[d] - 1) * pool.dilation[d] + 1,
    });
    let (images, channels) = (dst_layout.dims()[0], dst_layout.dims()[1]);
    let dividend = |d: usize| (size[d] - 1) * factor[d] + ahead[d] + divisor[d];
    let largest = (0..3).map(dividend).fold(images * channels, usize::max);
    let all = |values: [usize; 3]| values.map(|value| value as u64);
    let plane = |layout: &Layout| [layout.stride()[0] as u64, layout.stride()[1] as u64];
    windows.is_narrow &= u32::from(!sizes::POOL_WIDE.is_reached(largest));
    let period = |d: usize| u32::try_from(pool.dilation[d] / gcd(pool.dilation[d], pool.stride[d])).unwrap_or(u32::MAX);
    let to = dst.ptr().at(dtype, dst_layout.start_offset());
    let rank = dst_layout.shape().rank();
    // A thread's columns are one of the walk.
    let (mut shape, mut stride): (Dims, Dims) = (dst_layout.dims().into(), dst_layout.stride().into());
    shape[rank - 1] = shape[rank - 1].div_ceil(NEIGHBOURS);
    let column_step = std::mem::replace(&mut stride[rank - 1], NEIGHBOURS * dst_layout.stride()[rank - 1]);
    let is_aligned = stride.iter().all(|stride| stride.is_multiple_of(NEIGHBOURS))
        && to.0.is_multiple_of((NEIGHBOURS * dtype.size_in_bytes()) as u64);
    let stores_groups = column_step == 1 && size[2].is_multiple_of(NEIGHBOURS) && is_aligned;
    let walked = Layout::new(shape, stride, 0)?;
    let gradients = Gradients {
        windows: if spatial == 3 { windows.with_rows(size[1]) } else { windows },
        counts: all(counts),
        factor: all(factor),
        ahead: all(ahead),
        divisor: all(divisor),
        reach: all(reach),
        narrow_divisor: divisor.map(Divisor::new),
        narrow_channels: Divisor::new(channels),
        place_step: all(over_three(place_layout.stride(), 0)),
        plane_step: plane(layout),
        place_plane_step: plane(place_layout),
        channels: channels as u64,
        column_step: column_step as u64,
        period: std::array::from_fn(period),
        stores_groups: stores_groups.into(),
    };
    let key = match takes_positions(op) {
        true => Key::new(Family::Pooling, MAX_BACKWARD, &[dtype, places.dtype()], ANY),
        false => {
            let variant = if gradients.windows.count == 0.0 { OWN_SHARE } else { SHARE };
            Key::new(Family::Pooling, AVERAGE_BACKWARD, &[dtype], variant)
        }
    };
    let from = gradient.ptr().at(dtype, layout.start_offset());
    let place_from = places.ptr().at(places.dtype(), place_layout.start_offset());
    // The walk counts planes instead of elements of a source: there are two, with layouts of their
    // own.
    let mut planes: Dims = dst_layout.dims().into();
    planes.fill(0);
    (planes[0], planes[1]) = (channels, 1);
    for group in groups(&walked) {
        let step = dst_layout.stride()[1];
        let channels = Channels::new(group, step, [layout.stride()[1], place_layout.stride()[1]]);
        let to = to.at(dtype, group.first * step);
        parts(dst.device(), key, &dims(&planes, &walked.narrow(1, 0, group.count)?, spatial, 1), |part| {
            let (to, first) = (to.at(dtype, part.dst), (group.first + part.src) as u64);
            // SAFETY: all layouts were validated against their buffers; the kernel reads windows
            // that exist.
            unsafe {
                match takes_positions(op) {
                    true => {
                        part.launch.on(dst.device(), args![from, place_from, to, part.walk, first, gradients, channels])
                    }
                    false => part.launch.on(dst.device(), args![from, to, part.walk, first, gradients, channels]),
                }
            }
        })?;
    }
    Ok(())
}
