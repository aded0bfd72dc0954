//! Rotary embedding: heads of every size around those of models, with and without a batch dimension
//! in the tables.
//!
//! The shape of a case contains the batch, the heads, the time, half of the elements of a head, and
//! 2 if the tables have a batch dimension, else 1.

use super::{Family, layouts};
use crate::case::{Params, Values};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, values};
use isobit_hal::{Op, RopeForm};

pub(super) struct RopeFamily;

impl Family for RopeFamily {
    fn input_dims(&self, op: &Op, shape: &[usize], input: usize) -> Vec<usize> {
        let [batch, heads, time, half, tables] = *shape else { unreachable!("five numbers make a case") };
        match (input, tables) {
            (0, _) if *op == Op::Rope(RopeForm::Thd) => vec![batch, time, heads, 2 * half],
            (0, _) => vec![batch, heads, time, 2 * half],
            (_, 1) => vec![time, half],
            _ => vec![batch, time, half],
        }
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, _index: u64) -> Drawn {
        let mut shape = vec![
            draw.one_of(&[1, 1, 2, 3]),
            draw.one_of(&[1, 2, 3, 7, 8]),
            draw.one_of(&[1, 2, 5, 16, 33]),
            draw.one_of(&[1, 2, 3, 5, 8, 16, 32, 33, 64]),
            draw.one_of(&[1, 2]),
        ];
        if draw.chance(5) {
            let none = draw.pick(0..4usize);
            shape[none] = 0;
        }
        let dims = |operand| cell.operation.operand_dims(cell.operation.op(), &shape, operand);
        let layouts = layouts(draw, plan, &[dims(0), dims(1), dims(2)], &dims(3));
        (shape, Some(Params::None), layouts)
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, _op: &Op, _shape: &[usize], input: usize) -> Option<Values> {
        let dist =
            if input > 0 && draw.chance(60) { crate::case::Dist::Uniform { scale: 0 } } else { values::general(draw) };
        Some(values::of(draw, dist))
    }
}
