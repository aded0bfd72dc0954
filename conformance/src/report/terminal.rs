//! The report on a terminal: a line a family (and one for each operation that did not pass), totals, and what to run next.

use super::matrix::{Cell, Line, Matrix, Pair, State};
use super::{Report, ResultRow, Written};
use comfy_table::{Attribute, CellAlignment, Color, ContentArrangement, LineStyle, Row, Table, TableStyle};
use std::fmt::Write;

/// The table, the totals, the failures with a command each, and where the files are. `color` says whether the reader shows it.
pub fn terminal(report: &Report, written: Option<&Written>, color: bool) -> String {
    let matrix = Matrix::of(report);
    let mut out = String::new();
    for pair in &matrix.pairs {
        let _ = writeln!(out, "{}", paint(&format!("{} vs {}", pair.subject, pair.reference), Style::Bold, color));
        let _ = writeln!(out, "{}\n", table(&matrix, pair, color));
    }
    let shown = matrix.pairs.iter().flat_map(|p| p.counts.keys().copied()).collect::<std::collections::BTreeSet<_>>();
    if !shown.is_empty() {
        let legend: Vec<_> = shown
            .into_iter()
            .map(|s| paint(&format!("{} {}", s.symbol(), s.label()), Style::State(s), color))
            .collect();
        let _ = writeln!(out, "{}", legend.join("   "));
    }
    for device in &report.not_run {
        let _ =
            writeln!(out, "{} {}: {}", paint("not run", Style::State(State::NotRun), color), device.id, device.reason);
    }
    failures(&mut out, report, color);
    totals(&mut out, report, color);
    if let Some(w) = written {
        let _ = writeln!(out, "{}\n{}\n{}", w.html.display(), w.json.display(), w.junit.display());
    }
    out
}

/// A fault of one kernel shows in every operation that uses it: what does not fit a screen is in the files.
const MOST_FINDINGS: usize = 20;

#[derive(Clone, Copy)]
enum Style {
    Bold,
    Dim,
    State(State),
}

fn color_of(state: State) -> Color {
    match state {
        State::Exact => Color::Green,
        State::Bound => Color::Cyan,
        State::Fail => Color::Red,
        State::UnexpectedPass => Color::Magenta,
        State::ExpectedFailure => Color::Yellow,
        State::Unsupported | State::NotRun | State::Undefined => Color::DarkGrey,
    }
}

/// Text in SGR escapes, where they are wanted.
fn paint(text: &str, style: Style, color: bool) -> String {
    let code = match style {
        Style::Bold => "1",
        Style::Dim => "2",
        Style::State(state) => match color_of(state) {
            Color::Green => "32",
            Color::Cyan => "36",
            Color::Red => "1;31",
            Color::Magenta => "1;35",
            Color::Yellow => "33",
            _ => "2",
        },
    };
    if color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
}

/// A rule under the header and none else.
const RULED: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

fn table(matrix: &Matrix<'_>, pair: &Pair<'_>, color: bool) -> Table {
    let mut table = Table::new();
    table.load_style(RULED).set_content_arrangement(ContentArrangement::Disabled);
    if color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    // Columns that the pair has nothing in only cost width.
    let used: Vec<usize> = (0..matrix.columns.len())
        .filter(|&c| pair.lines.iter().any(|l| !matches!(l.cells[c].state, State::Undefined | State::NotRun)))
        .collect();
    let header = std::iter::once("").chain(used.iter().map(|&c| matrix.columns[c]));
    table.set_header(header.map(|h| comfy_table::Cell::new(h).add_attribute(Attribute::Bold)));
    let families: Vec<&[Line<'_>]> = pair.lines.chunk_by(|a, b| a.family == b.family).collect();
    for lines in families {
        table.add_row(row(lines[0].family, lines, &used, Attribute::Bold));
        for ops in lines.chunk_by(|a, b| a.op == b.op) {
            let states = || ops.iter().flat_map(|l| &l.cells).map(|c| c.state);
            // A family of one operation says it all in its own line.
            if ops.len() < lines.len() && states().any(|s| s <= State::ExpectedFailure) {
                table.add_row(row(&format!("  {}", ops[0].op), ops, &used, Attribute::Reset));
            }
        }
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// One line of the table over several of the matrix: in each column how many cells, and the worst of them.
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

/// An error in ulps, short.
pub(super) fn ulps(ulp: f64) -> String {
    match ulp {
        0.0 => "0".into(),
        u if u < 0.005 => "<0.01".into(),
        u if u < 100.0 => format!("{u:.2}"),
        u if u < 1e4 => format!("{u:.0}"),
        u => format!("{u:.0e}"),
    }
}

fn failures(out: &mut String, report: &Report, color: bool) {
    let failed: Vec<&ResultRow> = report.results.iter().filter(|r| State::of(r).is_failure()).collect();
    if failed.is_empty() && report.findings.is_empty() {
        return;
    }
    let _ = writeln!(out);
    for row in failed {
        let state = State::of(row);
        let what = format!("{} {} {}", state.symbol(), row.op, row.dtypes);
        let _ = write!(out, "{}  {} vs {}", paint(&what, Style::State(state), color), row.subject, row.reference);
        let _ = writeln!(out, ", {} of {} cases", row.failed, row.cases);
        for text in [&row.worst, &row.reason].into_iter().flatten() {
            let _ = writeln!(out, "    {text}");
        }
        if let Some(repro) = &row.repro {
            let _ = writeln!(out, "    {}", paint(repro, Style::Bold, color));
        }
    }
    for finding in report.findings.iter().take(MOST_FINDINGS) {
        let _ = writeln!(out, "{} {finding}", paint("✗", Style::State(State::Fail), color));
    }
    if let Some(more) = report.findings.len().checked_sub(MOST_FINDINGS).filter(|&n| n > 0) {
        let _ = writeln!(out, "  and {more} findings more, in report.json");
    }
}

fn totals(out: &mut String, report: &Report, color: bool) {
    let t = &report.totals;
    let mut parts = vec![format!("{} passed", t.passed)];
    let others = [
        (t.failed, "failed"),
        (t.unexpected_passes, "passed unexpectedly"),
        (t.expected_failures, "expected to fail"),
        (t.unsupported, "unsupported"),
    ];
    parts.extend(others.iter().filter(|o| o.0 > 0).map(|(n, what)| format!("{n} {what}")));
    let state = if report.passed() { State::Exact } else { State::Fail };
    let verdict = if report.passed() { "passed" } else { "FAILED" };
    let _ = write!(out, "\n{}  ", paint(verdict, Style::State(state), color));
    let _ = write!(out, "{} of {} cells executed: {}", t.executed, t.declared, parts.join(", "));
    let memory: Vec<_> = report.memory.counts().into_iter().filter(|c| c.1 > 0).collect();
    for (kind, count) in memory {
        let _ = write!(out, ", {count} {}", kind.replace('_', " "));
    }
    let tail = format!("seed {}, {:.1} s", report.seed, report.duration_s);
    let _ = writeln!(out, "  {}", paint(&tail, Style::Dim, color));
}
