//! Arranges a report's rows for readers: one table per pair, with operations as rows and dtypes as
//! columns.

use super::{LAUNCHES, Report, ResultRow, Status};
use crate::family::Operation;
use crate::runtime_tests;
use isobit_hal::DType;
use std::collections::{BTreeMap, BTreeSet};

/// The state of a place in the matrix, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// At least one case did not agree.
    Fail,
    /// Passed, although the committed table says that it fails.
    UnexpectedPass,
    /// Failed, as the committed table says.
    ExpectedFailure,
    /// Passed, within a bound.
    Bound,
    /// Passed, bit for bit.
    Exact,
    /// Not implemented, and not expected to be.
    Unsupported,
    /// Other pairs of the report ran it, but this one did not.
    NotRun,
    /// No pair ran it: the operation is not defined for the dtype.
    Undefined,
}

impl State {
    /// Every state that a row can have, and `NotRun`.
    pub const SHOWN: [State; 7] = [
        State::Exact,
        State::Bound,
        State::Fail,
        State::UnexpectedPass,
        State::ExpectedFailure,
        State::Unsupported,
        State::NotRun,
    ];

    /// Returns the state of one row.
    pub fn of(row: &ResultRow) -> Self {
        match row.status {
            Status::Pass if row.bit_exact => State::Exact,
            Status::Pass => State::Bound,
            Status::Fail => State::Fail,
            Status::Unsupported => State::Unsupported,
            Status::ExpectedFailure => State::ExpectedFailure,
            Status::UnexpectedPass => State::UnexpectedPass,
        }
    }

    /// Whether the state makes the run fail.
    pub fn is_failure(self) -> bool {
        matches!(self, State::Fail | State::UnexpectedPass)
    }

    /// Returns the word for style sheets and filters.
    pub fn key(self) -> &'static str {
        match self {
            State::Fail => "fail",
            State::UnexpectedPass => "unexpected",
            State::ExpectedFailure => "expected",
            State::Bound => "bound",
            State::Exact => "exact",
            State::Unsupported => "unsupported",
            State::NotRun => "notrun",
            State::Undefined => "undefined",
        }
    }

    /// Returns the words for readers.
    pub fn label(self) -> &'static str {
        match self {
            State::Fail => "fail",
            State::UnexpectedPass => "unexpected pass",
            State::ExpectedFailure => "expected failure",
            State::Bound => "within bound",
            State::Exact => "bit-exact",
            State::Unsupported => "unsupported",
            State::NotRun => "not run",
            State::Undefined => "not defined",
        }
    }

    /// Returns one character that identifies the state without colour.
    pub fn symbol(self) -> &'static str {
        match self {
            State::Fail => "✗",
            State::UnexpectedPass => "?",
            State::ExpectedFailure => "!",
            State::Bound => "≈",
            State::Exact => "✓",
            State::Unsupported => "–",
            State::NotRun => "·",
            State::Undefined => "",
        }
    }
}

/// One place: the rows of an operation at a column's dtype. There is more than one row if the
/// numerics or classes differ.
#[derive(Debug, Clone)]
pub struct Cell<'a> {
    /// The worst of its rows.
    pub state: State,
    /// Its rows, in the report's order.
    pub rows: Vec<&'a ResultRow>,
}

impl Cell<'_> {
    /// Returns the largest error of its rows.
    pub fn max_ulp(&self) -> Option<f64> {
        self.rows.iter().filter_map(|r| r.max_ulp).reduce(f64::max)
    }
}

/// One row of a matrix.
#[derive(Debug, Clone)]
pub struct Line<'a> {
    /// The family's name, as [`family`] returns it.
    pub family: &'static str,
    /// The family's position among the families.
    pub rank: usize,
    /// The operation.
    pub op: &'a str,
    /// The dtypes besides the column's own: the source of a cast, the condition of a where, the ids
    /// of a gather. Often empty.
    pub beside: &'a str,
    /// One cell per column.
    pub cells: Vec<Cell<'a>>,
}

/// One pair of a report.
#[derive(Debug, Clone)]
pub struct Pair<'a> {
    /// The device under test.
    pub subject: &'a str,
    /// The reference that it was compared with.
    pub reference: &'a str,
    /// Its lines, by family, operation and the dtypes besides the column's own.
    pub lines: Vec<Line<'a>>,
    /// The number of rows in each state.
    pub counts: BTreeMap<State, usize>,
}

/// All pairs of a report, with common columns.
#[derive(Debug, Clone)]
pub struct Matrix<'a> {
    /// The dtypes of the columns.
    pub columns: Vec<&'a str>,
    /// The pairs, in the order in which the report first names them.
    pub pairs: Vec<Pair<'a>>,
}

/// The family name of groups of runtime tests.
const SURROUNDINGS: &str = "device";
/// The family name of operations that this version does not know.
const OTHER: &str = "other";

