//! Matrix products: sizes around the tiles, inner sizes around the segments of 256, batches and
//! broadcast batches, zero points of each shape, and scales of each granularity.
//!
//! The shape of a case contains the batch dimensions, `m`, `k` and `n`. An operand that repeats
//! along a batch dimension is passed with that dimension or, with an odd last dimension, with one
//! of size 1 in its place, or without it.

use super::{Family, VendorCall};
use crate::case::{Dist, LayoutKind, LayoutSpec, Params, Values};
use crate::cells::Cell;
use crate::compare::{Comparison, Product, compare_product};
use crate::generate::{Draw, Drawn, Fixed, Plan, layout, values};
use crate::schema::Class;
use isobit_hal::{DType, Layout, Numerics, Op, ScaledMatmul};
use proptest::sample::select;

const OUTER: &[usize] = &[1, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 100, 127, 128, 129, 257];
const INNER: &[usize] = &[
    0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 511, 512, 513, 769,
    1025,
];
/// The number of multiplications in a case.
const BUDGET: usize = 1 << 19;

pub(super) struct MatmulFamily;

impl Family for MatmulFamily {
    fn removable_dims(&self, rank: usize) -> usize {
        rank - 3
    }

    /// Bytes of either sign in each operand, or f8 of either format.
    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        let pairs = |dtypes: [DType; 2]| dtypes.into_iter().flat_map(move |lhs| dtypes.map(|rhs| [lhs, rhs]));
        match op {
            Op::MatmulInteger(p) => pairs([DType::U8, DType::I8])
                .map(|operands| {
                    let zeros = p.zero_points().map(|side| operands[side]);
                    operands.into_iter().chain(zeros).chain([DType::I32]).collect()
                })
                .collect(),
            Op::ScaledMatmul(_) => pairs([DType::F8E4M3, DType::F8E5M2])
                .flat_map(|[lhs, rhs]| {
                    let results = [DType::F16, DType::BF16, DType::F32];
                    results.map(|dst| vec![lhs, rhs, DType::F32, DType::F32, dst])
                })
                .collect(),
            _ => DType::ALL.iter().map(|&dtype| vec![dtype; 3]).collect(),
        }
    }

    fn distinctive(&self, op: &Op) -> &'static [usize] {
        match op {
            Op::MatmulInteger(_) => &[0, 1],
            Op::ScaledMatmul(_) => &[0, 1, 4],
            _ => &[0],
        }
    }

    /// The size of k decides whether there is a zero point for each line, and with m and n for what
    /// there is a scale.
    fn input_dims(&self, op: &Op, shape: &[usize], input: usize) -> Vec<usize> {
        let [batch @ .., m, k, n] = shape else { unreachable!("three numbers at least make a case") };
        match (op, input) {
            (_, 0) => [batch, &[*m, *k]].concat(),
            (_, 1) => [batch, &[*k, *n]].concat(),
            (Op::MatmulInteger(p), _) => {
                let side = p.zero_points().nth(input - 2).expect("an input that the operation has");
                match k % 4 {
                    2 => vec![],
                    3 => vec![1],
                    _ => vec![[*m, *n][side]],
                }
            }
            (Op::ScaledMatmul(_), _) => scale_dims(batch, [*m, *n][input - 2], *k, input == 2),
            _ => unreachable!("a product has two inputs"),
        }
    }

    fn pass(&self, layouts: &mut [Layout]) {
        let batch = layouts[0].dims().len() - 2;
        for d in 0..batch {
            // The other operand keeps the size of the dimension.
            let repeats = |l: &Layout| l.stride()[d] == 0 && l.dims()[d] > 1 && l.dims()[batch + 1] % 2 == 1;
            if let Some(layout) = layouts[..2].iter_mut().find(|l| repeats(l)) {
                *layout = layout.narrow(d, 0, 1).expect("it has an element");
            }
        }
        for (one, other) in [(0, 1), (1, 0)] {
            while layouts[one].dims().len() > 2
                && layouts[one].dims().len() == layouts[other].dims().len()
                && layouts[one].dims()[0] == 1
                && layouts[other].dims()[0] > 1
            {
                layouts[one] = layouts[one].squeeze(0).expect("it has size 1");
            }
        }
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, _index: u64) -> Drawn {
        drawn(draw, cell, plan)
    }

    /// Products below the smallest number, of which the last gives the sum its sign, in a tile and
    /// in a single row; for block products, subnormal numbers with large ones, wide segments, and
    /// many segments in several tiles.
    fn fixed(&self, cell: &Cell, nth: u64) -> Option<Fixed> {
        if cell.numerics == Some(Numerics::Block) && nth >= 2 {
            if nth >= 4 {
                return many_segments(cell.dtypes[0], nth - 4);
            }
            let subnormal = match cell.dtypes[0] {
                DType::F32 | DType::BF16 => [(-149, -128), (100, 120)],
                _ => [(-9, 6), (-6, 6)],
            };
            let exponents = subnormal.map(|(low, high)| Dist::Exponents { low, high });
            let shape = [[18, 140, 33], [2, 300, 17]].get(nth as usize - 2)?;
            return Some(Fixed::new(shape, &exponents));
        }
        let exponents = match cell.dtypes[0] {
            DType::F32 | DType::BF16 => Dist::Exponents { low: -80, high: -76 },
            DType::F64 => Dist::Exponents { low: -545, high: -539 },
            _ => return None,
        };
        let shape = [[18, 9, 33], [1, 9, 130]].get(nth as usize).filter(|_| cell.class() != Class::Vendor)?;
        Some(Fixed::new(shape, &[exponents; 2]))
    }

    fn values(&self, draw: &mut Draw, cell: &Cell, _op: &Op, _shape: &[usize], input: usize) -> Option<Values> {
        let dist = match cell.class() {
            // Sums wrap, so no value decides a result.
            Class::Exact => return None,
            Class::Vendor if input >= 2 => Dist::Exponents { low: -4, high: 3 },
            Class::Vendor => values::bounded(draw),
            _ => values::accumulated(draw),
        };
        Some(values::of(draw, dist))
    }

    fn compare_vendor(&self, call: VendorCall<'_>) -> Comparison {
        let [batch @ .., m, k] = &call.input_dims[0][..] else { unreachable!("a product is of matrices") };
        let n = call.input_dims[1][call.input_dims[1].len() - 1];
        let mut inputs = call.inputs;
        let scales = inputs.split_off(2);
        let [mut lhs, mut rhs] = inputs.try_into().expect("a product has two operands");
        let is_scaled = if let [of_lhs, of_rhs] = &scales[..] {
            scale(&mut lhs, [*m, *k], of_lhs, &call.input_dims[2], batch);
            scale(&mut rhs, [*k, n], of_rhs, &call.input_dims[3], batch);
            true
        } else {
            false
        };
        let product = Product { batch: batch.iter().product(), m: *m, k: *k, n, lhs, rhs, added_last: false };
        let bits = is_scaled.then_some(F8_BITS);
        compare_product(&product, call.dtype, bits, call.got)
    }
}

