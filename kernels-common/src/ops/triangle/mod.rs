//! Triangles of matrices (tril and triu).

use crate::args;
use crate::key::{Family, Key};
use crate::launch::element_walk::{dims, parts};
use crate::launch::elementwise::carrier;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src};

fn key(dtype: DType, variant: u8) -> Key {
    Key::new(Family::Triangle, 0, &[carrier(dtype)], variant)
}

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(_op: &Op, dtypes: &[DType]) -> Vec<Key> {
    [Key::ROWS, Key::STRIDED].map(|variant| key(dtypes[0], variant)).into()
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let &Op::Triangle(op) = op else { unreachable!("not an operation of the family") };
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let (dtype, size) = (dst.dtype(), dst.dtype().size_in_bytes());
    let to = dst.ptr().at(dtype, dst_layout.start_offset());
    let (from, src_layout) = match srcs[0].storage() {
        Some((src, layout)) => (src.ptr().at(dtype, layout.start_offset()), layout),
        None => (to, dst_layout),
    };
    let (width, last) = (16 / size, dst_layout.shape().rank() - 1);
    let outer = [src_layout, dst_layout].iter().fold(0, |all, l| l.stride()[..last].iter().fold(all, |a, s| a | s));
    let packs = dst_layout.dims()[last].is_multiple_of(width)
        && src_layout.stride()[last] == 1
        && dst_layout.stride()[last] == 1
        && outer.is_multiple_of(width)
        && (from.0 | to.0).is_multiple_of(16);
    let (variant, pack) = if packs { (Key::ROWS, width) } else { (Key::STRIDED, 1) };
    let dims = dims(src_layout.stride(), dst_layout, 2, pack);
    let upper = u32::from(op.upper);
    parts(dst.device(), key(dtype, variant), &dims, |part| {
        let (from, to) = (from.at(dtype, part.src), to.at(dtype, part.dst));
        // SAFETY: both layouts were validated against their buffers, and the walk only visits their
        // elements.
        unsafe { part.launch.on(dst.device(), args![from, to, part.walk, op.diagonal, upper]) }
    })
}
