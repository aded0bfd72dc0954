//! What works along a dimension: reductions, running sums, norms, rotary embedding, triangles,
//! sorts and maps of indices.

use super::Cases;
use crate::case::Dist;
use crate::huge::Sizes;
use crate::huge::tiled::{COLUMNS, Fill, Operand, ROWS, Tiled, most};
use isobit_hal::{
    Concat, DType, Flip, LayerNorm, Op, Pad, PadMode, Reduce, ReduceOp, Repeat, Roll, RopeForm, Scalar, Scan, Sort,
    TopK, Triangle,
};

/// A row that spans several segments of a reduction and several levels of a running sum.
const LONG: usize = 200_003;
/// A row that several tiles of a sort share.
const MERGED: usize = 20_011;

fn matrix(dtype: DType, rows: usize, columns: usize) -> Operand {
    Operand::new(dtype, &[rows, columns])
}

pub(super) fn cases(s: Sizes) -> Cases {
    let mut out = reductions(s);
    out.extend(scans(s));
    out.extend(norms(s));
    out.extend(sorts(s));
    out.extend(maps(s));
    out
}

fn reductions(s: Sizes) -> Cases {
    use DType::{BF16, F16, F32, I8, I64, U8, U32};
    use ReduceOp::{Any, ArgMax, ArgMin, L2Norm, LogSumExp, Max, MaxNorm, Mean, Min, Prod, Std, Sum, Var};
    let (n, half) = (most(s), s.beyond_31());
    let reduce = |op, dims: &[usize]| Op::Reduce(Reduce::new(op, dims));
    let rows = |op, dtype, to, elements| {
        let dst = matrix(to, ROWS, 1).along(0);
        Tiled::new(reduce(op, &[1]), vec![matrix(dtype, ROWS, COLUMNS).along(0)], dst, elements)
    };
    let columns = |op, dtype, to, elements| {
        let dst = matrix(to, 1, COLUMNS).along(1);
        Tiled::new(reduce(op, &[0]), vec![matrix(dtype, ROWS, COLUMNS).along(1)], dst, elements)
    };
    let pairs = |op, dtype, to| {
        let dst = matrix(to, 7507, 1).along(0);
        Tiled::new(reduce(op, &[1]), vec![matrix(dtype, 7507, 2).along(0)], dst, 2 * n)
    };
    let middle = Operand::new(F32, &[ROWS, 11, 15]).along(0);
    let long = |op, dtype| {
        Tiled::new(reduce(op, &[1]), vec![matrix(dtype, 1, LONG).along(0)], matrix(dtype, 1, 1).along(0), n)
    };
    let turned = matrix(F16, COLUMNS, ROWS).along(1).view(|l, _| l.transpose(0, 1));
    // Every other row has one element that is not 0.
    let rare = matrix(I8, ROWS, COLUMNS).along(0).dist(Dist::Unset { of: 2 * COLUMNS as u32 });
    let decided = Tiled::new(reduce(Any, &[1]), vec![rare], matrix(U8, ROWS, 1).along(0), n);
    vec![
        ("rows", rows(Sum, F32, F32, n)),
        ("columns", columns(Sum, F32, F32, n)),
        (
            "a middle dimension",
            Tiled::new(reduce(Sum, &[1]), vec![middle], Operand::new(F32, &[ROWS, 1, 15]).along(0), n),
        ),
        ("long rows", long(Sum, F32)),
        ("long rows", long(Sum, F16)),
        ("turned rows", Tiled::new(reduce(Sum, &[1]), vec![turned], matrix(F16, ROWS, 1).along(0), n)),
        ("pairs", pairs(Max, U8, U8)),
        ("columns", columns(Max, I8, I8, n)),
        ("rows", rows(Min, I64, I64, half)),
        ("rows", rows(Mean, BF16, BF16, n)),
        ("columns", columns(Mean, F16, F16, n)),
        ("columns", columns(Prod, U32, U32, n)),
        ("rows", rows(LogSumExp, F16, F16, n)),
        ("columns", columns(LogSumExp, F32, F32, half)),
        ("rows", rows(L2Norm, F32, F32, n)),
        ("pairs", pairs(MaxNorm, I8, I8)),
        ("rows", decided),
        ("columns", columns(Var, F32, F32, half)),
        ("long rows", long(Std, BF16)),
        ("rows", rows(ArgMax, F16, U32, n)),
        ("columns", columns(ArgMax, F16, U32, n)),
        (
            "pairs",
            Tiled::new(reduce(ArgMin, &[1]), vec![matrix(I8, 7507, 2).along(0)], matrix(U32, 7507, 1).along(0), n),
        ),
    ]
}

