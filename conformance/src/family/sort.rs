//! Sorting: rows around the tile sizes and far beyond, many ties and special values, and every kind
//! of `k`.

use super::{Family, Named, WIDE_POSITIONS_OF, layouts};
use crate::case::{Dist, Params, Values};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, layout, shape, values};
use isobit_hal::{DType, Op, Sort, TopK};

pub(super) struct SortFamily;

/// Rows of several tiles: whole tiles, one element more, an odd number of tiles, and many tiles.
const LONG: [usize; 9] = [2049, 4096, 4097, 6144, 8192, 8193, 12_289, 20_481, 70_001];

/// Whether the results are positions.
fn is_positions(op: &Op) -> bool {
    matches!(op, Op::ArgSort(_) | Op::ArgTopK(_))
}

impl Family for SortFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        let sort = if params.flag("descending") { Sort::descending() } else { Sort::ascending() };
        let k = params.size("k");
        let top = if params.flag("largest") { TopK::largest(k) } else { TopK::smallest(k) };
        match op {
            Op::Sort(_) => Op::Sort(sort),
            Op::ArgSort(_) => Op::ArgSort(sort),
            Op::TopK(_) => Op::TopK(top),
            _ => Op::ArgTopK(top),
        }
    }

    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        if !is_positions(op) {
            return DType::ALL.iter().map(|&d| vec![d, d]).collect();
        }
        let wide = WIDE_POSITIONS_OF.map(|d| vec![d, DType::I64]);
        DType::ALL.iter().map(|&d| vec![d, DType::U32]).chain(wide).collect()
    }

    fn distinctive(&self, op: &Op) -> &'static [usize] {
        if is_positions(op) { &[0, 1] } else { &[0] }
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let rank = layout::min_rank(plan.input).max(layout::min_rank(plan.dst)).max(1);
        let dims = if index % 8 == 3 {
            let mut dims: Vec<usize> = (0..rank).map(|_| draw.pick(1..3usize)).collect();
            dims[rank - 1] = draw.one_of(&LONG);
            dims
        } else {
            shape::draw(draw, rank, shape::budget)
        };
        let n = dims[dims.len() - 1];
        let mut result = dims.clone();
        let direction = f64::from(u8::from(draw.chance(50)));
        let params = match cell.operation.op() {
            Op::Sort(_) | Op::ArgSort(_) => Named::default().with("descending", &[direction]),
            _ => {
                let any = draw.pick(0..n + 1);
                let k = draw.one_of(&[0, 1, 1, 2, 5, 16, 17, 64, 1025, n / 2, n.saturating_sub(1), n, any, any]).min(n);
                *result.last_mut().expect("the rank is at least 1") = k;
                Named::default().with("largest", &[direction]).with_sizes("k", &[k])
            }
        };
        let layouts = layouts(draw, plan, std::slice::from_ref(&dims), &result);
        (dims, Some(Params::Named(params)), layouts)
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, _op: &Op, _shape: &[usize], _input: usize) -> Option<Values> {
        let dist = match draw.pick(0..10u32) {
            0..2 => Dist::Few,
            2 => Dist::Alike,
            3..6 => Dist::Specials,
            _ => values::general(draw),
        };
        Some(values::of(draw, dist))
    }
}
