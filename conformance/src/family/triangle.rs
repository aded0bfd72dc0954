//! Triangles: diagonals inside the matrix, at its edges and outside, batches, and in-place calls.

use super::{Family, Named, layouts};
use crate::case::Params;
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, shape};
use isobit_hal::{Op, Triangle};

pub(super) struct TriangleFamily;

impl Family for TriangleFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        let diagonal = params.number("diagonal") as i64;
        let upper = matches!(op, Op::Triangle(t) if t.upper);
        Op::Triangle(if upper { Triangle::upper(diagonal) } else { Triangle::lower(diagonal) })
    }

    fn draw(&self, draw: &mut Draw, _cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let mut dims = shape::draw(draw, 3, shape::budget);
        if index % 3 == 2 {
            // Row lengths that are multiples of the vector length of every dtype.
            let last = dims.len() - 1;
            dims[last] = draw.one_of(&[16, 32, 48, 64]);
            dims[last - 1] = draw.one_of(&[1, 2, 17, 48]);
            dims[..last - 1].iter_mut().for_each(|d| *d = (*d).min(3));
        }
        let [.., rows, columns] = dims[..] else { unreachable!("of rank 3 at least") };
        let (rows, columns) = (rows as f64, columns as f64);
        let diagonal = match draw.pick(0..8) {
            0 | 1 => 0.0,
            2 => draw.one_of(&[1.0, -1.0, 2.0, -3.0]),
            3 => draw.one_of(&[columns, columns - 1.0, -rows, 1.0 - rows]),
            4 => draw.one_of(&[columns + 5.0, -rows - 5.0, i64::MAX as f64, i64::MIN as f64]),
            _ => draw.pick(-rows..=columns).trunc(),
        };
        let mut layouts = layouts(draw, plan, &[dims.clone()], &dims);
        if index % 8 == 5 {
            layouts[0] = None;
        }
        (dims, Some(Params::Named(Named::default().with("diagonal", &[diagonal]))), layouts)
    }
}
