//! Pooling: averages, maxima and their positions, and norms, over one, two or three dimensions.

mod backward;

use crate::args;
use crate::key::{Family, Key};
use crate::launch::element_walk::{dims, parts};
use crate::manifest::instances::pooling::{
    ABSOLUTE_SUM, ARG_MAX, AVERAGE, EUCLIDEAN, MAX, PLANE, POWER_NORM, TWOS, VOLUME, width,
};
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
            _ => POWER_NORM,
        },
        _ => ARG_MAX,
    }
}

fn key(op: &Op, dtype: DType, variant: u8) -> Key {
    Key::new(Family::Pooling, number(op), &[dtype], variant)
}

/// Whether an operation has kernels of a variant.
fn has(op: &Op, variant: u8) -> bool {
    match variant {
        TWOS => matches!(number(op), AVERAGE | MAX),
        PLANE => number(op) != POWER_NORM,
        _ => true,
    }
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
    let variants = match op.pool_rank().expect("an operation of the family") {
        1 => &[VOLUME, PLANE][..],
        2 => &[VOLUME, PLANE, TWOS],
        _ => &[VOLUME],
    };
    let variants = variants.iter().filter(|&&variant| has(op, variant)).map(|&variant| key(op, dtypes[0], variant));
    variants.chain(positions::keys(op, dtypes[1])).collect()
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
}

const _: () = assert!(size_of::<Windows>() == 208);
const _: () = assert!(offset_of!(Windows, count) == 192);

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
        }
    }

    /// Sets the rows of a slice of the tensor whose elements are computed.
    fn with_rows(self, rows: usize) -> Self {
        Self { rows: rows as u64, ..self }
    }

    /// Whether a window that reaches beyond the padding counts some of it.
    fn counts_padding(&self) -> bool {
        self.padded != [0; 3]
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
    let (src, src_layout) = stored(srcs, 0);
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let spatial = dst_layout.dims().len() - 2;
    let (size, counts) = (over_three(src_layout.dims(), 1), over_three(dst_layout.dims(), 1));
    let (pool, sharing) = windows_of(op, size, counts);
    let dtype = src.dtype();
    let words = positions::begin(op, dst, dst_layout)?;
    let unit = if is_positions(op) { DType::U32 } else { dtype };
    let from = src.ptr().at(dtype, src_layout.start_offset());
    let to = dst.ptr().at(dst.dtype(), dst_layout.start_offset());
    if has(op, TWOS) && is_twos(&pool, src_layout, dst_layout, from.0 | to.0, dtype.size_in_bytes()) {
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
    let is_equal = sharing == [0; 3];
    let is_plane = has(op, PLANE) && is_equal && spatial < 3 && pool.dilation == [1; 3] && !windows.counts_padding();
    let key = key(op, dtype, if is_plane { PLANE } else { VOLUME });
    let mut planes: Dims = src_layout.stride().into();
    planes[2..].fill(0);
    let mut dims = dims(&planes, dst_layout, spatial, 1);
    dims.iter_mut().for_each(|dim| dim.stride[1] *= words);
    parts(dst.device(), key, &dims, |part| {
        let (from, to) = (from.at(dtype, part.src), to.at(unit, part.dst));
        // SAFETY: both layouts were validated against their buffers; the kernel clips windows to
        // the source.
        unsafe { part.launch.on(dst.device(), args![from, to, part.walk, windows]) }
    })
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
