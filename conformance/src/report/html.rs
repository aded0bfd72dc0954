//! `report.html`: a single page with the whole report, readable without scripts and without a
//! network.

use super::matrix::{Cell, Line, Matrix, Pair, State};
use super::merged::{Merged, Tally};
use super::terminal::ulps;
use super::{Report, ResultRow};
use isobit_hal::Numerics;
use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde::Serialize;

/// Renders the page.
pub fn html(report: &Report) -> String {
    let mut env = Environment::new();
    // The template's name ends in .html, so minijinja escapes every value.
    env.add_template("report.html", include_str!("report.html")).expect("the template is part of the program");
    env.add_filter("bytes", bytes);
    let template = env.get_template("report.html").expect("added above");
    template
        .render(Value::from(Serde(Context { report, page: Page::of(report) })))
        .expect("the template names only what the page has")
}

/// Formats a number of bytes in a suitable unit.
fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (n.max(1).ilog2() / 10).min(4);
    let value = n as f64 / (1u64 << (10 * unit)) as f64;
    if value < 10.0 && unit > 0 {
        format!("{value:.1} {}", UNITS[unit as usize])
    } else {
        format!("{value:.0} {}", UNITS[unit as usize])
    }
}

/// The values that the template sees: the report itself, and the page derived from it.
#[derive(Serialize)]
struct Context<'a> {
    report: &'a Report,
    page: Page<'a>,
}

#[derive(Serialize)]
struct Page<'a> {
    passed: bool,
    columns: Vec<&'a str>,
    states: Vec<Counted>,
    families: Vec<MergedView>,
    pairs: Vec<PairView<'a>>,
    failures: Vec<RowView<'a>>,
    memory: Vec<(&'static str, u64)>,
    duration: String,
}

/// A state with the number of cells in it.
#[derive(Serialize)]
struct Counted {
    key: &'static str,
    label: &'static str,
    symbol: &'static str,
    count: usize,
    percent: f64,
}

/// A row of the table of all pairs.
#[derive(Serialize)]
struct MergedView {
    name: &'static str,
    cells: Vec<TallyView>,
}

#[derive(Serialize)]
struct TallyView {
    state: &'static str,
    text: String,
    words: String,
}

impl TallyView {
    fn of(tally: &Tally) -> Self {
        Self { state: tally.state.key(), text: tally.text(), words: tally.words() }
    }
}

#[derive(Serialize)]
struct PairView<'a> {
    id: usize,
    subject: &'a str,
    reference: &'a str,
    states: Vec<Counted>,
    families: Vec<FamilyView<'a>>,
}

#[derive(Serialize)]
struct FamilyView<'a> {
    name: &'static str,
    lines: Vec<LineView<'a>>,
}

#[derive(Serialize)]
struct LineView<'a> {
    op: &'a str,
    beside: &'a str,
    cells: Vec<CellView<'a>>,
}

#[derive(Serialize)]
struct CellView<'a> {
    id: String,
    column: &'a str,
    state: &'static str,
    label: &'static str,
    text: String,
    title: String,
    rows: Vec<RowView<'a>>,
}

#[derive(Serialize)]
struct RowView<'a> {
    row: &'a ResultRow,
    state: &'static str,
    symbol: &'static str,
    label: &'static str,
    class: &'static str,
    numerics: Option<&'static str>,
    ulp: Option<String>,
}

impl<'a> RowView<'a> {
    fn of(row: &'a ResultRow) -> Self {
        let state = State::of(row);
        let (class, numerics) = (row.class.name(), row.numerics.map(Numerics::name));
        let ulp = row.max_ulp.map(ulps);
        Self { row, state: state.key(), symbol: state.symbol(), label: state.label(), class, numerics, ulp }
    }
}

fn counted(count: impl Fn(State) -> usize) -> Vec<Counted> {
    let all: usize = State::SHOWN.iter().map(|&s| count(s)).sum();
    let view = |&s: &State| Counted {
        key: s.key(),
        label: s.label(),
        symbol: s.symbol(),
        count: count(s),
        percent: 100.0 * count(s) as f64 / all.max(1) as f64,
    };
    State::SHOWN.iter().map(view).filter(|c| c.count > 0).collect()
}

impl<'a> Page<'a> {
    fn of(report: &'a Report) -> Self {
        let matrix = Matrix::of(report);
        let families = Merged::of(&matrix).families.into_iter();
        let families =
            families.map(|f| MergedView { name: f.name, cells: f.tallies.iter().map(TallyView::of).collect() });
        let failures = report.results.iter().filter(|r| State::of(r).is_failure()).map(RowView::of).collect();
        let pairs = matrix.pairs.iter().enumerate().map(|(i, p)| PairView::of(i, p, &matrix.columns)).collect();
        let seconds = report.duration_s;
        Self {
            passed: report.passed(),
            states: counted(|s| matrix.pairs.iter().map(|p| p.count(s)).sum()),
            columns: matrix.columns,
            families: families.collect(),
            pairs,
            failures,
            memory: report.memory.counts().into_iter().filter(|c| c.1 > 0).collect(),
            duration: if seconds < 60.0 {
                format!("{seconds:.1} s")
            } else {
                format!("{:.0} min {:02.0} s", (seconds / 60.0).floor(), (seconds % 60.0).floor())
            },
        }
    }
}

impl<'a> PairView<'a> {
    fn of(id: usize, pair: &Pair<'a>, columns: &[&'a str]) -> Self {
        let families = pair.lines.chunk_by(|a, b| a.family == b.family).enumerate();
        let families = families.map(|(f, lines)| FamilyView {
            name: lines[0].family,
            lines: lines
                .iter()
                .enumerate()
                .map(|(l, line)| LineView::of(format!("c{id}-{f}-{l}"), line, columns))
                .collect(),
        });
        Self {
            id,
            subject: pair.subject,
            reference: pair.reference,
            states: counted(|s| pair.count(s)),
            families: families.collect(),
        }
    }
}

impl<'a> LineView<'a> {
    fn of(id: String, line: &Line<'a>, columns: &[&'a str]) -> Self {
        let cells = line.cells.iter().zip(columns).enumerate();
        Self {
            op: line.op,
            beside: line.beside,
            cells: cells.map(|(c, (cell, column))| CellView::of(format!("{id}-{c}"), cell, column)).collect(),
        }
    }
}

impl<'a> CellView<'a> {
    fn of(id: String, cell: &Cell<'a>, column: &'a str) -> Self {
        let text = match (cell.state, cell.max_ulp()) {
            (State::Bound, Some(ulp)) => ulps(ulp),
            (state, _) => state.symbol().to_string(),
        };
        Self {
            id,
            column,
            state: cell.state.key(),
            label: cell.state.label(),
            text,
            title: cell.rows.iter().map(|r| summary(r)).collect::<Vec<_>>().join("\n\n"),
            rows: cell.rows.iter().map(|r| RowView::of(r)).collect(),
        }
    }
}

/// Returns the tooltip of a cell.
fn summary(row: &ResultRow) -> String {
    let view = RowView::of(row);
    let mut text = format!("{} {}: {}", row.op, row.dtypes, view.label);
    if let Some(numerics) = view.numerics {
        text += &format!(" ({numerics})");
    }
    if row.cases > 0 {
        text += &format!(", {} cases", row.cases);
    }
    if let Some(ulp) = view.ulp.filter(|_| !row.bit_exact) {
        text += &format!(", at most {ulp} ulp");
    }
    for more in [&row.worst, &row.reason].into_iter().flatten() {
        text += &format!("\n{more}");
    }
    text
}
