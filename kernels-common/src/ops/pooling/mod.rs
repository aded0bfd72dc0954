//! Average and maximum pooling over rows and columns.

use crate::args;
use crate::key::{Family, Key};
use crate::launch::element_walk::{dims, parts};
use crate::manifest::instances::pooling::{ANY, TWOS, width};
use crate::ops::stored;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Dims, Layout, Op, Pool2d, Result, Src};
use std::mem::offset_of;

fn key(op: &Op, dtype: DType, variant: u8) -> Key {
    Key::new(Family::Pooling, usize::from(matches!(op, Op::MaxPool2d(_))), &[dtype], variant)
}

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    [ANY, TWOS].map(|variant| key(op, dtypes[0], variant)).into()
}

/// The layout of the kernels' `Windows`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Windows {
    size: [u64; 2],
    step: [u64; 2],
    kernel: [u64; 2],
    stride: [u64; 2],
    padding: [u64; 2],
    count: f64,
}

const _: () = assert!(size_of::<Windows>() == 88);
const _: () = assert!(offset_of!(Windows, count) == 80);

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let (Op::AvgPool2d(pool) | Op::MaxPool2d(pool)) = op else { unreachable!("not an operation of the family") };
    let (src, src_layout) = stored(srcs, 0);
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let dtype = dst.dtype();
    let from = src.ptr().at(dtype, src_layout.start_offset());
    let to = dst.ptr().at(dtype, dst_layout.start_offset());
    let [n, c, row, column] = *src_layout.stride() else { unreachable!("validated to be of rank 4") };
    if is_twos(pool, src_layout, dst_layout, from.0 | to.0, dtype.size_in_bytes()) {
        let dims = dims(&[n, c, 2 * row, 2], dst_layout, 2, width(dtype.size_in_bytes()));
        return parts(dst.device(), key(op, dtype, TWOS), &dims, |part| {
            let (from, to) = (from.at(dtype, part.src), to.at(dtype, part.dst));
            // SAFETY: both layouts were validated against their buffers; without padding, windows
            // lie within the source.
            unsafe { part.launch.on(dst.device(), args![from, to, part.walk, row]) }
        });
    }
    let both = |values: &[usize]| [values[0] as u64, values[1] as u64];
    let whole = pool.kernel[0].saturating_mul(pool.kernel[1]);
    let windows = Windows {
        size: both(&src_layout.dims()[2..]),
        step: [row as u64, column as u64],
        kernel: both(&pool.kernel),
        stride: both(&pool.stride),
        padding: both(&pool.padding),
        // Rounded to the compute type here, because the kernels would round twice.
        count: match (pool.count_include_pad, dtype) {
            (false, _) => 0.0,
            (true, DType::F64) => whole as f64,
            (true, _) => f64::from(whole as f32),
        },
    };
    let planes: Dims = [n, c, 0, 0].as_slice().into();
    parts(dst.device(), key(op, dtype, ANY), &dims(&planes, dst_layout, 2, 1), |part| {
        let (from, to) = (from.at(dtype, part.src), to.at(dtype, part.dst));
        // SAFETY: both layouts were validated against their buffers; the kernel clips windows to
        // the source.
        unsafe { part.launch.on(dst.device(), args![from, to, part.walk, windows]) }
    })
}

/// Whether the windows are adjacent and two by two, and all accesses of the [`TWOS`] kernel are
/// aligned.
fn is_twos(pool: &Pool2d, src: &Layout, dst: &Layout, addresses: u64, size: usize) -> bool {
    let results = width(size);
    let steps = |layout: &Layout| layout.stride()[..3].iter().fold(0, |all, s| all | s);
    pool.kernel == [2, 2]
        && pool.stride == [2, 2]
        && pool.padding == [0, 0]
        && src.stride()[3] == 1
        && dst.stride()[3] == 1
        && dst.dims()[3].is_multiple_of(results)
        && steps(src).is_multiple_of(2 * results)
        && steps(dst).is_multiple_of(results)
        && addresses.is_multiple_of(16)
}
