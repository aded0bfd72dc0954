//! Indexing: ids that repeat, mark padding or lie out of range, tensors wider than the id dtype's
//! range, and lines from zero elements to far more than a block of threads handles.
//!
//! The shape of a case contains the dimensions of the moved elements, followed by the range of the
//! ids: for gather and scatter the dimensions of the tensor, for the others the size of the one
//! dimension.

use super::{Family, Named, layouts};
use crate::case::{Dist, Params, Values};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Fixed, Plan, layout, shape, values};
use isobit_hal::{DType, Op};

pub(super) struct IndexingFamily;

/// Sizes of the indexed dimension: zero, one, around the range of a u8, and around the number of
/// destinations that a block of threads handles.
const SIZES: [usize; 16] = [0, 1, 2, 3, 7, 16, 31, 64, 65, 127, 255, 256, 257, 300, 1025, 2049];

/// The number of moved elements along the dimension and its size, where at least one of the two is
/// large.
const LONG: [(usize, usize); 8] =
    [(70_000, 3), (3, 70_000), (300, 20_001), (4097, 8193), (5000, 1), (1025, 12_289), (2100, 4097), (1, 65_537)];

/// The largest number of elements of a tensor.
const MOST: usize = 72_000;

/// Sources of a sort with more tiles of 2048 than a block has threads.
const MANY_SOURCES: usize = 257 * 2048 + 5;

/// The number of moved elements in a case that is not a long one; it is small because the simulated
/// cards run all of these in 220 cells.
fn budget(draw: &mut Draw) -> usize {
    draw.one_of(&[256, 512, 512, 1024, 2048, 6000])
}

fn dim_of(op: &Op) -> usize {
    match *op {
        Op::Gather { dim }
        | Op::IndexSelect { dim }
        | Op::ScatterSet { dim }
        | Op::ScatterAdd { dim }
        | Op::IndexAdd { dim } => dim,
        _ => unreachable!("not an operation of the family"),
    }
}

/// Whether the ids have one dimension.
fn has_one_dimension(op: &Op) -> bool {
    matches!(op, Op::IndexSelect { .. } | Op::IndexAdd { .. })
}

fn is_taking(op: &Op) -> bool {
    matches!(op, Op::Gather { .. } | Op::IndexSelect { .. })
}

fn is_adding(op: &Op) -> bool {
    matches!(op, Op::ScatterAdd { .. } | Op::IndexAdd { .. })
}

/// Returns the shape of the moved elements, and the shape of the tensor that the ids index.
fn moved_and_tensor<'a>(op: &Op, shape: &'a [usize]) -> (&'a [usize], Vec<usize>) {
    if !has_one_dimension(op) {
        let (moved, tensor) = shape.split_at(shape.len() / 2);
        return (moved, tensor.to_vec());
    }
    let (size, moved) = shape.split_last().expect("a shape ends with the size of the dimension");
    let mut tensor = moved.to_vec();
    // hal refuses a dimension that does not exist.
    if let Some(d) = tensor.get_mut(dim_of(op)) {
        *d = *size;
    }
    (moved, tensor)
}

