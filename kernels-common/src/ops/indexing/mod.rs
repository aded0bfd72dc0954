//! Indexing: takes elements at positions given by ids, and sets elements at such positions or
//! combines others with them.
//!
//! Gathering has a kernel for any layout, and one that holds a line of the source in shared memory.
//! Scattering works along lines, which share no destination, in shared memory if the destinations
//! of a line fit. If they do not fit, combinations whose order does not show are made in place, by
//! atomics. For others, lines whose elements lie far apart are first copied to rows. If rows do not
//! fit either, or if whole slices share an id, the sources are first sorted by destination. All
//! these process sources with the same destination in their own order, so all paths give the same
//! bits. Tuples of ids become positions in the flattened dimensions that they index, for the same
//! kernels, unless a gather or a combination in place takes them itself.

mod gather;
mod gather_nd;
mod in_place;
mod lines;
mod order;
mod scatter;
mod sorted;
mod tuples;
mod turned;

use crate::key::Key;
use crate::launch::index::{Dim, IndexDims, push};
use crate::manifest::instances::indexing::*;
use crate::ops::{copy, sort};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{DType, Dims, Layout, Op, Result, ScatterOp, Src};

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let scatter = op.scatter_op();
    let (values, given) = (dtypes[dtypes.len() - 1], dtypes[dtypes.len() - if scatter.is_none() { 2 } else { 3 }]);
    let size = values.size_in_bytes();
    let units = || (size.trailing_zeros()..4).map(|shift| carrier(1 << shift));
    let has_tuples = matches!(op, Op::GatherNd(_) | Op::ScatterNd(_));
    let ids = match scatter {
        _ if has_tuples => DType::I64,
        None | Some(ScatterOp::Set) => given,
        Some(combine) => combined_ids(combine, given),
    };
    let mut keys = if has_tuples || ids != given { vec![of_ids(TUPLES, given)] } else { Vec::new() };
    if has_tuples || scatter.is_some() {
        keys.extend(copy::keys(&Op::Copy, &[values]));
    }
    if scatter.is_some() {
        keys.extend(copy::keys(&Op::Copy, &[ids]));
    }
    match scatter {
        None => {
            keys.extend(units().map(|unit| with_ids(GATHER, unit, ids)));
            keys.extend([with_ids(GATHER_16, DType::I64, ids), with_ids(STAGED, carrier(size), ids)]);
            if has_tuples {
                keys.extend(units().map(|unit| with_ids(GATHER_ND, unit, given)));
                keys.push(with_ids(GATHER_ND_16, DType::I64, given));
            }
            return keys;
        }
        Some(ScatterOp::Set) => {
            keys.extend(units().map(|unit| of_values(SORTED_SET, unit)));
            keys.extend([of_values(SORTED_SET_16, DType::I64), with_ids(LINES_SET, carrier(size), ids)]);
        }
        Some(combine) => {
            keys.extend([SORTED_COMBINE, SORTED_COMBINE_PACKS].map(|variant| sorted_combine(combine, values, variant)));
            keys.push(lines_combine(combine, values, ids));
            keys.extend(in_place(combine, values, ids));
            keys.extend(in_place_nd(combine, values, given).filter(|_| has_tuples));
        }
    }
    keys.push(of_ids(KEYS, ids));
    keys.extend(sort::radix_keys(DType::U32));
    keys
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let Some(combine) = op.scatter_op() else {
        return match op {
            Op::GatherNd(p) => gather_nd::gather(op, p.batch_dims, srcs, dst, dst_layout),
            _ => gather::take(op, srcs, dst, dst_layout),
        };
    };
    copy::apply_into(&Op::Copy, &srcs[..1], dst, dst_layout)?;
    match op {
        Op::ScatterNd(_) => tuples::scatter(op, combine, srcs, dst, dst_layout),
        _ => scatter::scatter(op, combine, srcs, dst, dst_layout),
    }
}

/// Returns the strides of the ids, and those of their places in row-major order, in the shape in
/// which an operation works. One-dimensional ids are the same along all other dimensions.
fn id_strides(layout: &Layout, op: &Op, dim: usize, rank: usize) -> [Dims; 2] {
    let places = tuples::places(layout);
    let spread = |stride: &[usize]| match op {
        Op::IndexSelect(_) | Op::IndexAdd(_) => {
            let mut spread = Dims::from_elem(0, rank);
            spread[dim] = stride[0];
            spread
        }
        _ => stride.into(),
    };
    [spread(layout.stride()), spread(&places)]
}

/// Returns the size of a dimension if negative ids count from its end, else 0.
fn from_end(op: &Op, size: usize) -> usize {
    if op.has_negative_ids() { size } else { 0 }
}

/// Sorts dimensions, whose order does not matter, by the order of the destination's memory,
/// innermost last.
fn in_order<const OPERANDS: usize>(mut dims: IndexDims<OPERANDS>) -> IndexDims<OPERANDS> {
    dims.sort_by_key(|d: &Dim<OPERANDS>| std::cmp::Reverse(d.stride));
    let mut merged = IndexDims::new();
    dims.into_iter().for_each(|d| push(&mut merged, d));
    merged
}
