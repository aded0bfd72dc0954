//! The cases, family by family.

mod elementwise;
mod indexing;
mod product;
mod quantized;
mod rows;
mod windows;

use super::special::Special;
use super::tiled::Tiled;
use super::{Case, Sizes, Work};
use crate::cells::Cell;
use crate::family::COPY2D;
use isobit_hal::{DType, Op};

/// The cases that a family adds, with what they are called in the report.
type Cases = Vec<(&'static str, Tiled)>;

/// Returns every case with its cell.
pub(super) fn all(sizes: Sizes) -> Vec<(Option<&'static Cell>, Case)> {
    let families: [fn(Sizes) -> Cases; 6] =
        [elementwise::cases, rows::cases, product::cases, windows::cases, indexing::cases, quantized::cases];
    let tiled = families.into_iter().flat_map(|family| family(sizes)).map(|(what, tiled)| {
        let name = if tiled.is_rows() { COPY2D } else { tiled.op().name() };
        (Some(cell(name, tiled.op(), &tiled.dtypes())), Case { what, work: Work::Tiled(Box::new(tiled)) })
    });
    let special = Special::all().into_iter().map(|(what, special)| {
        let cell = special.op().map(|(op, dtypes)| cell(op.name(), &op, &dtypes));
        (cell, Case { what, work: Work::Special(special) })
    });
    tiled.chain(special).collect()
}

/// Returns the cell of an operation at its dtypes.
fn cell(name: &str, op: &Op, dtypes: &[DType]) -> &'static Cell {
    let same = |c: &&Cell| c.operation.name() == name && c.dtypes == dtypes && c.numerics == op.numerics();
    Cell::all().iter().find(same).unwrap_or_else(|| panic!("there is no cell {op} of {dtypes:?}"))
}
