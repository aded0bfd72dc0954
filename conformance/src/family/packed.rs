//! Packed elements: rows whose last byte is full or not, and values around the ends of the range
//! and halfway between elements.
//!
//! The shape of a case is that of the elements.

use super::{Family, Named, layouts};
use crate::case::{Dist, Params, Values};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, layout, shape, values};
use isobit_hal::{DType, Op, Pack, PackedDType, Unpack};
use proptest::prelude::*;

pub(super) struct PackedFamily;

/// Rows of more than one launch's bytes, if launches are small.
const LONG: [usize; 4] = [97, 200, 515, 1024];

fn packed(op: &Op) -> PackedDType {
    match op {
        Op::Pack(Pack { dtype, .. }) | Op::Unpack(Unpack { dtype, .. }) => *dtype,
        other => unreachable!("{other} is another family's"),
    }
}

impl Family for PackedFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        match op {
            Op::Unpack(op) => Op::Unpack(Unpack::new(op.dtype, params.size("elements"))),
            Op::Pack(op) if params.flag("non_saturating") => Op::Pack(Pack::non_saturating(op.dtype)),
            other => other.clone(),
        }
    }

    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        let all = DType::ALL.iter();
        match op {
            Op::Pack(_) => all.map(|&dtype| vec![dtype, DType::U8]).collect(),
            _ => all.map(|&dtype| vec![DType::U8, dtype]).collect(),
        }
    }

    fn distinctive(&self, op: &Op) -> &'static [usize] {
        if matches!(op, Op::Pack(_)) { &[0] } else { &[1] }
    }

    fn input_dims(&self, op: &Op, shape: &[usize], _input: usize) -> Vec<usize> {
        let mut dims = shape.to_vec();
        if let (Op::Unpack(op), Some(last)) = (op, dims.last_mut()) {
            *last = op.dtype.row_bytes(*last);
        }
        dims
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let rank = layout::min_rank(plan.input).max(layout::min_rank(plan.dst)).max(1);
        let mut dims = shape::draw(draw, rank, shape::budget);
        if index % 8 == 5 {
            let last = dims.len() - 1;
            dims[..last].iter_mut().for_each(|d| *d = (*d).min(3));
            dims[last] = draw.one_of(&LONG);
        }
        let elements = *dims.last().expect("one dimension at least");
        let params = match cell.operation.op() {
            Op::Unpack(_) => Params::Named(Named::default().with_sizes("elements", &[elements])),
            Op::Pack(op) if op.dtype.is_fnuz() => {
                Params::Named(Named::default().with_sizes("non_saturating", &[(index % 2) as usize]))
            }
            _ => Params::None,
        };
        let op = cell.operation.with_params(&cell.dtypes, &params);
        let [from, to] = [0, 1].map(|operand| cell.operation.operand_dims(&op, &dims, operand));
        let layouts = layouts(draw, plan, &[from], &to);
        (dims, Some(params), layouts)
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, op: &Op, _shape: &[usize], _input: usize) -> Option<Values> {
        let dist = match (op, packed(op)) {
            (Op::Unpack(_), _) => Dist::Uniform { scale: 8 },
            (_, PackedDType::F8E8M0) if draw.chance(70) => {
                draw.pick((-140..128i32, 0..20i32).prop_map(|(low, n)| Dist::Exponents { low, high: low + n }))
            }
            (_, dtype) if dtype.is_fnuz() && draw.chance(50) => {
                // From below half of the least number to beyond the largest, with halves of a unit.
                let n = if dtype == PackedDType::F8E4M3FNUZ { (-12, 9) } else { (-19, 17) };
                Dist::Exponents { low: n.0, high: n.1 }
            }
            _ if draw.chance(70) => draw.pick(prop_oneof![
                3 => (0..5i32).prop_map(|scale| Dist::Uniform { scale }),
                2 => (2..6u32).prop_map(|bits| Dist::Integers { bits }),
                1 => Just(Dist::Halfway),
            ]),
            _ => values::general(draw),
        };
        Some(values::of(draw, dist))
    }
}
