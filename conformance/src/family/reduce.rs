//! Reductions: over sets of dimensions from none to all, in every eighth case over more than the
//! 65,536 elements of a segment, and in every sixteenth down the columns of a tall matrix.
//! Variances have corrections, also of more than there are elements, and half of the extremes may
//! be of no elements.

use super::{Family, Named, of_positions};
use crate::case::{Dist, LayoutKind, Params, Values};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, layout, shape, values};
use isobit_hal::{DType, Op, Reduce, ReduceOp};
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
        let (dims, named) = match params {
            Params::Dims(dims) => (dims, None),
            Params::DimsAnd(dims, named) => (dims, Some(named)),
            _ => return op.clone(),
        };
        let mut reduce = Reduce::new(function(op), dims);
        let number = |name| named.and_then(|named| named.numbers(name).first().copied());
        if let Some(correction) = number("correction") {
            reduce.correction = correction as u32;
        }
        reduce.empty_extremes = number("empty_extremes").is_some_and(|flag| flag != 0.0);
        Op::Reduce(reduce)
    }

    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        if function(op).is_arg() {
            return of_positions();
        }
        DType::ALL.iter().map(|&d| vec![d, function(op).result_dtype(d)]).collect()
    }

    fn distinctive(&self, op: &Op) -> &'static [usize] {
        if function(op).is_arg() { &[0, 1] } else { &[0] }
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
        let params = match named(draw, function(cell.operation.op())) {
            None => Params::Dims(reduced.clone()),
            Some(named) => Params::DimsAnd(reduced.clone(), named),
        };
        if matches!(self.with_params(cell.operation.op(), &params), Op::Reduce(r) if r.needs_elements()) {
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
        (dims, Some(params), vec![Some(src), Some(dst)])
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, op: &Op, _shape: &[usize], _input: usize) -> Option<Values> {
        let dist = match function(op) {
            ReduceOp::Sum | ReduceOp::Mean | ReduceOp::L1Norm => values::accumulated(draw),
            ReduceOp::L2Norm | ReduceOp::Var | ReduceOp::Std => values::accumulated(draw),
            ReduceOp::LogSumExp => exponents(draw),
            ReduceOp::Any | ReduceOp::All => deciding(draw, function(op)),
            ReduceOp::Prod => values::factors(draw),
            _ => return None,
        };
        Some(values::of(draw, dist))
    }
}

/// Draws the parameters of a reduction that has some.
fn named(draw: &mut Draw, op: ReduceOp) -> Option<Named> {
    match op {
        ReduceOp::Var | ReduceOp::Std => {
            let correction = draw.one_of(&[0, 1, 1, 2, 5, 1000]);
            Some(Named::default().with_sizes("correction", &[correction]))
        }
        ReduceOp::Min | ReduceOp::Max => draw.chance(50).then(|| Named::default().with("empty_extremes", &[1.0])),
        _ => None,
    }
}

/// Draws exponents of e near the largest, so that most of them count, and others.
fn exponents(draw: &mut Draw) -> Dist {
    match draw.pick(0..4u32) {
        0 | 1 => Dist::Uniform { scale: draw.pick(-1..7) },
        _ => values::accumulated(draw),
    }
}

/// Draws values of which few decide the result: those that are not 0, or those that are.
fn deciding(draw: &mut Draw, op: ReduceOp) -> Dist {
    let of = draw.one_of(&[8, 300, 5000, 100_000]);
    match draw.pick(0..6u32) {
        0..=3 if op == ReduceOp::Any => Dist::Unset { of },
        0..=3 => Dist::Set { of },
        4 => Dist::Specials,
        _ => Dist::Few,
    }
}

/// The first case that reduces every axis of a tensor with more axes than a kernel walks.
const MANY_AXES: u64 = 13;

/// Draws a shape with one axis more than a kernel walks, and in the next such case with the most.
fn all_of_many(draw: &mut Draw, index: u64) -> (Vec<usize>, Vec<usize>) {
    let rank = if (index / 32).is_multiple_of(2) { shape::MANY } else { 12 };
    (shape::draw_rank(draw, rank, shape::budget), (0..rank).collect())
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
    use crate::cells::Cell;

    #[test]
    fn every_reduction_crosses_the_boundary_of_a_segment() {
        for cell in Cell::all().iter().filter(|c| c.operation.op().family() == isobit_hal::Family::Reduce) {
            let crossing = crate::generate::full(cell)
                .filter(|case| case.params.dims().iter().map(|&d| case.shape[d]).product::<usize>() > 65_536);
            assert!(crossing.count() > 2, "{cell}");
        }
    }
}
