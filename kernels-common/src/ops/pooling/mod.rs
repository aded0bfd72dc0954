//! Pooling: averages, maxima and their positions, and norms, over one, two or three dimensions; and
//! windows whose elements were taken apart.

mod backward;
mod col2im;

use crate::args;
use crate::key::{Family, Key};
use crate::launch::element_walk::{dims, parts, parts_of_blocks};
use crate::launch::index::Divisor;
use crate::launch::sizes;
use crate::manifest::instances::pooling::{
    ABSOLUTE_SUM, ANY, ARG_MAX, AVERAGE, COL2IM, CUBIC, EUCLIDEAN, MAX, POWER_NORM, TILES, TWOS, width,
};
use crate::ops::channels::{Groups, groups};
use crate::ops::{positions, stored};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Dims, Layout, Op, Pool3d, Result, Src};
use std::mem::offset_of;

/// Returns the number of the operation in keys.
fn number(op: &Op) -> usize {
    match op {
        Op::AvgPool1d(_) | Op::AvgPool2d(_) | Op::AvgPool3d(_) | Op::AdaptiveAvgPool(_) => AVERAGE,
        Op::MaxPool1d(_) | Op::MaxPool2d(_) | Op::MaxPool3d(_) | Op::AdaptiveMaxPool(_) => MAX,
        Op::LpPool(pool) => match pool.p() {
            1.0 => ABSOLUTE_SUM,
            2.0 => EUCLIDEAN,
            3.0 => CUBIC,
            _ => POWER_NORM,
        },
        Op::Col2im(_) => COL2IM,
        _ => ARG_MAX,
    }
}

fn key(op: &Op, dtype: DType, variant: u8) -> Key {
    Key::new(Family::Pooling, number(op), &[dtype], variant)
}

/// Whether an operation has kernels of [`TWOS`].
fn has_twos(op: &Op) -> bool {
    matches!(number(op), AVERAGE | MAX)
}

fn is_positions(op: &Op) -> bool {
    matches!(op, Op::ArgMaxPool1d(_) | Op::ArgMaxPool2d(_) | Op::ArgMaxPool3d(_) | Op::AdaptiveArgMaxPool(_))
}

/// Returns the windows of an operation of the family over a tensor of these sizes, and how many
/// share each dimension if it is adaptive and they are not all equal.
fn windows_of(op: &Op, size: [usize; 3], counts: [usize; 3]) -> (Pool3d, [usize; 3]) {
    if let Some((pool, _)) = op.pool_windows() {
        // Norms count nothing.
        return (pool.with_count_include_pad(pool.count_include_pad && !matches!(op, Op::LpPool(_))), [0; 3]);
    }
    if (0..3).all(|d| size[d].is_multiple_of(counts[d])) {
        return (Pool3d::new(std::array::from_fn(|d| size[d] / counts[d])), [0; 3]);
    }
    (Pool3d::new([1; 3]).with_count_include_pad(false), counts)
}

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    if backward::applies_to(op) {
        return backward::keys(op, dtypes);
    }
    let twos = (has_twos(op) && op.pool_rank() == Some(2)).then(|| key(op, dtypes[0], TWOS));
    let tiles = (number(op) == POWER_NORM).then(|| key(op, dtypes[0], TILES));
    [key(op, dtypes[0], ANY)].into_iter().chain(twos).chain(tiles).chain(positions::keys(op, dtypes[1])).collect()
}

/// The layout of the kernels' `Windows`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Windows {
    step: [u64; 3],
    kernel: [u64; 3],
    stride: [u64; 3],
    dilation: [u64; 3],
    begin: [u64; 3],
    end: [u64; 3],
    padded: [u64; 3],
    sharing: [u64; 3],
    count: f64,
    rows: u64,
    narrow_dilation: [Divisor; 3],
    narrow_sharing: [Divisor; 3],
    narrow_rows: Divisor,
    is_narrow: u32,
}

const _: () = assert!(size_of::<Windows>() == 296);
const _: () = assert!(offset_of!(Windows, count) == 192 && offset_of!(Windows, is_narrow) == 292);

