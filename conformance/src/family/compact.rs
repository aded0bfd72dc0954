//! Results whose size depends on values: bounds below, at and above what is kept, masks that are
//! set everywhere, nowhere and in between, rows of equal values, and tensors of many tiles.
//!
//! The shape of a case is that of the source, for `compress` followed by the length of the mask.

use super::{Family, Named, layouts, of_positions};
use crate::case::{Dist, Params, Values};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, layout, shape, values};
use isobit_hal::{DType, Op};

pub(super) struct CompactFamily;

/// Numbers of elements around whole tiles of 4096, and of many tiles.
const LONG: [usize; 8] = [4095, 4096, 4097, 8192, 8193, 12_289, 20_481, 70_001];

/// Whether the second input is a mask.
fn has_mask(op: &Op) -> bool {
    matches!(op, Op::MaskedSelect { .. } | Op::Compress { .. })
}

/// Whether all elements are sorted.
fn sorts(op: &Op) -> bool {
    matches!(
        op,
        Op::CountUnique | Op::Unique { .. } | Op::UniqueInverse | Op::UniqueCounts { .. } | Op::UniqueFirst { .. }
    )
}

/// Returns the shape of the source.
fn source<'a>(op: &Op, shape: &'a [usize]) -> &'a [usize] {
    if let Op::Compress { .. } = op { &shape[..shape.len() - 1] } else { shape }
}

/// Values of which many are equal.
fn tied(draw: &mut Draw) -> Dist {
    match draw.pick(0..9u32) {
        0..2 => Dist::Few,
        2 => Dist::Alike,
        3 => Dist::Ramp,
        4 => Dist::Integers { bits: 4 },
        5 | 6 => Dist::Specials,
        _ => values::general(draw),
    }
}

/// Values of which any share is 0.
fn kept(draw: &mut Draw, is_mask: bool) -> Dist {
    let of = draw.one_of(&[2, 3, 16, 200, 5000]);
    match draw.pick(0..9u32) {
        0 => Dist::Ones,
        1 => Dist::NegativeZeros,
        2 | 3 => Dist::Unset { of },
        4 | 5 => Dist::Set { of },
        _ if is_mask => Dist::Mask,
        6 => Dist::Specials,
        _ => values::general(draw),
    }
}

