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
use std::collections::HashMap;

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
    details: Vec<Vec<Detail<'a>>>,
    failures: Vec<FailureView<'a>>,
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
    cells: Vec<CellView>,
}

#[derive(Serialize)]
struct CellView {
    state: &'static str,
    text: String,
    /// The index of its details on the page.
    details: Option<usize>,
}

/// The details of each cell, once for all cells that differ only in operation, dtypes and pair: of
/// 27,000 cells all but a few hundred have the details of another.
#[derive(Default)]
struct Details<'a> {
    all: Vec<Vec<Detail<'a>>>,
    places: HashMap<Vec<Detail<'a>>, usize>,
}

impl<'a> Details<'a> {
    fn place(&mut self, rows: &[&'a ResultRow]) -> usize {
        let details: Vec<Detail<'a>> = rows.iter().map(|row| Detail::of(row)).collect();
        *self.places.entry(details).or_insert_with_key(|details| {
            self.all.push(details.clone());
            self.all.len() - 1
        })
    }
}

/// What the page says about a row besides its operation, its dtypes and its pair.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
struct Detail<'a> {
    state: &'static str,
    symbol: &'static str,
    label: &'static str,
    class: &'static str,
    numerics: Option<&'static str>,
    cases: u64,
    failed: u64,
    bit_exact: bool,
    ulp: Option<String>,
    repeatable: Option<bool>,
    layouts: &'a [String],
    reason: Option<&'a str>,
    worst: Option<&'a str>,
    repro: Option<&'a str>,
}

impl<'a> Detail<'a> {
    fn of(row: &'a ResultRow) -> Self {
        let state = State::of(row);
        Self {
            state: state.key(),
            symbol: state.symbol(),
            label: state.label(),
            class: row.class.name(),
            numerics: row.numerics.map(Numerics::name),
            cases: row.cases,
            failed: row.failed,
            bit_exact: row.bit_exact,
            ulp: row.max_ulp.map(ulps),
            repeatable: row.repeatable,
            layouts: &row.layouts,
            reason: row.reason.as_deref(),
            worst: row.worst.as_deref(),
            repro: row.repro.as_deref(),
        }
    }
}

/// A row in the list of failures.
#[derive(Serialize)]
struct FailureView<'a> {
    op: &'a str,
    dtypes: &'a str,
    subject: &'a str,
    reference: &'a str,
    #[serde(flatten)]
    detail: Detail<'a>,
}

impl<'a> FailureView<'a> {
    fn of(row: &'a ResultRow) -> Self {
        let ResultRow { op, dtypes, subject, reference, .. } = row;
        Self { op, dtypes, subject, reference, detail: Detail::of(row) }
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
        let failures = report.results.iter().filter(|r| State::of(r).is_failure()).map(FailureView::of).collect();
        let mut details = Details::default();
        let pairs = matrix.pairs.iter().enumerate().map(|(i, p)| PairView::of(i, p, &mut details)).collect();
        let seconds = report.duration_s;
        Self {
            passed: report.passed(),
            states: counted(|s| matrix.pairs.iter().map(|p| p.count(s)).sum()),
            columns: matrix.columns,
            families: families.collect(),
            pairs,
            details: details.all,
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
    fn of(id: usize, pair: &Pair<'a>, details: &mut Details<'a>) -> Self {
        let families = pair.lines.chunk_by(|a, b| a.family == b.family);
        let families = families.map(|lines| FamilyView {
            name: lines[0].family,
            lines: lines.iter().map(|line| LineView::of(line, details)).collect(),
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
    fn of(line: &Line<'a>, details: &mut Details<'a>) -> Self {
        let cells = line.cells.iter().map(|cell| CellView::of(cell, details)).collect();
        Self { op: line.op, beside: line.beside, cells }
    }
}

impl CellView {
    fn of<'a>(cell: &Cell<'a>, details: &mut Details<'a>) -> Self {
        let text = match (cell.state, cell.max_ulp()) {
            (State::Bound, Some(ulp)) => ulps(ulp),
            (state, _) => state.symbol().to_string(),
        };
        let details = (!cell.rows.is_empty()).then(|| details.place(&cell.rows));
        Self { state: cell.state.key(), text, details }
    }
}