impl Windows {
    /// Returns the windows of an operation over a tensor of these sizes, with so many windows along
    /// each dimension; `step` is for the tensor from which the kernel gathers.
    fn new(op: &Op, dtype: DType, size: [usize; 3], counts: [usize; 3], step: [usize; 3]) -> Self {
        let (pool, sharing) = windows_of(op, size, counts);
        let end: [usize; 3] = std::array::from_fn(|d| pool.padding_before[d] + size[d]);
        let padded: [usize; 3] = std::array::from_fn(|d| end[d] + pool.padding_after[d]);
        let is_beyond = |d: usize| {
            let reach = (counts[d] - 1) * pool.stride[d] + (pool.kernel[d] - 1) * pool.dilation[d];
            reach >= padded[d]
        };
        let counts_some_padding = pool.count_include_pad && (0..3).any(is_beyond);
        let whole: usize = pool.kernel.iter().product();
        let all = |values: [usize; 3]| values.map(|value| value as u64);
        let divisors = |values: [usize; 3]| values.map(|value| Divisor::new(value.max(1)));
        let dividend = |d: usize| padded[d].max(counts[d].saturating_mul(if sharing[d] > 0 { size[d] } else { 1 }));
        let rows = counts[0].saturating_mul(counts[1]).max(size[0].saturating_mul(size[1]));
        let largest = (0..3).map(dividend).fold(rows, usize::max);
        Self {
            step: all(step),
            kernel: all(pool.kernel),
            stride: all(pool.stride),
            dilation: all(pool.dilation),
            begin: all(pool.padding_before),
            end: all(end),
            padded: if counts_some_padding { all(padded) } else { [0; 3] },
            sharing: all(sharing),
            // A count is rounded to the compute type here, because the kernels would round twice.
            count: match (op, dtype) {
                (Op::LpPool(pool), _) => pool.p(),
                _ if !pool.count_include_pad || counts_some_padding => 0.0,
                (_, DType::F64) => whole as f64,
                _ => f64::from(whole as f32),
            },
            rows: 0,
            narrow_dilation: divisors(pool.dilation),
            narrow_sharing: divisors(sharing),
            narrow_rows: Divisor::default(),
            is_narrow: u32::from(!sizes::POOL_WIDE.is_reached(largest)),
        }
    }

    /// Sets the rows of a slice of the tensor whose elements are computed.
    fn with_rows(self, rows: usize) -> Self {
        Self { rows: rows as u64, narrow_rows: Divisor::new(rows), ..self }
    }
}

/// The layout of the kernels' `Channels`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Channels {
    to: u64,
    from: [u64; 2],
    count: u64,
}

impl Channels {
    /// Returns the channels of a thread, of which each is as far from the next as there are groups,
    /// with the steps between neighbours in the result and in what is read.
    fn new(group: Groups, to: usize, from: [usize; 2]) -> Self {
        let step = |step: usize| (group.count * step) as u64;
        Self { to: step(to), from: from.map(step), count: group.channels as u64 }
    }
}

/// The most elements of a tile; must match pooling.cu.
const TILE_ELEMENTS: usize = 4096;

/// The layout of the kernels' `Tiles`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Tiles {
    counts: [u64; 2],
    result_step: [u64; 2],
    windows: [u32; 2],
    elements: [u32; 2],
    window_columns: Divisor,
    element_columns: Divisor,
}

const _: () = assert!(size_of::<Tiles>() == 72);

impl Tiles {
    /// Returns the largest tiles of a plane with so many rows and columns of windows, and how many
    /// there are. `None` if that takes no fewer powers than each window with its own, or leaves
    /// most threads of a block without any.
    fn new(pool: &Pool3d, counts: [usize; 2], result_step: [usize; 2]) -> Option<(Self, [usize; 2])> {
        let extent = |d: usize| (pool.kernel[1 + d] - 1).checked_mul(pool.dilation[1 + d])?.checked_add(1);
        let mut tiles = [1; 2];
        let (windows, elements) = loop {
            let windows: [usize; 2] = std::array::from_fn(|d| counts[d].div_ceil(tiles[d]));
            let reach = |d: usize| (windows[d] - 1).checked_mul(pool.stride[1 + d])?.checked_add(extent(d)?);
            let elements = [reach(0)?, reach(1)?];
            if elements[0].saturating_mul(elements[1]) <= TILE_ELEMENTS {
                break (windows, elements);
            }
            // The longer side that has more than one window is cut.
            let longer = (0..2).filter(|&d| windows[d] > 1).max_by_key(|&d| elements[d])?;
            tiles[longer] = counts[longer].div_ceil(windows[longer].div_ceil(2));
        };
        let tiles: [usize; 2] = std::array::from_fn(|d| counts[d].div_ceil(windows[d]));
        let all = |each: [usize; 2]| each[0].saturating_mul(each[1]);
        let taps = all(windows).saturating_mul(pool.kernel[1] * pool.kernel[2]);
        if taps <= all(elements) || !sizes::POOL_TILE_FROM.is_reached(all(elements)) {
            return None;
        }
        let both = |values: [usize; 2]| values.map(|value| value as u32);
        let tile = Self {
            counts: counts.map(|count| count as u64),
            result_step: result_step.map(|step| step as u64),
            windows: both(windows),
            elements: both(elements),
            window_columns: Divisor::new(windows[1]),
            element_columns: Divisor::new(elements[1]),
        };
        Some((tile, tiles))
    }
}