impl Family for CompactFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        let (dim, bound) = (params.size("dim"), params.size("bound"));
        match op {
            Op::Nonzero { .. } => Op::Nonzero { bound },
            Op::MaskedSelect { .. } => Op::MaskedSelect { bound },
            Op::Compress { .. } => Op::Compress { dim, bound },
            Op::Unique { .. } => Op::Unique { bound },
            Op::UniqueCounts { .. } => Op::UniqueCounts { bound },
            Op::UniqueFirst { .. } => Op::UniqueFirst { bound },
            other => other.clone(),
        }
    }

    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        if has_mask(op) {
            // Masks of other dtypes are tried with one dtype of each size: kernels tell no more
            // apart.
            let wide = [DType::U32, DType::I64].into_iter();
            let wide = wide.flat_map(|mask| [DType::I8, DType::BF16, DType::F32, DType::F64].map(|d| vec![d, mask, d]));
            return DType::ALL.iter().map(|&d| vec![d, DType::U8, d]).chain(wide).collect();
        }
        match op {
            Op::Unique { .. } => DType::ALL.iter().map(|&d| vec![d, d]).collect(),
            _ => of_positions(),
        }
    }

    fn distinctive(&self, op: &Op) -> &'static [usize] {
        if let Op::Unique { .. } = op { &[0] } else { &[0, 1] }
    }

    fn input_dims(&self, op: &Op, shape: &[usize], input: usize) -> Vec<usize> {
        match (op, input) {
            (Op::Compress { .. }, 1) => shape[shape.len() - 1..].to_vec(),
            _ => source(op, shape).to_vec(),
        }
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let op = cell.operation.op();
        let is_compress = matches!(op, Op::Compress { .. });
        let rank = layout::min_rank(plan.input).max(usize::from(is_compress));
        let mut dims = shape::draw(draw, rank, shape::budget);
        if index % 8 == 3 {
            dims = (0..rank.max(1)).map(|_| draw.pick(1..3usize)).collect();
            let at = draw.pick(0..dims.len());
            dims[at] = draw.one_of(&LONG);
        }
        let dim = if is_compress { draw.pick(0..dims.len()) } else { 0 };
        let n: usize = if is_compress { dims[dim] } else { dims.iter().product() };
        let any = draw.pick(0..n + 1);
        let bound = draw.one_of(&[n, n, n, n + 1, n + 70, 0, 1, 3, n / 2, n / 4, n.saturating_sub(1), any, any]);
        let params = Named::default().with_sizes("bound", &[bound]);
        let params = Params::Named(if is_compress { params.with_sizes("dim", &[dim]) } else { params });
        let mut shape = dims.clone();
        if is_compress {
            let shorter = draw.pick(0..n + 1);
            shape.push(draw.one_of(&[n, n, n, shorter]));
        }
        let op = self.with_params(op, &params);
        let inputs: Vec<_> = (0..op.inputs()).map(|i| self.input_dims(&op, &shape, i)).collect();
        let result = match op {
            Op::CountNonzero | Op::CountUnique => vec![],
            Op::Nonzero { .. } => vec![bound, dims.len()],
            Op::UniqueInverse => dims,
            Op::Compress { .. } => {
                dims[dim] = bound;
                dims
            }
            _ => vec![bound],
        };
        let layouts = layouts(draw, plan, &inputs, &result);
        (shape, Some(params), layouts)
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, op: &Op, _shape: &[usize], input: usize) -> Option<Values> {
        let flags = usize::from(has_mask(op));
        let dist = match sorts(op) {
            _ if input != flags => values::general(draw),
            true => tied(draw),
            false => kept(draw, flags == 1),
        };
        Some(values::of(draw, dist))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;
    use std::cmp::Ordering;

    #[test]
    fn every_cell_meets_small_and_large_bounds_masks_of_every_kind_and_many_tiles() {
        let cells = Cell::all().iter().filter(|c| c.operation.op().family() == isobit_hal::Family::Compact);
        let mut seen = 0;
        for cell in cells {
            let op = cell.operation.op();
            let cases: Vec<_> = crate::generate::full(cell).collect();
            let elements = |case: &Case| source(op, &case.shape).iter().product::<usize>();
            assert!(cases.iter().filter(|c| elements(c) > 8192).count() > 2, "{cell}");
            let has_bound = *op != CompactFamily.with_params(op, &Params::Named(Named::default()));
            let bounds = |order: Ordering| {
                let most =
                    |c: &Case| if let Op::Compress { .. } = op { c.shape[c.params.size("dim")] } else { elements(c) };
                cases.iter().filter(|c| c.params.size("bound").cmp(&most(c)) == order).count()
            };
            if has_bound {
                let found = [Ordering::Less, Ordering::Equal, Ordering::Greater].map(bounds);
                assert!(found.into_iter().all(|n| n > 0), "{cell}: {found:?}");
            }
            let flags = usize::from(has_mask(op));
            let drawn = |kind: &dyn Fn(Dist) -> bool| {
                cases.iter().any(|c| matches!(c.inputs[flags].values, Values::Drawn { dist, .. } if kind(dist)))
            };
            if sorts(op) {
                assert!(drawn(&|d| d == Dist::Few) && drawn(&|d| d == Dist::Specials), "{cell}");
            } else {
                assert!(drawn(&|d| d == Dist::Ones) && drawn(&|d| d == Dist::NegativeZeros), "{cell}");
                assert!(drawn(&|d| matches!(d, Dist::Unset { .. })), "{cell}");
                assert!(drawn(&|d| matches!(d, Dist::Set { .. })), "{cell}");
            }
            seen += 1;
        }
        let (all, wide) = (DType::ALL.len(), 4);
        assert_eq!(seen, 6 * (all + wide) + 2 * (all + 2 * wide) + all);
    }
}
