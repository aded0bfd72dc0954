//! Rotary position embedding (RoPE).

use crate::args;
use crate::key::{Family, Key};
use crate::launch::index::{Dim, Index, IndexDims, count, push, split};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::rope::{HALVES, INTERLEAVED, PAIRS};
use crate::ops::stored;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, RopeForm, Src};
use std::mem::offset_of;

/// Must match elementwise.cuh.
const BLOCK: u32 = 256;

fn key(dtype: DType, variant: u8) -> Key {
    Key::new(Family::Rope, 0, &[dtype], variant)
}

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let packs = if matches!(op, Op::Rope(RopeForm::Interleaved)) { INTERLEAVED } else { HALVES };
    [PAIRS, packs].map(|variant| key(dtypes[0], variant)).into()
}

/// The layout of the kernels' `Pairs`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Pairs {
    index: Index<4>,
    src_partner: u64,
    dst_partner: u64,
    units: u32,
}

const _: () = assert!(size_of::<Pairs>() == 384);
const _: () = assert!(offset_of!(Pairs, src_partner) == 360 && offset_of!(Pairs, units) == 376);

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let &Op::Rope(form) = op else { unreachable!("not an operation of the family") };
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let [(x, x_layout), (cos, cos_layout), (sin, sin_layout)] = [0, 1, 2].map(|i| stored(srcs, i));
    let dtype = dst.dtype();
    let [from, cosines, sines] = [(x, x_layout), (cos, cos_layout), (sin, sin_layout)]
        .map(|(storage, layout)| storage.ptr().at(dtype, layout.start_offset()));
    let to = dst.ptr().at(dtype, dst_layout.start_offset());
    let half = dst_layout.dims()[3] / 2;
    let side = form == RopeForm::Interleaved;
    // Strides along the four dimensions of input, destination, cosines and sines. The tables have
    // no head dimension, and may have no batch dimension.
    let time = if form == RopeForm::Thd { 1 } else { 2 };
    let table = |layout: &Layout, d: usize| match (d, layout.stride()) {
        (0, &[batch, _, _]) => batch,
        (3, &[.., column]) => column,
        (_, &[.., row, _]) if d == time => row,
        _ => 0,
    };
    let pair = if side { 2 } else { 1 };
    let stride = |d: usize| {
        let elements = if d == 3 { pair } else { 1 };
        let [x, dst] = [x_layout, dst_layout].map(|l| l.stride()[d] * elements);
        [x, dst, table(cos_layout, d), table(sin_layout, d)]
    };
    let [src_partner, dst_partner] =
        [x_layout, dst_layout].map(|l| (l.stride()[3] * if side { 1 } else { half }) as u64);

    let width = 16 / dtype.size_in_bytes();
    let columns_are_dense = stride(3) == [pair, pair, 1, 1];
    let steps = (0..3).flat_map(stride).fold(0, |all, s| all | s);
    let aligned = (from.0 | to.0 | cosines.0 | sines.0).is_multiple_of(16);
    let packs = columns_are_dense && half.is_multiple_of(width) && steps.is_multiple_of(width) && aligned;
    let (variant, pack) = match (packs, side) {
        (false, _) => (PAIRS, 1),
        (true, false) => (HALVES, width),
        (true, true) => (INTERLEAVED, width),
    };
    let mut all: IndexDims<4> = (0..3).map(|d| Dim { size: dst_layout.dims()[d], stride: stride(d) }).collect();
    all.push(Dim { size: half / pack, stride: stride(3).map(|s| s * pack) });
    all.sort_by_key(|d| std::cmp::Reverse(d.stride[1]));
    let mut dims = IndexDims::new();
    all.into_iter().for_each(|d| push(&mut dims, d));
    split(&dims, sizes::ROPE.limit(count(&dims)), [0; 4], &mut |dims, offsets| {
        let pointers = [from, to, cosines, sines];
        let [from, to, cosines, sines] = std::array::from_fn(|o| pointers[o].at(dtype, offsets[o]));
        let units = count(dims) as u32;
        let pairs = Pairs { index: Index::new(dims), src_partner, dst_partner, units };
        let launch = Launch::linear(key(dtype, variant), units.div_ceil(BLOCK), BLOCK);
        // SAFETY: the layouts were validated against their buffers, and the walk only visits their
        // elements.
        unsafe { launch.on(dst.device(), args![from, cosines, sines, to, pairs]) }
    })
}
