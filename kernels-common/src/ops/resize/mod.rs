//! Resizing images. Every layout is read and written in place.

use crate::args;
use crate::key::Key;
use crate::launch::elementwise::carrier;
use crate::launch::index::{Dim, Index, IndexDims, count, push, split};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::resize::{ANTIALIASED, CUBIC, LINEAR, NEAREST, key};
use crate::ops::channels::groups;
use crate::ops::stored;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{
    BackendStorage, Coordinates, DType, Interpolation, Layout, NearestMode, Op, ResizeAxis, Result, Scalar, Src,
};
use std::mem::offset_of;

/// Must match elementwise.cuh.
const BLOCK: u32 = 256;

/// Returns the kernel of an operation for images with so many dimensions after the channels.
fn kernel(op: &isobit_hal::Resize, dtype: DType, spatial: usize) -> Key {
    let variant = spatial.max(2) as u8 + if op.antialias { ANTIALIASED } else { 0 };
    match op.mode {
        Interpolation::Nearest => key(NEAREST, carrier(dtype), 3),
        Interpolation::Cubic => key(CUBIC, dtype, variant),
        _ => key(LINEAR, dtype, variant),
    }
}

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let Op::Resize(op) = op else { unreachable!("not an operation of the family") };
    let all = [false, true].into_iter().flat_map(|antialias| {
        let op = op.clone().with_antialias(antialias);
        [2, 3].map(|spatial| kernel(&op, dtypes[0], spatial))
    });
    let mut keys: Vec<Key> = all.collect();
    keys.dedup();
    keys
}

/// The layout of the kernels' `Axis`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Axis {
    from: u64,
    step: u64,
    shift: f64,
    factor: f64,
    divisor: f64,
    offset: f64,
    filter: f64,
    support: f64,
    count: u64,
}

impl Axis {
    fn new(axis: ResizeAxis, reach: usize, from: usize, step: usize) -> Self {
        let (support, count) = axis.support(reach);
        let ResizeAxis { shift, factor, divisor, offset, filter, .. } = axis;
        Self {
            from: from as u64,
            step: step as u64,
            shift,
            factor,
            divisor,
            offset,
            filter,
            support,
            count: count as u64,
        }
    }
}

/// The layout of the kernels' `Resize`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Resize {
    units_at: Index<5>,
    axes: [Axis; 3],
    cubic_coeff: f64,
    outside: f64,
    outside_bits: u64,
    first: [u64; 3],
    image_channel: u64,
    result_channel: u64,
    units: u32,
    channels: u32,
    rounding: u32,
    excludes_outside: u32,
    is_normalized: u32,
    is_cropped: u32,
}

const _: () = assert!(size_of::<Axis>() == 72 && size_of::<Resize>() == 728);
const _: () = assert!(offset_of!(Resize, axes) == 424 && offset_of!(Resize, units) == 704);

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let Op::Resize(op) = op else { unreachable!("not an operation of the family") };
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let (image, image_layout) = stored(srcs, 0);
    let (dtype, rank) = (dst.dtype(), dst_layout.dims().len());
    let spatial = rank - 2;
    let axes: [Axis; 3] = std::array::from_fn(|d| match spatial.checked_sub(1 + d) {
        Some(at) => {
            let from = image_layout.dims()[2 + at];
            Axis::new(op.axis(at, from), op.reach(), from, image_layout.stride()[2 + at])
        }
        None => Axis::new(ResizeAxis::WHOLE, op.reach(), 1, 0),
    });
    let from = image.ptr().at(dtype, image_layout.start_offset());
    let to = dst.ptr().at(dtype, dst_layout.start_offset());
    let (images, results) = (image_layout.stride(), dst_layout.stride());
    for group in groups(dst_layout) {
        let mut dims = IndexDims::<5>::new();
        push(&mut dims, Dim { size: dst_layout.dims()[0], stride: [images[0], results[0], 0, 0, 0] });
        let channels = group.channels;
        let stride = [channels * images[1], channels * results[1], 0, 0, 0];
        push(&mut dims, Dim { size: group.count, stride });
        for d in 2..rank {
            let mut stride = [0, results[d], 0, 0, 0];
            // Its number is counted like an offset; the last dimension comes first.
            stride[2 + rank - 1 - d] = 1;
            push(&mut dims, Dim { size: dst_layout.dims()[d], stride });
        }
        let start = [group.first * images[1], group.first * results[1], 0, 0, 0];
        let most = sizes::RESIZE.limit(count(&dims));
        split(&dims, most, start, &mut |dims, [image, result, first @ ..]| {
            let units = count(dims) as u32;
            let resize = Resize {
                units_at: Index::new(dims),
                axes,
                first: first.map(|number| number as u64),
                cubic_coeff: op.cubic_coeff,
                outside: op.extrapolation,
                outside_bits: Scalar::from_f64(dtype, op.extrapolation).to_bits(),
                image_channel: images[1] as u64,
                result_channel: results[1] as u64,
                units,
                channels: channels as u32,
                rounding: rounding(op.nearest),
                excludes_outside: op.exclude_outside.into(),
                is_normalized: op.is_normalized().into(),
                is_cropped: matches!(op.coordinates, Coordinates::CropAndResize(_)).into(),
            };
            let (from, to) = (from.at(dtype, image), to.at(dtype, result));
            let launch = Launch::linear(kernel(op, dtype, spatial), units.div_ceil(BLOCK), BLOCK);
            // SAFETY: the layouts were validated against their buffers; positions are clamped to
            // the image.
            unsafe { launch.on(dst.device(), args![from, to, resize]) }
        })?;
    }
    Ok(())
}

/// Returns the number of how positions are rounded; must match resize.cu.
fn rounding(mode: NearestMode) -> u32 {
    match mode {
        NearestMode::RoundPreferCeil => 1,
        NearestMode::Floor => 2,
        NearestMode::Ceil => 3,
        _ => 0,
    }
}
