//! Gathers and scatters along the short dimension of huge tensors; ids that reach far are in
//! [`special`](crate::huge::special).

use super::Cases;
use crate::case::Dist;
use crate::huge::Sizes;
use crate::huge::tiled::{COLUMNS, Operand, ROWS, Tiled, most};
use isobit_hal::{DType, Indexing, Op};

/// The ids of a row.
const IDS: usize = 77;

pub(super) fn cases(s: Sizes) -> Cases {
    use DType::{F16, F32, I32, I64, U8, U32};
    let (n, half) = (most(s), s.beyond_31());
    let below = Dist::Ids { below: COLUMNS as u32, wild: false };
    let rows = |dtype, columns| Operand::new(dtype, &[ROWS, columns]).along(0);
    let ids = |dtype| rows(dtype, IDS).dist(below);
    let few = |dtype| Operand::new(dtype, &[IDS]).dist(below);
    let flags = Operand::new(U8, &[COLUMNS]).dist(Dist::Mask);
    let (src, moved) = (|dtype| rows(dtype, COLUMNS), |dtype| rows(dtype, IDS));
    vec![
        ("rows", Tiled::new(Op::Gather(Indexing::new(1)), vec![src(F32), ids(U32)], moved(F32), n)),
        ("rows", Tiled::new(Op::Gather(Indexing::new(1)), vec![src(U8), ids(U8)], moved(U8), n)),
        ("rows", Tiled::new(Op::IndexSelect(Indexing::new(1)), vec![src(F16), few(I64)], moved(F16), n)),
        ("rows", Tiled::new(Op::Compress { dim: 1, bound: IDS }, vec![src(F16), flags], moved(F16), n)),
        ("elements", Tiled::new(Op::UniqueInverse, vec![src(U8)], src(U32), half)),
        ("rows", Tiled::new(Op::ScatterSet(Indexing::new(1)), vec![src(F16), ids(U32), moved(F16)], src(F16), n)),
        ("rows", Tiled::new(Op::ScatterAdd(Indexing::new(1)), vec![src(F32), ids(U32), moved(F32)], src(F32), half)),
        ("rows", Tiled::new(Op::ScatterAdd(Indexing::new(1)), vec![src(I32), ids(I64), moved(I32)], src(I32), half)),
        ("rows", Tiled::new(Op::IndexAdd(Indexing::new(1)), vec![src(F32), few(U32), moved(F32)], src(F32), n)),
    ]
}
