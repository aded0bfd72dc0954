//! Flips, rolls, padding, repetition and concatenation: every element of the result comes from an
//! element of an input, whose index each dimension gives by a rule of its own.

mod concat;
mod map;

use crate::key::{Family, Key};
use crate::launch::index::{Dim, IndexDims};
use crate::manifest::instances::copy::CARRIERS;
use crate::manifest::instances::index_map::{CONCAT, ELEMENTS, ELEMENTS_16, MAP, PACKS, ROWS, has_packs};
use crate::ops::{copy, stored};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src};

/// Elements per block of the kernels that move them one by one.
const BLOCK_ELEMENTS: usize = 1024;

/// Bytes of a pack.
const PACK: usize = 16;

/// Returns the kernel of an operation for elements of `size` bytes.
fn key(op: usize, size: usize, variant: u8) -> Key {
    match size {
        16 => Key::new(Family::IndexMap, op, &[DType::I64], ELEMENTS_16),
        _ => Key::new(Family::IndexMap, op, &[CARRIERS[size.trailing_zeros() as usize]], variant),
    }
}

/// Returns the kernels that an operation of the family may launch for these dtypes. Elements may
/// move in units of several.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let element = dtypes[0].size_in_bytes();
    let of = |op| {
        let sizes = [1, 2, 4, 8, 16].into_iter().filter(move |&size| size >= element);
        sizes.flat_map(move |size| {
            let packs = has_packs(size).then_some(PACKS);
            [ELEMENTS, ROWS].into_iter().chain(packs).map(move |variant| key(op, size, variant))
        })
    };
    match op {
        Op::Repeat(_) => copy::keys(op, dtypes),
        Op::Concat(_) => of(CONCAT).chain(copy::keys(op, dtypes)).collect(),
        _ => of(MAP).collect(),
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
    match op {
        Op::Flip(op) => map::flip(op, stored(srcs, 0), dst, dst_layout),
        Op::Roll(op) => map::roll(op, stored(srcs, 0), dst, dst_layout),
        Op::Pad(op) => map::pad(op, stored(srcs, 0), dst, dst_layout),
        Op::Repeat(_) => repeat(stored(srcs, 0), dst, dst_layout),
        Op::Concat(op) => concat::concat(*op, srcs, dst, dst_layout),
        _ => unreachable!("not an operation of the family"),
    }
}

/// Repeats by a copy: along a dimension, the source has the repetitions with a stride of 0, and the
/// destination has one after the other.
fn repeat<R: GpuRuntime>(
    (src, src_layout): (&GpuStorage<R>, &Layout),
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let mut dims = IndexDims::<2>::new();
    let new = dst_layout.shape().rank() - src_layout.shape().rank();
    for (d, (&size, &stride)) in dst_layout.dims().iter().zip(dst_layout.stride()).enumerate() {
        let (one, src_stride) = match d.checked_sub(new) {
            Some(d) => (src_layout.dims()[d], src_layout.stride()[d]),
            None => (1, 0),
        };
        dims.push(Dim { size: size / one, stride: [0, stride.wrapping_mul(one)] });
        dims.push(Dim { size: one, stride: [src_stride, stride] });
    }
    // Only dimensions of one element may have a stride that does not fit, and it has no effect.
    dims.retain(|d| d.size > 1);
    let dtype = dst.dtype();
    let from = src.ptr().at(dtype, src_layout.start_offset());
    let to = dst.ptr().at(dtype, dst_layout.start_offset());
    // SAFETY: both layouts were validated against their buffers, which are distinct, because one is
    // borrowed mutably. The walk visits each element of the destination once.
    unsafe { copy::copy_walk(dst.device(), dtype.size_in_bytes(), from, to, dims) }
}
