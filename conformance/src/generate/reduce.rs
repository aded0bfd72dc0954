//! Reductions: sets of dimensions from none to all, and in every eighth case more than the 65,536 elements of a segment.

use super::{Draw, Drawn, Plan, layout, shape};
use crate::case::Params;
use isobit_hal::ReduceOp;
use proptest::sample::{select, subsequence};

pub fn draw(draw: &mut Draw, op: ReduceOp, plan: &Plan, index: u64) -> Drawn {
    let (mut dims, reduced) = if index % 8 == 6 { long(draw) } else { short(draw, plan) };
    if op.needs_elements() {
        reduced.iter().for_each(|&d| dims[d] = dims[d].max(1));
    }
    let src = layout::draw(draw, &dims, plan.input, plan.combine, true);
    let result: Vec<usize> = (0..dims.len()).map(|d| if reduced.contains(&d) { 1 } else { dims[d] }).collect();
    let dst = layout::draw(draw, &result, plan.dst, plan.combine, false);
    (dims, Some(Params::Dims(reduced)), vec![Some(src), Some(dst)])
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
            // The order in which dimensions are named must not matter.
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

#[cfg(test)]
mod tests {
    use crate::case::{Kind, Params};
    use crate::cells::Cell;

    #[test]
    fn every_reduction_crosses_the_boundary_of_a_segment() {
        for cell in Cell::all().iter().filter(|c| matches!(c.kind, Kind::Reduce(_))) {
            let crossing = (0..64).filter(|&i| {
                let case = crate::generate::case(0, cell, i);
                let Params::Dims(dims) = &case.params else { unreachable!() };
                dims.iter().map(|&d| case.shape[d]).product::<usize>() > 65_536
            });
            assert!(crossing.count() > 2, "{cell}");
        }
    }
}
