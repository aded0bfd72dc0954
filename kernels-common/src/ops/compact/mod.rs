//! Results whose size depends on values. The destination has a size that the caller chose, so
//! nothing is read back: what is kept is marked with a bit per element, the marks of each tile are
//! counted and summed, and each tile then writes its results from the place that the sum names.
//! The counts of few tiles are summed by whoever writes. If their number alone is wanted, no bits
//! are written, and the counts are added up.
//!
//! The elements are read once, and the bits twice. Distinct elements are those of the sorted tensor
//! at which another value begins.

mod tiles;
mod unique;
mod walk;
mod write;

use crate::key::Key;
use crate::launch::elementwise::carrier;
use crate::manifest::instances::compact::{COORDINATES, MARK, PLACES, SELECT, key};
use crate::ops::{cast, copy, fill, indexing, reduce, stored};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, Cast, DType, Indexing, Layout, Op, Reduce, ReduceOp, Result, Scalar, Src};
use tiles::{Marks, Which};

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let dst = dtypes[dtypes.len() - 1];
    match op {
        Op::CountNonzero => [marks(dtypes[0]), counts(dst)].concat(),
        Op::Nonzero { .. } => [places(dtypes[0]), results(COORDINATES, dst)].concat(),
        Op::MaskedSelect { .. } => {
            [places(dtypes[1]), copy::keys(&Op::Copy, &[dst, dst]), results(SELECT, dst)].concat()
        }
        Op::Compress { dim, .. } => {
            let taken = indexing::keys(&Op::IndexSelect(Indexing::new(*dim)), &[dst, DType::I64, dst]);
            [places(dtypes[1]), results(COORDINATES, DType::I64), taken].concat()
        }
        _ => unique::keys(op, dtypes),
    }
}

/// Returns the kernels that mark elements of a dtype.
fn marks(dtype: DType) -> Vec<Key> {
    [vec![key(carrier(dtype), MARK)], copy::keys(&Op::Copy, &[dtype, dtype])].concat()
}

/// Returns the kernels that mark elements of a dtype and find how many marks come before each tile.
fn places(dtype: DType) -> Vec<Key> {
    [marks(dtype), vec![key(DType::I64, PLACES)]].concat()
}

/// Returns the kernels that write how many marks there are.
fn counts(dst: DType) -> Vec<Key> {
    let sum = Op::Reduce(Reduce::new(ReduceOp::Sum, &[0]));
    [reduce::keys(&sum, &[DType::I64, DType::I64]), cast::keys(&Op::Cast(Cast::default()), &[DType::I64, dst])].concat()
}

/// Returns the kernels that write results, and what stands after the last.
fn results(variant: u8, dst: DType) -> Vec<Key> {
    let mut keys = fill::keys(&Op::Fill(Scalar::zero(dst)), &[dst]);
    keys.push(key(carrier(dst), variant));
    keys
}

/// Returns what a result has after its last element: the id that marks padding, or 0.
fn after_last(op: &Op, dtype: DType) -> Scalar {
    match (op, dtype) {
        (Op::Nonzero { .. } | Op::UniqueFirst { .. }, DType::I64) => Scalar::I64(i64::MAX),
        (Op::Nonzero { .. } | Op::UniqueFirst { .. }, _) => Scalar::U32(u32::MAX),
        _ => Scalar::zero(dtype),
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
    let fill = after_last(op, dst.dtype());
    if srcs.iter().filter_map(|src| src.storage()).any(|(_, layout)| layout.elem_count() == 0) {
        return fill::apply_into(&Op::Fill(fill), &[], dst, dst_layout);
    }
    let (src, layout) = stored(srcs, 0);
    match *op {
        Op::CountNonzero => Marks::new(Which::Nonzero, src, layout, true)?.count(dst, dst_layout),
        Op::Nonzero { .. } => {
            Marks::new(Which::Nonzero, src, layout, false)?.coordinates(layout.dims(), fill, dst, dst_layout)
        }
        Op::MaskedSelect { .. } => {
            let (mask, mask_layout) = stored(srcs, 1);
            let marks = Marks::new(Which::Nonzero, mask, mask_layout, false)?;
            marks.select((src, layout), fill, dst, dst_layout)
        }
        Op::Compress { dim, bound } => {
            let (mask, mask_layout) = stored(srcs, 1);
            let (column, row) = (Layout::contiguous([bound, 1]), Layout::contiguous(bound));
            let mut ids = dst.device().alloc(bound, DType::I64)?;
            let padding = Scalar::I64(i64::MAX);
            Marks::new(Which::Nonzero, mask, mask_layout, false)?.coordinates(
                mask_layout.dims(),
                padding,
                &mut ids,
                &column,
            )?;
            indexing::apply_into(
                &Op::IndexSelect(Indexing::new(dim)),
                &[srcs[0], Src::Storage(&ids, &row)],
                dst,
                dst_layout,
            )
        }
        _ => unique::apply_into(op, (src, layout), fill, dst, dst_layout),
    }
}
