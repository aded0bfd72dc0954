//! Distinct elements: all elements are sorted as one row, and those at which another value begins
//! are marked.

use super::tiles::{Marks, Which};
use super::{counts, marks, places, results};
use crate::key::Key;
use crate::launch::elementwise::carrier;
use crate::manifest::instances::compact::{COORDINATES, RANKS, SELECT, key};
use crate::ops::{binary, copy, indexing, sort};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, BinaryOp, DType, Indexing, Layout, Op, Result, Scalar, Sort, Src};

const SORT: Op = Op::Sort(Sort::ascending());
const ORDER: Op = Op::ArgSort(Sort::ascending());
const TAKE: Op = Op::IndexSelect(Indexing::new(0));
const SUB: Op = Op::Binary(BinaryOp::Sub);

/// Returns the dtype of the positions that an operation needs besides the sorted values, for a
/// destination's dtype.
fn positions_of(op: &Op, dst: DType) -> Option<DType> {
    match op {
        Op::UniqueFirst { .. } => Some(dst),
        Op::UniqueInverse => Some(DType::U32),
        _ => None,
    }
}

/// Returns the kernels that an operation may launch for these dtypes.
pub(super) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let (src, dst) = (dtypes[0], dtypes[1]);
    let marked = if matches!(op, Op::CountUnique) { marks(src) } else { places(src) };
    let mut keys = [marked, copy::keys(&Op::Copy, &[src, src])].concat();
    match positions_of(op, dst) {
        Some(positions) => {
            keys.extend(sort::keys(&ORDER, &[src, positions]));
            keys.extend(indexing::keys(&TAKE, &[src, positions, src]));
        }
        None => keys.extend(sort::keys(&SORT, &[src, src])),
    }
    keys.extend(match op {
        Op::CountUnique => counts(dst),
        Op::UniqueCounts { .. } => [results(COORDINATES, dst), binary::keys(&SUB, &[dst; 3])].concat(),
        Op::UniqueInverse => [vec![key(carrier(dst), RANKS)], copy::keys(&Op::Copy, &[dst, dst])].concat(),
        _ => results(SELECT, dst),
    });
    keys
}

/// The elements of a tensor as a sorted row, and the positions that they had if an operation needs
/// them.
struct Sorted<R: GpuRuntime> {
    values: GpuStorage<R>,
    positions: Option<GpuStorage<R>>,
}

impl<R: GpuRuntime> Sorted<R> {
    fn new(src: &GpuStorage<R>, layout: &Layout, positions: Option<DType>) -> Result<Self> {
        let device = src.device();
        let n = layout.elem_count();
        let row = Layout::contiguous(n);
        let mut flat = None;
        let (src, from) = match layout.contiguous_offsets() {
            Some((start, _)) => (src, Layout::contiguous_with_offset(n, start)),
            None => (&*flat.insert(copy::contiguous(src, layout)?), row.clone()),
        };
        let mut values = device.alloc(n, src.dtype())?;
        let Some(dtype) = positions else {
            sort::apply_into(&SORT, &[Src::Storage(src, &from)], &mut values, &row)?;
            return Ok(Self { values, positions: None });
        };
        let mut order = device.alloc(n, dtype)?;
        sort::apply_into(&ORDER, &[Src::Storage(src, &from)], &mut order, &row)?;
        let operands = [Src::Storage(src, &from), Src::Storage(&order, &row)];
        indexing::apply_into(&TAKE, &operands, &mut values, &row)?;
        Ok(Self { values, positions: Some(order) })
    }
}

/// Runs an operation on a tensor that has elements.
pub(super) fn apply_into<R: GpuRuntime>(
    op: &Op,
    (src, layout): (&GpuStorage<R>, &Layout),
    fill: Scalar,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let Sorted { values, positions } = Sorted::new(src, layout, positions_of(op, dst.dtype()))?;
    let n = layout.elem_count();
    let row = Layout::contiguous(n);
    let marks = Marks::new(Which::Begins, &values, &row, matches!(op, Op::CountUnique))?;
    match (op, &positions) {
        (Op::CountUnique, _) => marks.count(dst, dst_layout),
        (Op::UniqueCounts { bound }, _) => {
            // A value ends where the next one begins, and the last one with the row.
            let mut begins = dst.device().alloc(bound + 1, dst.dtype())?;
            let end = Scalar::from_u64(dst.dtype(), n as u64);
            marks.coordinates(&[n], end, &mut begins, &Layout::contiguous([bound + 1, 1]))?;
            let [from, to] = [0, 1].map(|start| Layout::contiguous_with_offset(*bound, start));
            let operands = [Src::Storage(&begins, &to), Src::Storage(&begins, &from)];
            binary::apply_into(&SUB, &operands, dst, dst_layout)
        }
        (Op::UniqueInverse, Some(order)) => marks.ranks(order, dst, dst_layout),
        (_, Some(order)) => marks.select((order, &row), fill, dst, dst_layout),
        (_, None) => marks.select((&values, &row), fill, dst, dst_layout),
    }
}
