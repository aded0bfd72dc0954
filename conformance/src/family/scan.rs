//! Running sums: along every dimension, of lengths at the edges of runs, tiles and what one block of threads takes.

use super::{Family, Named, layouts};
use crate::case::{Params, Values};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, shape, values};
use crate::report::Class;
use isobit_hal::{CumSum, DType, Op};

pub(super) struct ScanFamily;

impl Family for ScanFamily {
    fn ops(&self) -> Vec<Op> {
        vec![Op::CumSum(CumSum::new(0))]
    }

    fn with_params(&self, _op: &Op, params: &Named) -> Op {
        Op::CumSum(CumSum::new(params.size("dim")))
    }

    fn dtypes(&self, _op: &Op) -> Vec<Vec<DType>> {
        DType::ALL.iter().map(|&d| vec![d; 2]).collect()
    }

    fn class(&self, _op: &Op, dtypes: &[DType]) -> Class {
        if dtypes[0].is_float() { Class::Defined } else { Class::Exact }
    }

    fn input_dims(&self, _op: &Op, shape: &[usize], _input: usize) -> Vec<usize> {
        shape.to_vec()
    }

    fn draw(&self, draw: &mut Draw, _cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let (dims, dim) = match index % 16 {
            // Long sequences, alone and beside one another.
            4 => (vec![65_537], 0),
            9 => (vec![draw.one_of(&[4096, 4097, 16_384, 16_385, 20_011])], 0),
            12 => (vec![draw.one_of(&[255, 257, 4099]), draw.one_of(&[1, 3, 17])], 0),
            14 => (vec![draw.one_of(&[1, 3]), 16_400, draw.one_of(&[1, 2])], 1),
            _ => {
                let dims = shape::draw(draw, 1, shape::budget);
                let dim = draw.pick(0..dims.len());
                (dims, dim)
            }
        };
        let layouts = layouts(draw, plan, std::slice::from_ref(&dims), &dims);
        (dims, Some(Params::Named(Named::default().with_sizes("dim", &[dim]))), layouts)
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, _op: &Op, _shape: &[usize], _input: usize) -> Option<Values> {
        let dist = values::accumulated(draw);
        Some(values::of(draw, dist))
    }
}