/// The significant bits with which units of matrices add products of f8: of Hopper's, which keep 13
/// bits below the largest of those that they add at once.
const F8_BITS: i32 = 13;

/// The dimensions of an operand's scales: one for all, lines, blocks of k and of lines, or squares;
/// with odd k over the batch.
fn scale_dims(batch: &[usize], lines: usize, k: usize, is_lhs: bool) -> Vec<usize> {
    let blocks = |size: usize| size.div_ceil(ScaledMatmul::BLOCK);
    let [along_lines, along_k] = match (lines + k) % 6 {
        0 => return vec![1],
        1 => [lines, 1],
        2 => [lines, blocks(k)],
        3 => [blocks(lines), blocks(k)],
        4 => [1, blocks(k)],
        _ => [blocks(lines), 1],
    };
    let outer = if k % 2 == 1 { batch } else { &[] };
    let matrix = if is_lhs { [along_lines, along_k] } else { [along_k, along_lines] };
    [outer, &matrix].concat()
}

/// Multiplies an operand's values, matrices of these dimensions over a batch, by its scales.
fn scale(values: &mut [f64], [rows, columns]: [usize; 2], scales: &[f64], dims: &[usize], batch: &[usize]) {
    let ([outer @ .., of_rows, of_columns], false) = (dims, scales.len() == 1) else {
        let of_all = scales.first().copied().unwrap_or(1.0);
        return values.iter_mut().for_each(|x| *x *= of_all);
    };
    assert!(outer.is_empty() || outer == batch, "the scales of a case are of one matrix or of the batch");
    let place = |at: usize, size: usize, scales: usize| match scales {
        1 => 0,
        _ if scales == size => at,
        _ => at / ScaledMatmul::BLOCK,
    };
    for (i, x) in values.iter_mut().enumerate() {
        let (row, column) = (place(i / columns % rows, rows, *of_rows), place(i % columns, columns, *of_columns));
        let matrix = if outer.is_empty() { 0 } else { i / (rows * columns) };
        *x *= scales[(matrix * of_rows + row) * of_columns + column];
    }
}

