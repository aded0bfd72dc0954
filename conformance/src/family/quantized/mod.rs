//! Quantized matrices: conversions to and from each block format, and the products, including those
//! by experts.
//!
//! The shape of a case counts blocks where hal counts elements or bytes, so that a shrunk case
//! still has whole blocks: `[.., blocks]` for a conversion, `[.., m, blocks of k, n]` for a
//! product, `[experts, tokens, top, rows, blocks of k, n]` for a product by experts, where rows is
//! 1 for one row of activations per token and 2 for one per chosen expert.

mod fixed;

use super::{Family, layouts};
use crate::case::{Dist, LayoutKind, Params, Values};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Fixed, Plan, layout, shape, values};
use isobit_hal::{DType, GgmlDType, Numerics, Op};

pub(super) struct QuantizedFamily;

/// Sizes around the width of a matrix-vector kernel, warps and tiles.
const ROWS: &[usize] = &[1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 65];
const FEW_ROWS: &[usize] = &[1, 1, 2, 3, 4, 5, 7, 8];
const COLUMNS: &[usize] = &[1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65, 97, 129];
/// The number of blocks per row: inside, at and beyond the segment of 256 elements, and long rows.
const BLOCKS: &[usize] = &[1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 25, 33, 64, 129];
const SUPER_BLOCKS: &[usize] = &[1, 1, 1, 2, 3, 5, 9, 17];
/// The number of elements of a conversion; the search for a scale takes thousands of operations per
/// element.
const ELEMENTS: usize = 4096;

/// Draws one of `choices` that fits into `left`, and divides `left` by it.
fn fit(draw: &mut Draw, choices: &[usize], left: &mut usize) -> usize {
    let fitting: Vec<usize> = choices.iter().copied().filter(|c| c <= left).collect();
    let size = if fitting.is_empty() { 1 } else { draw.one_of(&fitting) };
    *left /= size;
    size
}

fn format(op: &Op) -> GgmlDType {
    match op {
        Op::Quantize(f) | Op::Dequantize(f) => *f,
        Op::QMatmul(q) | Op::QMatmulId(q) => q.format,
        other => unreachable!("{other} is another family's"),
    }
}

/// Draws the number of multiplications of a case: a few thousand, sometimes enough for several
/// tiles. Simulated cards take longer for block products, which have whole tiles or groups of
/// lines.
fn budget(draw: &mut Draw, cell: &Cell) -> usize {
    match cell.numerics {
        Some(Numerics::Block) if cell.dtypes[1] != DType::F32 => draw.one_of(&[1 << 10, 1 << 11, 1 << 12]),
        Some(Numerics::Block) => draw.one_of(&[1 << 11, 1 << 12, 1 << 13, 1 << 14]),
        _ => draw.one_of(&[1 << 13, 1 << 14, 1 << 14, 1 << 15, 1 << 15, 1 << 16, 1 << 18]),
    }
}

/// The rows to draw from: for block products mostly so few that they have a kernel of their own.
fn rows(draw: &mut Draw, cell: &Cell) -> &'static [usize] {
    if cell.numerics == Some(Numerics::Block) && draw.chance(85) { FEW_ROWS } else { ROWS }
}

fn blocks_of_k(draw: &mut Draw, format: GgmlDType, left: &mut usize) -> usize {
    let choices = if format.block_size() < 256 { BLOCKS } else { SUPER_BLOCKS };
    *left /= format.block_size();
    fit(draw, choices, left)
}

/// Sometimes sets a dimension to 0.
fn sometimes_none(draw: &mut Draw, shape: &mut [usize]) {
    if draw.chance(4) {
        let d = draw.pick(0..shape.len());
        shape[d] = 0;
    }
}

impl QuantizedFamily {
    fn conversion(draw: &mut Draw, format: GgmlDType, plan: &Plan) -> Vec<usize> {
        let rank = layout::min_rank(plan.input).max(layout::min_rank(plan.dst)).max(1);
        let rank = rank.max(draw.one_of(&[1, 1, 2, 2, 3, 4]));
        let mut left = ELEMENTS / format.block_size();
        (0..rank).rev().map(|_| fit(draw, shape::EDGES, &mut left)).collect()
    }

    fn product(draw: &mut Draw, cell: &Cell, format: GgmlDType, plan: &Plan) -> Vec<usize> {
        let mut left = budget(draw, cell);
        let k = blocks_of_k(draw, format, &mut left);
        let (m, n) = if draw.chance(50) {
            let rows = rows(draw, cell);
            let m = fit(draw, rows, &mut left);
            (m, fit(draw, COLUMNS, &mut left))
        } else {
            let n = fit(draw, COLUMNS, &mut left);
            let rows = rows(draw, cell);
            (fit(draw, rows, &mut left), n)
        };
        let batches = match plan.dst {
            LayoutKind::Permuted => draw.one_of(&[1, 1, 2]),
            _ => draw.one_of(&[0, 0, 0, 1, 2]),
        };
        let mut shape: Vec<usize> = (0..batches).map(|_| fit(draw, &[1, 2, 3], &mut left)).collect();
        shape.extend([m, k, n]);
        shape
    }

