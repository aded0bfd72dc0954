//! The form of a copy for rows with a distance between them.

use super::Family;
use crate::case::{LayoutKind, LayoutSpec};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, shape};

/// The name of the form for rows.
pub(crate) const COPY2D: &str = "copy2d";

/// [`copy2d`](isobit_hal::BackendStorage::copy2d): a copy described by two strides, the inner one
/// being 1.
pub(super) struct Copy2dForm;

impl Family for Copy2dForm {
    fn draw(&self, draw: &mut Draw, _cell: &Cell, plan: &Plan, _index: u64) -> Drawn {
        let dims = shape::draw_rank(draw, 2, shape::budget);
        let layouts = vec![Some(rows(draw, plan.input)), Some(rows(draw, plan.dst))];
        (dims, None, layouts)
    }
}

fn rows(draw: &mut Draw, kind: LayoutKind) -> LayoutSpec {
    let mut r = LayoutSpec::contiguous(2);
    match kind {
        LayoutKind::Contiguous => {}
        LayoutKind::Broadcast => r.0[0].broadcast = true,
        LayoutKind::Stepped => r.0[0].step = draw.pick(2..4usize),
        _ => {
            r.0[1].after = draw.pick(1..9usize);
            r.0[1].before = draw.pick(0..5usize);
            r.0[0].before = draw.pick(0..2usize);
        }
    }
    r
}
