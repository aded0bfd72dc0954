//! Fills: every layout of a destination alone, and values of every kind.

use super::{Family, elementwise};
use crate::case::{Params, scalar_from_bits};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, values};
use isobit_hal::Op;

pub(super) struct FillFamily;

impl Family for FillFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        match (op, params) {
            (Op::Fill(value), Params::Fill(bits)) => Op::Fill(scalar_from_bits(value.dtype(), *bits)),
            _ => op.clone(),
        }
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn removable_dims(&self, rank: usize) -> usize {
        rank
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        elementwise::draw(draw, cell, plan, index)
    }

    fn params(&self, draw: &mut Draw, cell: &Cell) -> Params {
        Params::Fill(values::one(draw, cell.dst_dtype()))
    }
}
