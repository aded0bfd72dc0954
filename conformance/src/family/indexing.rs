//! Indexing: ids that repeat, mark padding, count from the end or lie out of range, tensors wider
//! than the id dtype's range, and lines from zero elements to far more than a block of threads
//! handles.
//!
//! The shape of a case contains the dimensions of the moved elements, followed by the range of the
//! ids: for gather and scatter the dimensions of the tensor, for `index_select` and `index_add` the
//! size of the one dimension, and for tuples of ids the sizes of the dimensions that they index.

use super::{Family, Named, layouts};
use crate::case::{Dist, Params, Values};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Fixed, Plan, layout, shape, values};
use isobit_hal::{DType, GatherNd, Indexing, Op, ScatterNd, ScatterOp, ScatterReduce};

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

/// Destinations of a line that take more than eight blocks, if each holds a part of four lines.
const FAR_DESTINATIONS: usize = 8 * 2048 + 10;

/// Sources of a sort with more tiles of 2048 than a block has threads.
const MANY_SOURCES: usize = 257 * 2048 + 5;

/// The dtypes of values with which tuples of ids of every dtype are tried.
const WITH_ALL_IDS: [DType; 4] = [DType::U8, DType::F16, DType::F32, DType::I64];

/// The number of moved elements in a case that is not a long one; it is small because the simulated
/// cards run all of these in more than 500 cells.
fn budget(draw: &mut Draw) -> usize {
    draw.one_of(&[256, 512, 512, 1024, 2048, 6000])
}

/// Returns the dimension that ids index; tuples of ids have several, and none of their own.
fn dim_of(op: &Op) -> usize {
    op.indexing().map_or(0, |p| p.dim)
}

/// Whether the ids have one dimension.
fn has_one_dimension(op: &Op) -> bool {
    matches!(op, Op::IndexSelect(_) | Op::IndexAdd(_))
}

/// Returns the number of dimensions that tensor and tuples of ids share; `None` if ids are single.
fn batch_dims(op: &Op) -> Option<usize> {
    match op {
        Op::GatherNd(p) => Some(p.batch_dims),
        Op::ScatterNd(_) => Some(0),
        _ => None,
    }
}

fn is_taking(op: &Op) -> bool {
    op.scatter_op().is_none()
}

/// The dimensions of a case with tuples of ids, by their shape: that of the moved elements, then
/// the sizes of the indexed dimensions, then the number of dimensions of the tuples.
struct Tuples<'a> {
    shared: &'a [usize],
    tuples: &'a [usize],
    slice: &'a [usize],
    sizes: &'a [usize],
}

impl<'a> Tuples<'a> {
    /// A shape that was changed while a case shrank may have dimensions that do not fit.
    fn of(shape: &'a [usize], batch_dims: usize) -> Self {
        let (&[depth, rank], rest) = shape.split_last_chunk().map_or((&[0, 0], shape), |(rest, last)| (last, rest));
        let (moved, sizes) = rest.split_at(rest.len().saturating_sub(depth));
        let (tuples, slice) = moved.split_at(rank.min(moved.len()));
        let (shared, _) = tuples.split_at(batch_dims.min(tuples.len()));
        Self { shared, tuples, slice, sizes }
    }

    fn ids(&self) -> Vec<usize> {
        [self.tuples, &[self.sizes.len()]].concat()
    }

    fn tensor(&self) -> Vec<usize> {
        [self.shared, self.sizes, self.slice].concat()
    }

