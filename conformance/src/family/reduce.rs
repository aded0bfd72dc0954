//! Reductions: over sets of dimensions from none to all, in every eighth case over more than the
//! 65,536 elements of a segment, and in every sixteenth down the columns of a tall matrix.

use super::Family;
use crate::case::{Dist, LayoutKind, Params, Values};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, layout, shape, values};
use isobit_hal::{DType, Op, Reduce, ReduceOp};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

pub(super) struct ReduceFamily;

fn function(op: &Op) -> ReduceOp {
    match op {
        Op::Reduce(reduce) => reduce.op,
        other => unreachable!("{other} is another family's"),
    }
}

impl Family for ReduceFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        match params {
            Params::Dims(dims) => Op::Reduce(Reduce::new(function(op), dims)),
            _ => op.clone(),
        }
    }

    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        let positions = function(op).is_arg();
        DType::ALL.iter().map(|&d| vec![d, if positions { DType::U32 } else { d }]).collect()
    }

    fn removable_dims(&self, rank: usize) -> usize {
        rank
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let (many, is_tall) = (index % 32 == MANY_AXES, index % 16 == 9);
        let (mut dims, reduced) = match index {
            _ if many => all_of_many(draw, index),
            _ if is_tall => (tall(draw), vec![0]),
            i if i % 8 == 6 => long(draw),
            _ => short(draw, plan),
        };
        if function(cell.operation.op()).needs_elements() {
            reduced.iter().for_each(|&d| dims[d] = dims[d].max(1));
        }
        let kind = match (is_tall, many) {
            (true, _) => LayoutKind::Contiguous,
            // Gaps keep every axis of its own.
            (_, true) => LayoutKind::Narrowed,
            _ => plan.input,
        };
        let src = layout::draw(draw, &dims, kind, plan.combine && !many, true);
        let result: Vec<usize> = (0..dims.len()).map(|d| if reduced.contains(&d) { 1 } else { dims[d] }).collect();
        let dst = layout::draw(draw, &result, plan.dst, plan.combine, false);
        (dims, Some(Params::Dims(reduced)), vec![Some(src), Some(dst)])
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, op: &Op, _shape: &[usize], _input: usize) -> Option<Values> {
        let dist = match function(op) {
            ReduceOp::Sum | ReduceOp::Mean => values::accumulated(draw),
            ReduceOp::Prod => factors(draw),
            _ => return None,
        };
        Some(values::of(draw, dist))
    }
}

/// The first case that reduces every axis of a tensor with more axes than a kernel walks.
const MANY_AXES: u64 = 13;

/// Draws a shape with one axis more than a kernel walks, and in the next such case with the most.
fn all_of_many(draw: &mut Draw, index: u64) -> (Vec<usize>, Vec<usize>) {
    let rank = if (index / 32).is_multiple_of(2) { shape::MANY } else { 12 };
    (shape::draw_rank(draw, rank, shape::budget), (0..rank).collect())
}

/// Factors near one, so that long products neither vanish nor overflow.
fn factors(draw: &mut Draw) -> Dist {
    draw.pick(
        prop_oneof![4 => Just(Dist::Exponents { low: -1, high: 0 }), 2 => Just(Dist::Few), 1 => Just(Dist::Specials),
        1 => (0..6i32).prop_map(|n| Dist::Exponents { low: -n, high: n })],
    )
}

fn short(draw: &mut Draw, plan: &Plan) -> (Vec<usize>, Vec<usize>) {
    let min_rank = layout::min_rank(plan.input).max(layout::min_rank(plan.dst));
    let dims = shape::draw(draw, min_rank, shape::budget);
    let rank = dims.len();
    let all: Vec<usize> = (0..rank).collect();
    let reduced = match draw.pick(0..10u32) {
        _ if rank == 0 => vec![],
        0..=2 => vec![rank - 1],
        3 | 4 => vec![0],
        5 | 6 => all,
        7 => vec![],
        _ => {
            let mut some = draw.pick(subsequence(all, 0..=rank));
            // The order in which the dimensions are listed must not matter.
            if draw.chance(50) {
                some.reverse();
            }
            some
        }
    };
    (dims, reduced)
}

fn long(draw: &mut Draw) -> (Vec<usize>, Vec<usize>) {
    let n = draw.pick(select(&[65535usize, 65536, 65537, 65793, 70001, 131071, 131072, 131073][..]));
    match draw.pick(0..5u32) {
        0 => (vec![n], vec![0]),
        1 => (vec![2, n], vec![1]),
        2 => (vec![n, 2], vec![0]),
        3 => (vec![257, 3, 256], vec![0, 1, 2]),
        _ => (vec![2, 256, 2, 257], vec![1, 3]),
    }
}

/// Draws a matrix with rows for several steps of every lane of a column, and with columns for whole
/// vectors of every dtype.
fn tall(draw: &mut Draw) -> Vec<usize> {
    vec![draw.one_of(&[511, 512, 513, 767, 1023, 1024, 1025, 1537]), draw.one_of(&[16, 16, 32, 48])]
}

#[cfg(test)]
mod tests {
    use crate::case::Params;
    use crate::cells::Cell;

    #[test]
    fn every_reduction_crosses_the_boundary_of_a_segment() {
        for cell in Cell::all().iter().filter(|c| c.operation.op().family() == isobit_hal::Family::Reduce) {
            let crossing = (0..64).filter(|&i| {
                let case = crate::generate::case(0, cell, i);
                let Params::Dims(dims) = &case.params else { unreachable!() };
                dims.iter().map(|&d| case.shape[d]).product::<usize>() > 65_536
            });
            assert!(crossing.count() > 2, "{cell}");
        }
    }
}
