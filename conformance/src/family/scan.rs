//! Scans: along every dimension in both directions, with lengths at the edges of runs, tiles and
//! the capacity of a block of threads, and with whole runs of aligned elements.

use super::{Family, Named, layouts};
use crate::case::{Dist, Params, Values, format_of};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Fixed, Plan, layout, shape, values};
use isobit_hal::{Class, Op, Scan, ScanOp};

pub(super) struct ScanFamily;

fn function(op: &Op) -> ScanOp {
    match op {
        Op::Scan(scan) => scan.op,
        other => unreachable!("{other} is another family's"),
    }
}

impl Family for ScanFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        let mut scan = Scan::new(function(op), params.size("dim"));
        (scan.exclusive, scan.reverse) = (params.flag("exclusive"), params.flag("reverse"));
        Op::Scan(scan)
    }

    fn draw(&self, draw: &mut Draw, _cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let (dims, dim) = match index % 16 {
            // Long sequences, alone and several side by side. Two of 65,600 have a third level of
            // sums even if launches are small.
            4 => {
                let dims = draw.one_of(&[&[65_537][..], &[2, 65_600], &[69_700]]);
                (dims.to_vec(), dims.len() - 1)
            }
            // Rows of whole runs, which begin and end where vectors do.
            6 => (vec![draw.pick(1..4usize), draw.one_of(&[16, 32, 240, 256, 272, 4096, 4112])], 1),
            9 => (vec![draw.one_of(&[4096, 4097, 16_384, 16_385, 20_011])], 0),
            12 => (vec![draw.one_of(&[255, 257, 4099]), draw.one_of(&[1, 3, 17])], 0),
            14 => (vec![draw.one_of(&[1, 3]), 16_400, draw.one_of(&[1, 2])], 1),
            _ => {
                let rank = layout::min_rank(plan.input).max(layout::min_rank(plan.dst)).max(1);
                let dims = shape::draw(draw, rank, shape::budget);
                let dim = draw.pick(0..dims.len());
                (dims, dim)
            }
        };
        let layouts = layouts(draw, plan, std::slice::from_ref(&dims), &dims);
        let flags = [draw.chance(35), draw.chance(50)].map(|flag| f64::from(u8::from(flag)));
        let named = Named::default().with_sizes("dim", &[dim]);
        (dims, Some(Params::Named(named.with("exclusive", &flags[..1]).with("reverse", &flags[1..]))), layouts)
    }

    /// Two sequences side by side with three levels of totals, where small launches do not copy
    /// them: the order of the levels decides how a sum or a product rounds.
    fn fixed(&self, cell: &Cell, nth: u64) -> Option<Fixed> {
        let op = cell.operation.op();
        format_of(cell.dtypes[0]).filter(|_| nth == 0 && op.class(&cell.dtypes) == Class::Defined)?;
        let dist = match function(op) {
            ScanOp::Prod => Dist::Exponents { low: -1, high: 0 },
            _ => Dist::Uniform { scale: 0 },
        };
        let params = Params::Named(Named::default().with_sizes("dim", &[0]));
        Some(Fixed::new(&[16 * (4096 + 256 + 16) + 40, 2], &[dist]).with(params))
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, op: &Op, _shape: &[usize], _input: usize) -> Option<Values> {
        let dist = match function(op) {
            ScanOp::Sum => values::accumulated(draw),
            ScanOp::Prod => values::factors(draw),
            _ => return None,
        };
        Some(values::of(draw, dist))
    }
}
