//! Formats the report for one screen: a table of all pairs, what did not pass, the devices that
//! ran, the totals, and the paths of the files.

mod paint;
mod table;

pub use paint::{Style, paint};
pub use table::plain;

use super::matrix::{Matrix, Pair, State};
use super::merged::{Merged, Tally};
use super::{Report, ResultRow, Written};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How a report is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct View {
    /// Whether the terminal shows colours.
    pub color: bool,
    /// Whether to show the table of every pair, and everything that did not pass without a limit.
    pub verbose: bool,
}

/// The most failures, findings and reasons shown without `--verbose`. A fault of one kernel shows
/// in every operation that uses it; the files contain the rest.
const MOST: usize = 10;

/// Returns the screen output for a report.
pub fn terminal(report: &Report, written: Option<&Written>, view: View) -> String {
    let matrix = Matrix::of(report);
    let mut out = String::new();
    if !matrix.pairs.is_empty() {
        let merged = Merged::of(&matrix);
        let _ = writeln!(out, "{}\n{}", table::merged(&merged, view), legend(&matrix, &merged, view));
    }
    for pair in matrix.pairs.iter().filter(|pair| has_table(pair, view)) {
        let name = format!("{} vs {}", pair.subject, pair.reference);
        let _ = writeln!(out, "\n{}\n{}", paint(&name, Style::Bold, view.color), table::pair(&matrix, pair, view));
    }
    let _ = writeln!(out);
    failures(&mut out, report, view);
    excused(&mut out, report, view);
    devices(&mut out, report, view);
    totals(&mut out, report, view);
    if let Some(w) = written {
        let beside = [&w.json, &w.junit].map(|path| path.file_name().unwrap_or_default().to_string_lossy());
        let _ = writeln!(out, "{}, with {} beside it", w.html.display(), beside.join(" and "));
    }
    out
}

/// Whether a pair has its own table.
fn has_table(pair: &Pair<'_>, view: View) -> bool {
    view.verbose || pair.counts.keys().any(|state| state.is_failure())
}

/// Returns the legend of the tables' numbers and symbols.
fn legend(matrix: &Matrix<'_>, merged: &Merged<'_>, view: View) -> String {
    let tallies = merged.families.iter().flat_map(|family| &family.tallies);
    let unsupported = |tally: &Tally| (tally.unsupported > 0).then_some(State::Unsupported);
    let of_all = tallies.flat_map(|tally| unsupported(tally).into_iter().chain([tally.state]));
    let of_pairs = matrix.pairs.iter().filter(|pair| has_table(pair, view)).flat_map(|p| p.counts.keys().copied());
    let hidden = |state: &State| *state == State::Undefined || *state == State::NotRun && !view.verbose;
    let shown: BTreeSet<State> = of_all.chain(of_pairs).filter(|state| !hidden(state)).collect();
    let symbols: Vec<_> = shown
        .into_iter()
        .map(|s| paint(&format!("{} {}", s.symbol(), s.label()), Style::State(s), view.color))
        .collect();
    let of = match matrix.pairs.len() {
        1 => String::new(),
        n => format!(", the worst of {n} pairs (without passing accuracy checks)"),
    };
    format!("operations of each family and dtype{of}:\n  {}", symbols.join("  "))
}

/// Formats an error in ulps briefly.
pub(super) fn ulps(ulp: f64) -> String {
    match ulp {
        0.0 => "0".into(),
        u if u < 0.005 => "<0.01".into(),
        u if u < 100.0 => format!("{u:.2}"),
        u if u < 1e4 => format!("{u:.0}"),
        u => format!("{u:.0e}"),
    }
}

/// Returns how many of `all` entries are shown.
fn most(view: View, all: usize) -> usize {
    if view.verbose { all } else { all.min(MOST) }
}

fn more(out: &mut String, view: View, all: usize, what: &str) {
    let hidden = all - most(view, all);
    if hidden > 0 {
        let _ = writeln!(out, "  and {hidden} more {what}, in the files and with --verbose");
    }
}