/// Exponents of both operands in a range in which the mean of a segment is close to where it counts
/// as wide, so many segments are wide and many are not, in any order.
pub(super) fn around_wide(dtype: DType) -> [Dist; 2] {
    let both = match dtype {
        DType::F32 => [(-60, -13), (-12, 35)],
        DType::BF16 => [(-20, 3), (-3, 20)],
        // These dtypes have too few exponents for both sides, if most results are to be finite.
        DType::F16 => [(-24, 15), (-24, -10)],
        _ => [(-9, 7), (-9, -4)],
    };
    both.map(|(low, high)| Dist::Exponents { low, high })
}

/// Block products of two tiles or more of any shape along m and n, and five segments along k, all
/// ragged: one matrix, and a batch of two that shares the right operand, which only longer runs get
/// to.
fn many_segments(dtype: DType, nth: u64) -> Option<Fixed> {
    let exponents = around_wide(dtype);
    let one = [130, 524, 133];
    match nth {
        0 => Some(Fixed::new(&one, &exponents)),
        1 => {
            let mut shared = LayoutSpec::contiguous(3);
            shared.0[0].broadcast = true;
            Some(Fixed { layout: Some((1, shared)), ..Fixed::new(&[2, one[0], one[1], one[2]], &exponents) })
        }
        _ => None,
    }
}

fn drawn(draw: &mut Draw, cell: &Cell, plan: &Plan) -> Drawn {
    let min_rank = layout::min_rank(plan.input).max(layout::min_rank(plan.dst)).max(2);
    let batch_rank = draw.one_of(&[0usize, 0, 0, 1, 1, 2, 2, 4]).max(min_rank - 2);
    let k = draw.pick(select(INNER));
    let mut left = BUDGET / k.max(16);
    let mut fit = |draw: &mut Draw, choices: &[usize]| {
        let fitting: Vec<usize> = choices.iter().copied().filter(|&c| c <= left).collect();
        let size = draw.one_of(&fitting);
        left /= size;
        size
    };
    let (mut m, n) = (fit(draw, OUTER), fit(draw, OUTER));
    let mut shape: Vec<usize> = (0..batch_rank).map(|_| fit(draw, &[1, 2, 3, 5])).collect();
    if draw.chance(3) {
        m = 0;
    }
    let batch = shape.clone();
    shape.extend([m, k, n]);
    let dims = |last: [usize; 2]| [&batch[..], &last].concat();
    let rhs_kind = if plan.plain { LayoutKind::Contiguous } else { draw.one_of(&LayoutKind::ALL) };
    let lhs = layout::draw(draw, &dims([m, k]), plan.input, plan.combine, true);
    let rhs = layout::draw(draw, &dims([k, n]), rhs_kind, plan.combine, true);
    let dst = layout::draw(draw, &dims([m, n]), plan.dst, plan.combine, false);
    let mut layouts = vec![Some(lhs), Some(rhs)];
    let op = cell.operation.op();
    for input in 2..op.inputs() {
        let dims = MatmulFamily.input_dims(op, &shape, input);
        let kind = if plan.plain { LayoutKind::Contiguous } else { draw.one_of(&LayoutKind::ALL) };
        layouts.push(Some(layout::draw(draw, &dims, kind, plan.combine, true)));
    }
    layouts.push(Some(dst));
    (shape, Some(Params::None), layouts)
}
