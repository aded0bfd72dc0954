//! Counts the rows of a family of operations on one device as they arrive, and formats the line
//! that summarizes them.

use isobit_conformance::report::ResultRow;
use isobit_conformance::report::matrix::State;
use isobit_conformance::report::terminal::{Style, paint};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of a family so far.
#[derive(Debug)]
pub struct Tally {
    family: &'static str,
    /// The expected number of rows; 0 if it is unknown.
    pub expected: usize,
    rows: usize,
    ops: BTreeSet<String>,
    dtypes: BTreeSet<String>,
    states: BTreeMap<State, usize>,
}

impl Tally {
    /// Returns the tally of a family, and adds a new one if there is none yet.
    pub fn of<'a>(tallies: &'a mut Vec<Tally>, family: &'static str) -> &'a mut Tally {
        let at = tallies.iter().position(|t| t.family == family).unwrap_or_else(|| {
            let (ops, dtypes, states) = Default::default();
            tallies.push(Tally { family, expected: 0, rows: 0, ops, dtypes, states });
            tallies.len() - 1
        });
        &mut tallies[at]
    }

    /// Adds a row.
    pub fn add(&mut self, row: &ResultRow) {
        self.rows += 1;
        self.ops.insert(row.op.clone());
        self.dtypes.insert(row.dtypes.clone());
        *self.states.entry(State::of(row)).or_default() += 1;
    }

    /// Whether all expected rows have arrived.
    pub fn is_complete(&self) -> bool {
        self.rows == self.expected
    }

    /// Returns the family's line if it is incomplete and thus not printed yet.
    pub fn rest(&self, device: &str, color: bool) -> Option<String> {
        (self.rows > 0 && !self.is_complete()).then(|| self.line(device, color))
    }

    /// Returns the family's line: its operations, its dtypes and their states.
    pub fn line(&self, device: &str, color: bool) -> String {
        let count = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
        let size = match (self.ops.len(), self.dtypes.len()) {
            (ops, 1) if ops == self.rows => count(ops, "op"),
            // A cell of several dtypes does not fit into a rectangle of operations and dtypes.
            (ops, dtypes) if ops * dtypes == self.rows && self.dtypes.iter().all(|d| !d.contains(',')) => {
                format!("{} x {}", count(ops, "op"), count(dtypes, "dtype"))
            }
            (ops, _) => format!("{}, {}", count(ops, "op"), count(self.rows, "cell")),
        };
        let missing = self.expected.saturating_sub(self.rows);
        let outcome = match (self.states.keys().next(), missing) {
            (Some(worst), 0) if self.states.len() == 1 => word(*worst, color).to_string(),
            _ => {
                let of = |(state, n): (&State, &usize)| format!("{n} {}", word(*state, color));
                let of_states = self.states.iter().map(of);
                of_states.chain((missing > 0).then(|| format!("{missing} not run"))).collect::<Vec<_>>().join(", ")
            }
        };
        format!("{device:16} {:12} {size:22} {outcome}", self.family)
    }
}

/// Returns the word for a state in this output, where an exact result is a plain pass.
fn word(state: State, color: bool) -> String {
    let text = match state {
        State::Exact => "pass",
        State::Bound => "pass within bound",
        other => other.label(),
    };
    paint(text, Style::State(state), color)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_conformance::report::{Class, Status};

    fn row(op: &str, dtypes: &str, status: Status) -> ResultRow {
        ResultRow { status, ..ResultRow::new(op, dtypes, "cpu", "cpu", Class::Exact) }
    }

    #[test]
    fn a_line_comes_with_the_last_cell_and_says_what_became_of_all() {
        let mut all = Vec::new();
        for name in ["unary", "binary", "unary"] {
            Tally::of(&mut all, name).expected += 2;
        }
        assert_eq!(all.len(), 2);
        let unary = Tally::of(&mut all, "unary");
        for (op, dtype) in [("exp", "f16"), ("exp", "f32"), ("sin", "f16")] {
            unary.add(&row(op, dtype, Status::Pass));
            assert!(!unary.is_complete());
        }
        assert_eq!(
            unary.rest("sim-cuda", false).unwrap(),
            "sim-cuda         unary        2 ops, 3 cells         3 pass, 1 not run"
        );
        unary.add(&row("sin", "f32", Status::Pass));
        assert!(unary.is_complete() && unary.rest("sim-cuda", false).is_none());
        assert_eq!(unary.line("sim-cuda", false), "sim-cuda         unary        2 ops x 2 dtypes       pass");

        let binary = Tally::of(&mut all, "binary");
        assert!(binary.rest("cpu", false).is_none(), "nothing of it has run");
        binary.add(&row("add", "f32", Status::Fail));
        binary.add(&row("sub", "f32", Status::Unsupported));
        assert!(binary.line("cpu", false).ends_with("2 ops                  1 fail, 1 unsupported"));
    }
}
