//! The tables of the terminal: the table of all pairs, and the table of one pair.

use super::paint::color_of;
use super::{View, ulps};
use crate::report::matrix::{Cell, Line, Matrix, Pair, State};
use crate::report::merged::Merged;
use comfy_table::{Attribute, CellAlignment, ContentArrangement, LineStyle, Row, Table, TableStyle};

/// A rule under the header and no other lines.
const RULED: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

fn ruled<'a>(columns: impl Iterator<Item = &'a str>, view: View) -> Table {
    let mut table = Table::new();
    table.load_style(RULED).set_content_arrangement(ContentArrangement::Disabled);
    if view.color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let header = std::iter::once("").chain(columns);
    table.set_header(header.map(|h| comfy_table::Cell::new(h).add_attribute(Attribute::Bold)));
    table
}

/// Formats the table as text: names aligned left, numbers aligned right.
fn aligned(mut table: Table) -> String {
    for (i, column) in table.column_iter_mut().enumerate() {
        if i == 0 {
            column.set_padding((0, 1));
        } else {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_padding((1, 0));
        }
    }
    table.trim_fmt()
}

/// Formats a table with one line of numbers per name.
pub fn plain<const N: usize>(
    columns: [&str; N],
    rows: impl IntoIterator<Item = (String, [usize; N])>,
    view: View,
) -> String {
    let mut table = ruled(columns.into_iter(), view);
    for (name, numbers) in rows {
        table.add_row(std::iter::once(name).chain(numbers.map(|n| n.to_string())));
    }
    aligned(table)
}

/// Formats the table of all pairs, with one line per family.
pub fn merged(merged: &Merged<'_>, view: View) -> String {
    let mut table = ruled(merged.columns.iter().copied(), view);
    for family in &merged.families {
        let mut row = Row::new();
        row.add_cell(comfy_table::Cell::new(family.name).add_attribute(Attribute::Bold));
        for tally in &family.tallies {
            row.add_cell(comfy_table::Cell::new(tally.text()).fg(color_of(tally.state)));
        }
        table.add_row(row);
    }
    aligned(table)
}

/// Formats the table of one pair: one line per family, followed by one for each operation that did
/// not pass. Without `verbose`, only the families with a failure are shown.
pub fn pair(matrix: &Matrix<'_>, pair: &Pair<'_>, view: View) -> String {
    // Columns in which the pair has no cell are left out to save width.
    let used: Vec<usize> = (0..matrix.columns.len())
        .filter(|&c| pair.lines.iter().any(|l| !matches!(l.cells[c].state, State::Undefined | State::NotRun)))
        .collect();
    let mut table = ruled(used.iter().map(|&c| matrix.columns[c]), view);
    for lines in pair.lines.chunk_by(|a, b| a.family == b.family) {
        if !view.verbose && !states(lines).any(State::is_failure) {
            continue;
        }
        table.add_row(row(lines[0].family, lines, &used, Attribute::Bold));
        for ops in lines.chunk_by(|a, b| a.op == b.op) {
            // For a family of one operation, the family's line is enough.
            if ops.len() < lines.len() && states(ops).any(|s| s <= State::ExpectedFailure) {
                table.add_row(row(&format!("  {}", ops[0].op), ops, &used, Attribute::Reset));
            }
        }
    }
    aligned(table)
}

fn states<'a>(lines: &'a [Line<'_>]) -> impl Iterator<Item = State> + 'a {
    lines.iter().flat_map(|l| &l.cells).map(|c| c.state)
}

/// Formats one line of a pair's table, which covers several lines of the matrix: each column shows
/// the number of cells and their worst state.
fn row(name: &str, lines: &[Line<'_>], used: &[usize], attribute: Attribute) -> Row {
    let mut row = Row::new();
    row.add_cell(comfy_table::Cell::new(name).add_attribute(attribute));
    for &c in used {
        let cells: Vec<&Cell<'_>> = lines.iter().map(|l| &l.cells[c]).filter(|c| c.state != State::Undefined).collect();
        let Some(worst) = cells.iter().map(|c| c.state).min() else {
            row.add_cell(comfy_table::Cell::new(""));
            continue;
        };
        let count = cells.len();
        let ran = cells.iter().filter(|c| c.state <= State::Exact).count();
        let count = if ran == 0 || ran == count { count.to_string() } else { format!("{ran}/{count}") };
        let text = match worst {
            State::Bound => {
                let ulp = cells.iter().filter_map(|c| c.max_ulp()).reduce(f64::max);
                ulp.map_or(format!("{count} ≈"), |u| format!("{count} ≈{}", ulps(u)))
            }
            State::Fail | State::UnexpectedPass | State::ExpectedFailure if cells.len() > 1 => {
                let n = cells.iter().filter(|c| c.state == worst).count();
                format!("{n}/{} {}", cells.len(), worst.symbol())
            }
            _ => format!("{count} {}", worst.symbol()),
        };
        row.add_cell(comfy_table::Cell::new(text).fg(color_of(worst)));
    }
    row
}