fn scans(s: Sizes) -> Cases {
    use DType::{F16, F32, F64, I8, I32, U8};
    let n = most(s);
    let of = |scan, operand: Operand, elements| Tiled::new(Op::Scan(scan), vec![operand.clone()], operand, elements);
    let same = |dim, operand, elements| of(Scan::cumsum(dim), operand, elements);
    // One sequence that passes 2^32 elements; the sums of a tile cancel, so the result repeats.
    let endless = |dtype, dims: &[usize], elements| {
        let operand = Operand::new(dtype, dims).along(0);
        Tiled::new(Op::Scan(Scan::cumsum(0)), vec![operand.clone().fill(Fill::ZeroSum)], operand, elements)
    };
    vec![
        ("rows", same(1, matrix(F32, ROWS, COLUMNS).along(0), n)),
        ("columns", same(0, matrix(F32, ROWS, COLUMNS).along(1), n)),
        ("long rows", same(1, matrix(F32, 1, LONG).along(0), n)),
        ("long columns", same(0, matrix(F16, 20_011, 5).along(1), n)),
        ("one sequence", endless(F32, &[15_015], n)),
        ("one sequence", endless(I32, &[15_015], n)),
        ("one sequence", endless(F64, &[15_015], s.beyond_31())),
        ("three long columns", endless(F32, &[5005, 3], n)),
        ("rows", same(1, matrix(U8, ROWS, COLUMNS).along(0), n)),
        ("rows from their ends", of(Scan::cumsum(1).reverse(), matrix(F32, ROWS, COLUMNS).along(0), n)),
        ("columns from their ends", of(Scan::cummax(0).reverse(), matrix(I8, ROWS, COLUMNS).along(1), n)),
        ("long rows", of(Scan::cumprod(1).exclusive(), matrix(F32, 1, LONG).along(0), n)),
        ("long rows from their ends", of(Scan::cummin(1).reverse().exclusive(), matrix(F16, 1, LONG).along(0), n)),
    ]
}

fn norms(s: Sizes) -> Cases {
    use DType::{BF16, F16, F32, U8};
    let n = most(s);
    let rows = |dtype| matrix(dtype, ROWS, COLUMNS).along(0);
    let weight = |dtype| Operand::new(dtype, &[COLUMNS]);
    let long = |dtype| matrix(dtype, 1, LONG).along(0);
    let turned = matrix(F32, COLUMNS, ROWS).along(1).view(|l, _| l.transpose(0, 1));
    let heads = || Operand::new(F16, &[3, 5, 7, 66]).along(0);
    let angles = || Operand::new(F16, &[7, 33]);
    let steps = || Operand::new(F32, &[3, 7, 5, 66]).along(0);
    let step_angles = || Operand::new(F32, &[7, 33]);
    let planes = |dtype| Operand::new(dtype, &[3, 35, 143]).along(0);
    let (rms, skip) = (Op::RmsNorm { eps: 1e-5 }, Op::SkipLayerNorm { eps: 1e-5 });
    vec![
        ("rows", Tiled::new(Op::Softmax, vec![rows(F32)], rows(F32), n)),
        ("turned rows", Tiled::new(Op::Softmax, vec![turned], rows(F32), n)),
        ("long rows", Tiled::new(Op::Softmax, vec![long(F16)], long(F16), n)),
        ("rows", Tiled::new(Op::LogSoftmax, vec![rows(F16)], rows(F16), n)),
        ("rows", Tiled::new(rms.clone(), vec![rows(F32), weight(F32)], rows(F32), n)),
        ("rows", Tiled::new(rms, vec![rows(BF16), weight(BF16)], rows(BF16), n)),
        (
            "rows",
            Tiled::new(Op::LayerNorm(LayerNorm::new(1e-5)), vec![rows(F16), weight(F16), weight(F16)], rows(F16), n),
        ),
        ("rows", Tiled::new(skip, [vec![rows(BF16); 2], vec![weight(BF16); 3]].concat(), rows(BF16), n)),
        ("batches", Tiled::new(Op::Rope(RopeForm::Halves), vec![heads(), angles(), angles()], heads(), n)),
        ("batches", Tiled::new(Op::Rope(RopeForm::Interleaved), vec![heads(), angles(), angles()], heads(), n)),
        ("batches", Tiled::new(Op::Rope(RopeForm::Thd), vec![steps(), step_angles(), step_angles()], steps(), n)),
        ("planes", Tiled::new(Op::Triangle(Triangle::lower(3)), vec![planes(F32)], planes(F32), n)),
        ("planes", Tiled::new(Op::Triangle(Triangle::upper(-2)), vec![planes(U8)], planes(U8), n)),
    ]
}