/// Returns what a layout has in each of three dimensions, of which the last are spatial.
fn over_three(values: &[usize], one: usize) -> [usize; 3] {
    let mut all = [one; 3];
    let spatial = values.len() - 2;
    all[3 - spatial..].copy_from_slice(&values[2..]);
    all
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    if backward::applies_to(op) {
        return backward::apply_into(op, srcs, dst, dst_layout);
    }
    if let Op::Col2im(image) = op {
        return col2im::apply_into(op, image, srcs, dst, dst_layout);
    }
    let (src, src_layout) = stored(srcs, 0);
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let spatial = dst_layout.dims().len() - 2;
    let (size, counts) = (over_three(src_layout.dims(), 1), over_three(dst_layout.dims(), 1));
    let (pool, _) = windows_of(op, size, counts);
    let dtype = src.dtype();
    let words = positions::begin(op, dst, dst_layout)?;
    let unit = if is_positions(op) { DType::U32 } else { dtype };
    let from = src.ptr().at(dtype, src_layout.start_offset());
    let to = dst.ptr().at(dst.dtype(), dst_layout.start_offset());
    if has_twos(op) && is_twos(&pool, src_layout, dst_layout, from.0 | to.0, dtype.size_in_bytes()) {
        let [n, c, row, _] = *src_layout.stride() else { unreachable!("windows of rows and columns") };
        let dims = dims(&[n, c, 2 * row, 2], dst_layout, 2, width(dtype.size_in_bytes()));
        return parts(dst.device(), key(op, dtype, TWOS), &dims, |part| {
            let (from, to) = (from.at(dtype, part.src), to.at(dtype, part.dst));
            // SAFETY: both layouts were validated against their buffers; the windows lie within the
            // source.
            unsafe { part.launch.on(dst.device(), args![from, to, part.walk, row]) }
        });
    }
    let windows = Windows::new(op, dtype, size, counts, over_three(src_layout.stride(), 0));
    let windows = if spatial == 3 { windows.with_rows(counts[1]) } else { windows };
    let mut planes: Dims = src_layout.stride().into();
    planes[2..].fill(0);
    let [_, row_step, column_step] = over_three(dst_layout.stride(), 0);
    if number(op) == POWER_NORM
        && spatial < 3
        && let Some((tile, tiles)) = Tiles::new(&pool, [counts[1], counts[2]], [row_step, column_step])
    {
        // The walk is one over tiles.
        let (mut shape, mut stride): (Dims, Dims) = (dst_layout.dims().into(), dst_layout.stride().into());
        for (d, along) in (2..2 + spatial).zip(2 - spatial..) {
            (shape[d], stride[d]) = (tiles[along], stride[d] * tile.windows[along] as usize);
        }
        let dims = dims(&planes, &Layout::new(shape, stride, 0)?, spatial, 1);
        return parts_of_blocks(dst.device(), key(op, dtype, TILES), &dims, 1, |part| {
            let (from, to) = (from.at(dtype, part.src), to.at(dtype, part.dst));
            // SAFETY: both layouts were validated against their buffers; the kernel clips tiles to
            // the source and the result.
            unsafe { part.launch.on(dst.device(), args![from, to, part.walk, windows, tile]) }
        });
    }
    let steps = [src_layout.stride()[1], dst_layout.stride()[1] * words];
    for group in groups(dst_layout) {
        let mut dims = dims(&planes, &dst_layout.narrow(1, 0, group.count)?, spatial, 1);
        dims.iter_mut().for_each(|dim| dim.stride[1] *= words);
        let (from, to) = (from.at(dtype, group.first * steps[0]), to.at(unit, group.first * steps[1]));
        let channels = Channels::new(group, steps[1], [steps[0], 0]);
        parts(dst.device(), key(op, dtype, ANY), &dims, |part| {
            let (from, to) = (from.at(dtype, part.src), to.at(unit, part.dst));
            // SAFETY: both layouts were validated against their buffers; the kernel clips windows
            // to the source.
            unsafe { part.launch.on(dst.device(), args![from, to, part.walk, windows, channels]) }
        })?;
    }
    Ok(())
}

/// Whether the windows are adjacent, two by two and all in the source, and all accesses of the
/// [`TWOS`] kernel are aligned.
fn is_twos(pool: &Pool3d, src: &Layout, dst: &Layout, addresses: u64, size: usize) -> bool {
    let results = width(size);
    let adjacent = Pool3d::new([1, 2, 2]).with_ceil_mode(pool.ceil_mode).with_count_include_pad(pool.count_include_pad);
    let steps = |layout: &Layout| layout.stride()[..3].iter().fold(0, |all, s| all | s);
    src.shape().rank() == 4
        && *pool == adjacent
        && (2..4).all(|d| 2 * dst.dims()[d] <= src.dims()[d])
        && src.stride()[3] == 1
        && dst.stride()[3] == 1
        && dst.dims()[3].is_multiple_of(results)
        && steps(src).is_multiple_of(2 * results)
        && steps(dst).is_multiple_of(results)
        && addresses.is_multiple_of(16)
}