impl Family for IndexingFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        let dim = params.size("dim");
        match op {
            Op::Gather { .. } => Op::Gather { dim },
            Op::IndexSelect { .. } => Op::IndexSelect { dim },
            Op::ScatterSet { .. } => Op::ScatterSet { dim },
            Op::ScatterAdd { .. } => Op::ScatterAdd { dim },
            _ => Op::IndexAdd { dim },
        }
    }

    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        let ids = [DType::U8, DType::U32, DType::I32, DType::I64];
        let operands = |&d: &DType| ids.map(|i| if is_taking(op) { vec![d, i, d] } else { vec![d, i, d, d] });
        DType::ALL.iter().flat_map(operands).collect()
    }

    fn distinctive(&self, _op: &Op) -> &'static [usize] {
        &[0, 1]
    }

    fn may_report(&self, _op: &Op) -> bool {
        true
    }

    fn input_dims(&self, op: &Op, shape: &[usize], input: usize) -> Vec<usize> {
        let (moved, tensor) = moved_and_tensor(op, shape);
        match input {
            0 => tensor,
            1 if has_one_dimension(op) => moved.get(dim_of(op)).copied().into_iter().collect(),
            _ => moved.to_vec(),
        }
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let op = cell.operation.op();
        let rank = layout::min_rank(plan.input).max(layout::min_rank(plan.dst)).max(1);
        let long = index % 16 == 3;
        let mut moved = match long {
            true => (0..rank.max(draw.pick(1..3usize))).map(|_| draw.one_of(&[1, 1, 2])).collect(),
            false => shape::draw(draw, rank, budget),
        };
        let rank = moved.len();
        let dim = if draw.chance(50) { rank - 1 } else { draw.pick(0..rank) };
        let lines = |moved: &[usize]| -> usize { (0..rank).filter(|&d| d != dim).map(|d| moved[d].max(1)).product() };
        let size = if long {
            let (n, size) = draw.one_of(&LONG);
            moved[dim] = n.min(MOST / lines(&moved));
            size
        } else {
            let n = moved[dim];
            let around = [n, n, n + 1, n / 2, 2 * n];
            if draw.chance(50) { draw.one_of(&SIZES) } else { draw.one_of(&around) }
        };
        let size = size.min(if long { MOST } else { 9000 } / lines(&moved));
        let mut tensor = moved.clone();
        tensor[dim] = size;
        if !has_one_dimension(op) && draw.chance(30) {
            let other = draw.pick(0..rank);
            let room = MOST / tensor.iter().map(|&d| d.max(1)).product::<usize>();
            if other != dim && room > 1 {
                tensor[other] += draw.pick(1..3usize);
            }
        }
        let shape = match has_one_dimension(op) {
            true => [&moved[..], &[size]].concat(),
            false => [&moved[..], &tensor].concat(),
        };
        let params = Params::Named(Named::default().with_sizes("dim", &[dim]));
        let op = self.with_params(op, &params);
        let inputs = if is_taking(&op) { 2 } else { 3 };
        let dims: Vec<_> = (0..inputs).map(|i| self.input_dims(&op, &shape, i)).collect();
        let mut layouts = layouts(draw, plan, &dims, if is_taking(&op) { &moved } else { &tensor });
        if !is_taking(&op) && index % 4 < 2 {
            layouts[0] = None;
        }
        (shape, Some(params), layouts)
    }

    /// A line of more tiles than a block sums at once, in one cell of the sorted paths.
    fn fixed(&self, cell: &Cell, nth: u64) -> Option<Fixed> {
        let one = nth == 0
            && *cell.operation.op() == Op::ScatterSet { dim: 0 }
            && cell.dtypes[..2] == [DType::F32, DType::U32];
        let ids = Dist::Ids { below: 3, wild: false };
        let params = Params::Named(Named::default().with_sizes("dim", &[0]));
        one.then(|| Fixed::new(&[MANY_SOURCES, 3], &[Dist::Ramp, ids, Dist::LogUniform]).with(params))
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, op: &Op, shape: &[usize], input: usize) -> Option<Values> {
        if input == 1 {
            let size = moved_and_tensor(op, shape).1[dim_of(op)] as u32;
            let below = match draw.pick(0..8u32) {
                0 => size.min(1),
                1 | 2 => size.min(3),
                _ => size,
            };
            // Ids out of range lie directly behind the dimension.
            let wild = draw.chance(25);
            return Some(values::of(draw, Dist::Ids { below: if wild { size } else { below }, wild }));
        }
        let dist = if is_adding(op) { values::accumulated(draw) } else { values::general(draw) };
        Some(values::of(draw, dist))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_meets_padding_out_of_range_ids_long_lines_and_the_destination_itself() {
        let cells = Cell::all().iter().filter(|c| c.operation.op().family() == isobit_hal::Family::Indexing);
        let (mut seen, mut far) = (0, 0);
        for cell in cells {
            let cases: Vec<_> = (0..64).map(|i| crate::generate::case(0, cell, i)).collect();
            let ids = |wild: bool| {
                cases.iter().filter(move |c| matches!(c.inputs[1].values, Values::Drawn { dist: Dist::Ids { wild: w, .. }, .. } if w == wild))
            };
            assert!(ids(true).count() > 4 && ids(false).count() > 20, "{cell}");
            let longest = cases.iter().flat_map(|c| &c.shape).max().expect("shapes have dimensions");
            assert!(*longest > 4000, "{cell}: {longest}");
            far += usize::from(*longest > 60_000);
            let in_place = cases.iter().filter(|c| c.in_place()).count();
            assert_eq!(in_place > 4, !is_taking(cell.operation.op()), "{cell}");
            seen += 1;
        }
        let summed = DType::ALL.iter().filter(|dtype| !dtype.is_elementwise()).count();
        assert_eq!(seen, 4 * (3 * DType::ALL.len() + 2 * summed));
        assert!(far > seen / 2, "{far} of {seen} cells have a line beyond 60,000");
    }
}