fn maps(s: Sizes) -> Cases {
    use DType::{F16, F32, I16, I64, U8};
    let n = most(s);
    let (rows, wider) = (|d| matrix(d, ROWS, COLUMNS).along(0), |d, more| matrix(d, ROWS, COLUMNS + more).along(0));
    let pad = |mode| Op::Pad(Pad::new(&[0, 3], &[0, 4], mode));
    let zero = PadMode::Constant(Scalar::zero(F16));
    // Columns that are moved as whole rows of their tile.
    let tiles = |d, rows| Operand::new(d, &[5, rows, 33]).along(0);
    let joined = |d| matrix(d, ROWS, 5 * COLUMNS).along(0);
    vec![
        ("rows", Tiled::new(Op::Flip(Flip::new(&[1])), vec![rows(F16)], rows(F16), n)),
        ("rows", Tiled::new(Op::Roll(Roll::new(&[-7], &[1])), vec![rows(U8)], rows(U8), n)),
        ("planes", Tiled::new(Op::Roll(Roll::new(&[2], &[1])), vec![tiles(F32, 9)], tiles(F32, 9), n)),
        ("rows", Tiled::new(pad(zero), vec![rows(F16)], wider(F16, 7), n)),
        ("rows", Tiled::new(pad(PadMode::Reflect), vec![rows(F32)], wider(F32, 7), n)),
        ("rows", Tiled::new(pad(PadMode::Circular), vec![rows(I16)], wider(I16, 7), n)),
        ("rows", Tiled::new(Op::Repeat(Repeat::new(&[1, 2])), vec![rows(U8)], wider(U8, COLUMNS), n)),
        ("rows", Tiled::new(Op::Concat(Concat::new(1, 5)), vec![rows(U8); 5], joined(U8), n)),
        ("rows", Tiled::new(Op::Concat(Concat::new(1, 5)), vec![rows(I64); 5], joined(I64), s.beyond_31())),
    ]
}

fn sorts(s: Sizes) -> Cases {
    use DType::{F16, F32, I8, U32};
    let n = most(s);
    let sort = Sort::ascending();
    let (rows, merged) = (|d| matrix(d, ROWS, COLUMNS).along(0), |d| matrix(d, 1, MERGED).along(0));
    let first = |dtype| matrix(dtype, ROWS, 7).along(0);
    let top = TopK::largest(7);
    vec![
        ("rows", Tiled::new(Op::Sort(sort), vec![rows(F16)], rows(F16), n)),
        ("rows", Tiled::new(Op::ArgSort(Sort::descending()), vec![rows(I8)], rows(U32), n)),
        ("merged rows", Tiled::new(Op::Sort(Sort::descending()), vec![merged(F32)], merged(F32), n)),
        ("merged rows", Tiled::new(Op::ArgSort(sort), vec![merged(F16)], merged(U32), n)),
        ("rows", Tiled::new(Op::TopK(top), vec![rows(F32)], first(F32), n)),
        ("rows", Tiled::new(Op::ArgTopK(top), vec![rows(F16)], first(U32), n)),
    ]
}