/// Returns the rank of an operation's family, the family's name, and the operation's rank within
/// the family.
fn rank(op: &str) -> (usize, &'static str, usize) {
    if let Some(operation) = Operation::find(op) {
        let family = operation.op().family();
        return (family as usize, family.name(), operation.index());
    }
    // Groups come after the operations, in the order in which they run, and what all of them took.
    if op == LAUNCHES {
        return (usize::MAX - 1, SURROUNDINGS, usize::MAX);
    }
    match runtime_tests::groups().position(|group| group.name() == op) {
        Some(rank) => (usize::MAX - 1, SURROUNDINGS, rank),
        None => (usize::MAX, OTHER, 0),
    }
}

/// Returns the family of an operation, as in the kernel tree; `other` for an operation that this
/// version does not know.
pub fn family(op: &str) -> &'static str {
    rank(op).1
}

/// Splits off the dtype of the values, which is the column, from the other dtypes: `cast` with
/// `f64,f16` gives `("f64", "f16")`; `gather`, which names the values first, with `f32,u8` gives
/// `("u8", "f32")`.
pub fn split_dtypes<'a>(op: &str, dtypes: &'a str) -> (&'a str, &'a str) {
    match Operation::find(op).is_some_and(Operation::names_values_first) {
        true => dtypes.split_once(',').map(|(column, others)| (others, column)),
        false => dtypes.rsplit_once(','),
    }
    .unwrap_or(("", dtypes))
}

fn dtype_rank(name: &str) -> usize {
    name.parse::<DType>().map_or(usize::MAX, DType::index)
}

/// The position of a row in the matrix of its pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place<'a> {
    op: &'a str,
    beside: &'a str,
    column: &'a str,
}

impl<'a> Place<'a> {
    fn of(row: &'a ResultRow) -> Self {
        let (beside, column) = split_dtypes(&row.op, &row.dtypes);
        Self { op: &row.op, beside, column }
    }
}

/// Returns the rank of each dtype, for sorting.
fn ranks(dtypes: &str) -> Vec<usize> {
    dtypes.split(',').map(dtype_rank).collect()
}

impl<'a> Matrix<'a> {
    /// Arranges a report.
    pub fn of(report: &'a Report) -> Self {
        let place = |r: &'a ResultRow| Place::of(r);
        let mut columns: Vec<&str> = report.results.iter().map(|r| place(r).column).collect();
        columns.sort_by_key(|c| (dtype_rank(c), *c));
        columns.dedup();
        let defined: BTreeSet<Place<'_>> = report.results.iter().map(place).collect();

        let mut order: Vec<(&str, &str)> = Vec::new();
        let mut by_pair: BTreeMap<(&str, &str), Vec<&ResultRow>> = BTreeMap::new();
        for row in &report.results {
            let pair = (&*row.subject, &*row.reference);
            if !order.contains(&pair) {
                order.push(pair);
            }
            by_pair.entry(pair).or_default().push(row);
        }
        let pairs = order.into_iter().map(|p| Pair::of(p, &by_pair[&p], &columns, &defined)).collect();
        Self { columns, pairs }
    }
}

impl<'a> Pair<'a> {
    fn of(
        (subject, reference): (&'a str, &'a str),
        rows: &[&'a ResultRow],
        columns: &[&'a str],
        defined: &BTreeSet<Place<'_>>,
    ) -> Self {
        let mut counts = BTreeMap::new();
        let mut places: BTreeMap<Place<'_>, Vec<&ResultRow>> = BTreeMap::new();
        for &row in rows {
            *counts.entry(State::of(row)).or_insert(0) += 1;
            places.entry(Place::of(row)).or_default().push(row);
        }
        // Operations without any row in a pair get no line: golden vectors and accuracy cover only
        // some families by design.
        let lines: BTreeSet<(&str, &str)> = places.keys().map(|p| (p.op, p.beside)).collect();
        let mut lines: Vec<_> = lines.into_iter().collect();
        lines.sort_by_cached_key(|(op, beside)| (rank(op), *op, ranks(beside)));
        let cell = |op, beside, column| {
            let place = Place { op, beside, column };
            let rows = places.get(&place).cloned().unwrap_or_default();
            let absent = if defined.contains(&place) { State::NotRun } else { State::Undefined };
            Cell { state: rows.iter().map(|r| State::of(r)).min().unwrap_or(absent), rows }
        };
        let lines = lines
            .into_iter()
            .map(|(op, beside)| Line {
                family: family(op),
                rank: rank(op).0,
                op,
                beside,
                cells: columns.iter().map(|column| cell(op, beside, column)).collect(),
            })
            .collect::<Vec<_>>();
        let not_run = lines.iter().flat_map(|l| &l.cells).filter(|c| c.state == State::NotRun).count();
        if not_run > 0 {
            counts.insert(State::NotRun, not_run);
        }
        Self { subject, reference, lines, counts }
    }

    /// Returns the number of rows in a state.
    pub fn count(&self, state: State) -> usize {
        self.counts.get(&state).copied().unwrap_or(0)
    }
}
