//! Indexing: takes elements at positions given by ids, and sets or adds elements at such positions.
//!
//! Gathering has a kernel for any layout, and one that holds a line of the source in shared memory.
//! Scattering (set and add) works along lines, which share no destination, in shared memory if the
//! destinations of a line fit. If they do not fit, or if whole slices share an id, the sources are
//! first sorted by destination. Every path processes sources with the same destination in their own
//! order, so all paths give the same bits.

mod gather;
mod lines;
mod radix_sort;
mod scatter;
mod sorted;

use crate::key::Key;
use crate::launch::index::{Dim, IndexDims, push};
use crate::manifest::instances::indexing::*;
use crate::ops::copy;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{DType, Layout, Op, Result, Src};

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let (values, ids) = (dtypes[dtypes.len() - 1], dtypes[dtypes.len() - if is_taking(op) { 2 } else { 3 }]);
    let size = values.size_in_bytes();
    let units = || (size.trailing_zeros()..4).map(|shift| carrier(1 << shift));
    if is_taking(op) {
        let mut keys: Vec<_> = units().map(|unit| with_ids(GATHER, unit, ids)).collect();
        keys.extend([with_ids(GATHER_16, DType::I64, ids), with_ids(STAGED, carrier(size), ids)]);
        return keys;
    }
    let mut keys = vec![of_sort(KEYS, &[ids]), of_sort(COUNT, &[]), of_sort(SCAN, &[]), of_sort(PLACE, &[])];
    if let Op::ScatterSet { .. } = op {
        keys.extend(units().map(|unit| of_values(SORTED_SET, unit)));
        keys.extend([of_values(SORTED_SET_16, DType::I64), with_ids(LINES_SET, carrier(size), ids)]);
    } else {
        let values = summand(values);
        keys.extend([of_values(SORTED_ADD, values), of_values(SORTED_ADD_PACKS, values)]);
        keys.push(with_ids(LINES_ADD, values, ids));
    }
    keys.extend(copy::keys(&Op::Copy, &[dtypes[0]]));
    keys
}

fn is_taking(op: &Op) -> bool {
    matches!(op, Op::Gather { .. } | Op::IndexSelect { .. })
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    match *op {
        Op::Gather { dim } | Op::IndexSelect { dim } => gather::take(op, dim, srcs, dst, dst_layout),
        Op::ScatterSet { dim } | Op::ScatterAdd { dim } | Op::IndexAdd { dim } => {
            copy::apply_into(&Op::Copy, &srcs[..1], dst, dst_layout)?;
            scatter::scatter(op, dim, srcs, dst, dst_layout)
        }
        _ => unreachable!("not an operation of the family"),
    }
}

/// Returns the strides of the ids in the shape in which an operation works. One-dimensional ids are
/// the same along all other dimensions.
fn id_strides(layout: &Layout, op: &Op, dim: usize, rank: usize) -> isobit_hal::Dims {
    match op {
        Op::IndexSelect { .. } | Op::IndexAdd { .. } => {
            let mut stride = isobit_hal::Dims::from_elem(0, rank);
            stride[dim] = layout.stride()[0];
            stride
        }
        _ => layout.stride().into(),
    }
}

/// Sorts dimensions, whose order does not matter, by the order of the destination's memory,
/// innermost last.
fn in_order<const OPERANDS: usize>(mut dims: IndexDims<OPERANDS>) -> IndexDims<OPERANDS> {
    dims.sort_by_key(|d: &Dim<OPERANDS>| std::cmp::Reverse(d.stride));
    let mut merged = IndexDims::new();
    dims.into_iter().for_each(|d| push(&mut merged, d));
    merged
}