/// Prints the failures and the findings of the checks, each with a command that repeats it.
fn failures(out: &mut String, report: &Report, view: View) {
    let color = view.color;
    let failed: Vec<&ResultRow> = report.results.iter().filter(|r| State::of(r).is_failure()).collect();
    for row in &failed[..most(view, failed.len())] {
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
    more(out, view, failed.len(), "failures");
    for finding in &report.findings[..most(view, report.findings.len())] {
        let _ = writeln!(out, "{} {finding}", paint("✗", Style::State(State::Fail), color));
    }
    more(out, view, report.findings.len(), "findings");
}

/// Prints the cells that did not pass and need not: one line for the cells of a device with the
/// same reason.
fn excused(out: &mut String, report: &Report, view: View) {
    let mut groups: Vec<(State, &str, &str, Vec<&ResultRow>)> = Vec::new();
    for row in &report.results {
        let (state, subject, reason) =
            (State::of(row), row.subject.as_str(), row.reason.as_deref().unwrap_or_default());
        if !matches!(state, State::Unsupported | State::ExpectedFailure) {
            continue;
        }
        match groups.iter_mut().find(|g| (g.0, g.1, g.2) == (state, subject, reason)) {
            Some((.., rows)) => rows.push(row),
            None => groups.push((state, subject, reason, vec![row])),
        }
    }
    for (state, subject, reason, rows) in &groups[..most(view, groups.len())] {
        let what = format!("{} {}", state.symbol(), state.label());
        let cells = match rows.as_slice() {
            [row] if row.op.starts_with("device.") => row.op.clone(),
            [row] => format!("{} {}", row.op, row.dtypes),
            rows => format!("{} cells from {} to {}", rows.len(), rows[0].op, rows[rows.len() - 1].op),
        };
        let _ = writeln!(out, "{}  {subject}, {cells}: {reason}", paint(&what, Style::State(*state), view.color));
    }
    more(out, view, groups.len(), "reasons");
}

/// The length of a reason that fits two lines.
const BRIEF: usize = 180;

/// Shortens a long reason, except with `--verbose`.
fn brief(reason: &str, view: View) -> String {
    match reason.char_indices().nth(BRIEF) {
        Some((end, _)) if !view.verbose => format!("{} ... (--verbose shows it all)", &reason[..end]),
        _ => reason.to_string(),
    }
}

/// Prints the devices that ran, and those that did not run with their reasons.
fn devices(out: &mut String, report: &Report, view: View) {
    let name = |d: &super::DeviceRow| match d.simulated || d.driver == "cpu" || d.name.is_empty() {
        true => d.id.clone(),
        false => format!("{} ({})", d.id, d.name),
    };
    let ran: Vec<_> = report.devices.iter().map(name).collect();
    let extent = match report.cases {
        0 => "sets of huge tensors".to_string(),
        cases => format!("{cases} cases per cell"),
    };
    let how = format!("seed {}, {extent}, {:.1} s", report.seed, report.duration_s);
    let (label, how) = (paint("ran", Style::Bold, view.color), paint(&how, Style::Dim, view.color));
    let _ = writeln!(out, "{label}      {}  {how}", ran.join(", "));
    for device in &report.not_run {
        let what = paint("not run", Style::State(State::NotRun), view.color);
        let _ = writeln!(out, "{what}  {}: {}", device.id, brief(&device.reason, view));
    }
}

fn totals(out: &mut String, report: &Report, view: View) {
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
    let _ = write!(out, "{}  ", paint(verdict, Style::State(state), view.color));
    let _ = write!(out, "{} of {} cells executed: {}", t.executed, t.declared, parts.join(", "));
    let memory: Vec<_> = report.memory.counts().into_iter().filter(|c| c.1 > 0).collect();
    for (kind, count) in memory {
        let _ = write!(out, ", {count} {}", kind.replace('_', " "));
    }
    let findings = match report.findings.len() {
        0 => "no findings".to_string(),
        1 => "1 finding".to_string(),
        n => format!("{n} findings"),
    };
    let _ = writeln!(out, "; {findings}");
}