    fn moved(&self) -> Vec<usize> {
        [self.tuples, self.slice].concat()
    }
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

/// Draws a case with tuples of ids: of none to more dimensions than one launch takes.
fn draw_tuples(draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
    let op = cell.operation.op();
    let rank = layout::min_rank(plan.input).max(layout::min_rank(plan.dst)).max(1);
    let (moved, most, rank) = if index % 16 == 3 {
        (vec![draw.one_of(&[2100, 4097, 8193]), draw.one_of(&[1, 2, 3])], 9000, 1)
    } else {
        let moved = shape::draw(draw, rank, budget);
        let rank = draw.pick(0..moved.len() + 1);
        (moved, budget(draw), rank)
    };
    let (tuples, slice) = moved.split_at(rank);
    let shared = if is_taking(op) { draw.pick(0..rank + 1) } else { 0 };
    let taken: usize = slice.iter().chain(&tuples[..shared]).map(|&d| d.max(1)).product();
    let mut left = (most / taken).max(1);
    let depth = draw.one_of(&[0, 1, 1, 2, 2, 3, 4, 9]);
    let mut sizes = Vec::new();
    for _ in 0..depth {
        let size = draw.one_of(&[1, 2, 2, 3, 7, 16, 65, 257]).min(left);
        left /= size;
        sizes.push(if draw.chance(1) { 0 } else { size });
    }
    let shape = [&moved[..], &sizes, &[depth, rank]].concat();
    let params = Named::default().with_sizes("batch_dims", &[shared]).with("negative_ids", &[negative(draw)]);
    let of = Tuples::of(&shape, shared);
    let mut dims = vec![of.tensor(), of.ids()];
    if !is_taking(op) {
        dims.push(of.moved());
    }
    let mut layouts = layouts(draw, plan, &dims, &if is_taking(op) { of.moved() } else { of.tensor() });
    if !is_taking(op) && index % 4 < 2 {
        layouts[0] = None;
    }
    (shape, Some(Params::Named(params)), layouts)
}

/// Draws whether negative ids count from the end.
fn negative(draw: &mut Draw) -> f64 {
    f64::from(u8::from(draw.chance(40)))
}

impl Family for IndexingFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        let (dim, negative) = (params.size("dim"), params.flag("negative_ids"));
        let along = if negative { Indexing::new(dim).with_negative_ids() } else { Indexing::new(dim) };
        match op {
            Op::Gather(_) => Op::Gather(along),
            Op::IndexSelect(_) => Op::IndexSelect(along),
            Op::ScatterSet(_) => Op::ScatterSet(along),
            Op::ScatterAdd(_) => Op::ScatterAdd(along),
            Op::IndexAdd(_) => Op::IndexAdd(along),
            Op::ScatterReduce(p) => {
                let op = ScatterReduce::new(p.op, dim);
                Op::ScatterReduce(if negative { op.with_negative_ids() } else { op })
            }
            Op::GatherNd(_) => {
                let op = GatherNd::new(params.size("batch_dims"));
                Op::GatherNd(if negative { op.with_negative_ids() } else { op })
            }
            Op::ScatterNd(p) => {
                let op = ScatterNd::new(p.op);
                Op::ScatterNd(if negative { op.with_negative_ids() } else { op })
            }
            _ => unreachable!("not an operation of the family"),
        }
    }

    /// Tuples of ids become i64 ids before anything else, so that other dtypes of ids are tried
    /// with one dtype of each size.
    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        let operands = |d: DType, i: DType| if is_taking(op) { vec![d, i, d] } else { vec![d, i, d, d] };
        let ids = [DType::U8, DType::U32, DType::I32, DType::I64];
        let of = |d: DType| {
            let all = batch_dims(op).is_none() || WITH_ALL_IDS.contains(&d);
            ids.into_iter().filter(move |&i| all || i == DType::I64).map(move |i| operands(d, i))
        };
        DType::ALL.iter().flat_map(|&d| of(d).collect::<Vec<_>>()).collect()
    }

    fn distinctive(&self, _op: &Op) -> &'static [usize] {
        &[0, 1]
    }

    fn may_report(&self, _op: &Op) -> bool {
        true
    }

    fn input_dims(&self, op: &Op, shape: &[usize], input: usize) -> Vec<usize> {
        if let Some(batch_dims) = batch_dims(op) {
            let of = Tuples::of(shape, batch_dims);
            return match input {
                0 => of.tensor(),
                1 => of.ids(),
                _ => of.moved(),
            };
        }
        let (moved, tensor) = moved_and_tensor(op, shape);
        match input {
            0 => tensor,
            1 if has_one_dimension(op) => moved.get(dim_of(op)).copied().into_iter().collect(),
            _ => moved.to_vec(),
        }
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let op = cell.operation.op();
        if batch_dims(op).is_some() {
            return draw_tuples(draw, cell, plan, index);
        }
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
        let params = Named::default().with_sizes("dim", &[dim]).with("negative_ids", &[negative(draw)]);
        let params = Params::Named(params);
        let op = self.with_params(op, &params);
        let inputs = if is_taking(&op) { 2 } else { 3 };
        let dims: Vec<_> = (0..inputs).map(|i| self.input_dims(&op, &shape, i)).collect();
        let mut layouts = layouts(draw, plan, &dims, if is_taking(&op) { &moved } else { &tensor });
        if !is_taking(&op) && index % 4 < 2 {
            layouts[0] = None;
        }
        (shape, Some(params), layouts)
    }

    /// In one cell: a line of more tiles than a block sums at once, for the sorted path; and lines
    /// whose elements lie far apart, with more destinations than a block holds and with none.
    fn fixed(&self, cell: &Cell, nth: u64) -> Option<Fixed> {
        if *cell.operation.op() != Op::ScatterSet(Indexing::new(0)) || cell.dtypes[..2] != [DType::F32, DType::U32] {
            return None;
        }
        let (shape, below, wild): (&[usize], _, _) = match nth {
            0 => (&[MANY_SOURCES, 3], 3, false),
            1 => (&[1100, 3, FAR_DESTINATIONS, 3], FAR_DESTINATIONS as u32, true),
            2 => (&[257, 2, 0, 2], 0, false),
            _ => return None,
        };
        let params = Params::Named(Named::default().with_sizes("dim", &[0]));
        Some(Fixed::new(shape, &[Dist::Ramp, Dist::Ids { below, wild }, Dist::LogUniform]).with(params))
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, op: &Op, shape: &[usize], input: usize) -> Option<Values> {
        if input != 1 {
            let dist = match op.scatter_op() {
                Some(ScatterOp::Add) => values::accumulated(draw),
                Some(ScatterOp::Prod) => values::factors(draw),
                _ => values::general(draw),
            };
            return Some(values::of(draw, dist));
        }
        // Ids of one size serve all dimensions that tuples index: those of the smaller ones are out
        // of range more often.
        let size = match batch_dims(op) {
            Some(batch_dims) => {
                let sizes = Tuples::of(shape, batch_dims).sizes;
                let (least, most) = (sizes.iter().min(), sizes.iter().max());
                (if draw.chance(80) { least } else { most }).copied().unwrap_or(0)
            }
            None => moved_and_tensor(op, shape).1[dim_of(op)],
        } as u32;
        let below = match draw.pick(0..8u32) {
            0 => size.min(1),
            1 | 2 => size.min(3),
            _ => size,
        };
        // Ids out of range lie directly before and behind the dimension.
        let wild = draw.chance(25);
        let below = if wild { size } else { below };
        let dist = match op.has_negative_ids() {
            true => Dist::IdsFromEnd { below, wild },
            false => Dist::Ids { below, wild },
        };
        Some(values::of(draw, dist))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_meets_padding_out_of_range_ids_long_lines_and_the_destination_itself() {
        let cells = Cell::all().iter().filter(|c| c.operation.op().family() == isobit_hal::Family::Indexing);
        let (mut seen, mut single, mut far) = (0, 0, 0);
        for cell in cells {
            let cases: Vec<_> = crate::generate::full(cell).collect();
            let ids = |wild: bool| {
                let is = move |dist: &Dist| match *dist {
                    Dist::Ids { wild: w, .. } | Dist::IdsFromEnd { wild: w, .. } => w == wild,
                    _ => false,
                };
                cases.iter().filter(move |c| matches!(&c.inputs[1].values, Values::Drawn { dist, .. } if is(dist)))
            };
            assert!(ids(true).count() > 2 && ids(false).count() > 20, "{cell}");
            let longest = cases.iter().flat_map(|c| &c.shape).max().expect("shapes have dimensions");
            assert!(*longest > 2000, "{cell}: {longest}");
            let has_negative =
                |c: &&crate::case::Case| cell.operation.with_params(&cell.dtypes, &c.params).has_negative_ids();
            assert!((8..56).contains(&cases.iter().filter(has_negative).count()), "{cell}");
            if batch_dims(cell.operation.op()).is_none() {
                single += 1;
                far += usize::from(*longest > 60_000);
            } else {
                let depths: std::collections::BTreeSet<_> = cases.iter().map(|c| c.shape[c.shape.len() - 2]).collect();
                assert!(depths.len() > 4, "{cell}: {depths:?}");
            }
            let in_place = cases.iter().filter(|c| c.in_place()).count();
            assert_eq!(in_place > 4, !is_taking(cell.operation.op()), "{cell}");
            seen += 1;
        }
        let combined = DType::ALL.iter().filter(|dtype| !dtype.is_elementwise()).count();
        assert_eq!(single, 4 * (3 * DType::ALL.len() + 5 * combined));
        assert_eq!(seen, single + 2 * DType::ALL.len() + 4 * combined + 6 * 3 * WITH_ALL_IDS.len());
        assert!(far > single / 2, "{far} of {single} cells have a line beyond 60,000");
    }
}