    fn product_by_experts(draw: &mut Draw, cell: &Cell, format: GgmlDType) -> Vec<usize> {
        let mut left = budget(draw, cell);
        let k = blocks_of_k(draw, format, &mut left);
        let top = fit(draw, &[1, 2, 2, 3, 4], &mut left);
        let n = fit(draw, COLUMNS, &mut left);
        let rows = rows(draw, cell);
        let tokens = fit(draw, rows, &mut left);
        vec![draw.one_of(&[1, 2, 3, 5, 8]), tokens, top, draw.one_of(&[1, 2]), k, n]
    }
}

impl Family for QuantizedFamily {
    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        let all = DType::ALL.iter().copied();
        match op {
            Op::Quantize(_) => all.map(|d| vec![d, DType::U8]).collect(),
            Op::Dequantize(_) => all.map(|d| vec![DType::U8, d]).collect(),
            Op::QMatmul(_) => all.map(|d| vec![DType::U8, d, d]).collect(),
            _ => all.map(|d| vec![DType::U8, d, DType::U32, d]).collect(),
        }
    }

    fn distinctive(&self, op: &Op) -> &'static [usize] {
        if matches!(op, Op::Quantize(_)) { &[0] } else { &[1] }
    }

    fn may_report(&self, op: &Op) -> bool {
        matches!(op, Op::QMatmulId(_))
    }

    fn is_variant(&self, cell: &Cell) -> bool {
        matches!(cell.operation.op(), Op::QMatmul(_) | Op::QMatmulId(_)) && cell.dtypes[1] != DType::F32
    }

    fn input_dims(&self, op: &Op, shape: &[usize], input: usize) -> Vec<usize> {
        let (size, bytes) = (format(op).block_size(), format(op).block_bytes());
        match (op, shape, input) {
            (Op::Quantize(_), [outer @ .., blocks], _) => [outer, &[blocks * size]].concat(),
            (Op::Dequantize(_), [outer @ .., blocks], _) => [outer, &[blocks * bytes]].concat(),
            (Op::QMatmul(_), [.., k, n], 0) => vec![*n, k * bytes],
            (Op::QMatmul(_), [outer @ .., k, _], _) => [outer, &[k * size]].concat(),
            (_, &[experts, _, _, _, k, n], 0) => vec![experts, n, k * bytes],
            (_, &[_, tokens, top, rows, k, _], 1) => vec![tokens, if rows == 1 { 1 } else { top }, k * size],
            (_, &[_, tokens, top, ..], _) => vec![tokens, top],
            _ => unreachable!("the family drew this shape"),
        }
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let op = cell.operation.op();
        let format = format(op);
        let (mut shape, inputs) = match op {
            Op::Quantize(_) | Op::Dequantize(_) => (Self::conversion(draw, format, plan), 1),
            Op::QMatmul(_) => (Self::product(draw, cell, format, plan), 2),
            _ => (Self::product_by_experts(draw, cell, format), 3),
        };
        sometimes_none(draw, &mut shape);
        // Sums of nothing, by experts with rows for a tile each.
        if matches!(op, Op::QMatmulId(_)) && index % 32 == 21 {
            shape = vec![2, 33, 2, 1, 0, 5];
        }
        let dims: Vec<Vec<usize>> = (0..inputs).map(|i| self.input_dims(op, &shape, i)).collect();
        let dst = cell.operation.operand_dims(op, &shape, inputs);
        let layouts = layouts(draw, plan, &dims, &dst);
        (shape, Some(Params::None), layouts)
    }

    fn fixed(&self, cell: &Cell, nth: u64) -> Option<Fixed> {
        let index = format(cell.operation.op()).index() as u8;
        fixed::of(cell, index, nth)
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, op: &Op, shape: &[usize], input: usize) -> Option<Values> {
        let dist = match (op, input) {
            (Op::QMatmulId(_), 2) => Dist::Ids { below: shape[0] as u32, wild: draw.chance(25) },
            (Op::Quantize(_), _) if draw.chance(10) => draw.one_of(&[Dist::Levels, Dist::Alike]),
            (Op::Quantize(_), _) | (_, 1) => values::accumulated(draw),
            // Arbitrary bytes: scales of every magnitude, infinities and NaNs.
            _ if draw.chance(15) => Dist::Uniform { scale: 8 },
            _ => Dist::Blocks { format: format(op).index() as u8 },
        };
        Some(values::of(draw, dist))
    }
}
