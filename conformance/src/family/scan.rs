//! Running sums: along every dimension, with lengths at the edges of runs, tiles and the capacity
//! of a block of threads.

use super::{Family, Named, layouts};
use crate::case::{Dist, Params, Values, format_of};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Fixed, Plan, shape, values};
use isobit_hal::{CumSum, Op};

pub(super) struct ScanFamily;

impl Family for ScanFamily {
    fn with_params(&self, _op: &Op, params: &Params) -> Op {
        Op::CumSum(CumSum::new(params.size("dim")))
    }

    fn draw(&self, draw: &mut Draw, _cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let (dims, dim) = match index % 16 {
            // Long sequences, alone and several side by side. Two of 65,600 have a third level of
            // sums even if launches are small.
            4 => {
                let dims = draw.one_of(&[&[65_537][..], &[2, 65_600], &[69_700]]);
                (dims.to_vec(), dims.len() - 1)
            }
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

    /// Two sequences side by side with three levels of sums, where small launches do not copy them:
    /// the order of the levels decides how a sum rounds.
    fn fixed(&self, cell: &Cell, nth: u64) -> Option<Fixed> {
        format_of(cell.dtypes[0]).filter(|_| nth == 0)?;
        let params = Params::Named(Named::default().with_sizes("dim", &[0]));
        Some(Fixed::new(&[16 * (4096 + 256 + 16) + 40, 2], &[Dist::Uniform { scale: 0 }]).with(params))
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, _op: &Op, _shape: &[usize], _input: usize) -> Option<Values> {
        let dist = values::accumulated(draw);
        Some(values::of(draw, dist))
    }
}
