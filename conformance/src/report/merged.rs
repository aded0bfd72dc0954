//! All pairs of a report in one table that fits a screen: one line per family, with the worst state
//! of all pairs in each column. The table shows whether devices agree. An accuracy row that stays
//! within its bound does not change a place; one that exceeds it does.

use super::matrix::{Line, Matrix, State};
use super::{Class, ResultRow};
use std::collections::BTreeMap;

/// The pairs of a matrix, merged.
#[derive(Debug, Clone)]
pub struct Merged<'a> {
    /// The dtypes of the columns.
    pub columns: Vec<&'a str>,
    /// The families, in the order of the matrix.
    pub families: Vec<Family>,
}

/// One line of the table.
#[derive(Debug, Clone)]
pub struct Family {
    /// The name, as [`family`](super::matrix::family) returns it.
    pub name: &'static str,
    /// One tally per column.
    pub tallies: Vec<Tally>,
}

/// The operations of a family at a column's dtype, each counted once, with the worst state in any
/// pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// The worst state.
    pub state: State,
    /// The number of operations; one that also differs in another dtype counts once for each of
    /// these.
    pub count: usize,
    /// The number in the worst state.
    pub worst: usize,
    /// The number that some pair does not support.
    pub unsupported: usize,
}

impl Tally {
    const NONE: Self = Self { state: State::Undefined, count: 0, worst: 0, unsupported: 0 };

    fn add(&mut self, place: Place) {
        self.count += 1;
        self.unsupported += usize::from(place.unsupported);
        match place.state.cmp(&self.state) {
            std::cmp::Ordering::Less => (self.state, self.worst) = (place.state, 1),
            std::cmp::Ordering::Equal => self.worst += 1,
            std::cmp::Ordering::Greater => {}
        }
    }

    /// Returns the short text: `3/9✗` if three of nine fail, `8/9✓` if every supported one passes,
    /// `9 ✓` if all pass.
    pub fn text(&self) -> String {
        let symbol = self.state.symbol();
        match self.state {
            State::Undefined => String::new(),
            State::Bound | State::Exact if self.unsupported > 0 => {
                format!("{}/{}{symbol}", self.count - self.unsupported, self.count)
            }
            State::Fail | State::UnexpectedPass | State::ExpectedFailure if self.count > 1 => {
                format!("{}/{}{symbol}", self.worst, self.count)
            }
            _ => format!("{} {symbol}", self.count),
        }
    }

    /// Returns the same as words.
    pub fn words(&self) -> String {
        let of = match self.state {
            State::Undefined => return self.state.label().into(),
            State::Fail | State::UnexpectedPass | State::ExpectedFailure => format!("{} of ", self.worst),
            _ => String::new(),
        };
        let unsupported = match self.unsupported {
            0 => String::new(),
            n => format!(", {n} not supported by every device"),
        };
        format!("{of}{} {}{unsupported}", self.count, self.state.label())
    }
}

/// The merged state of an operation at a column's dtype over all pairs.
#[derive(Clone, Copy)]
struct Place {
    state: State,
    unsupported: bool,
}

/// The rank and the name of a family, then what distinguishes a line from its siblings: the
/// operation and the other dtypes.
type Key<'a> = (usize, &'static str, &'a str, &'a str);

impl<'a> Merged<'a> {
    /// Merges the pairs.
    pub fn of(matrix: &Matrix<'a>) -> Self {
        // One place per column.
        let mut lines: BTreeMap<Key<'_>, Vec<Option<Place>>> = BTreeMap::new();
        let columns = matrix.columns.len();
        for line in matrix.pairs.iter().flat_map(|p| &p.lines) {
            let key = (line.rank, line.family, line.op, line.beside);
            merge(lines.entry(key).or_insert_with(|| vec![None; columns]), line);
        }
        let mut families: Vec<Family> = Vec::new();
        for ((_, name, ..), places) in lines {
            if families.last().is_none_or(|f| f.name != name) {
                families.push(Family { name, tallies: vec![Tally::NONE; columns] });
            }
            let family = families.last_mut().expect("pushed where there was none");
            for (tally, place) in family.tallies.iter_mut().zip(places) {
                place.into_iter().for_each(|place| tally.add(place));
            }
        }
        Self { columns: matrix.columns.clone(), families }
    }
}

fn merge(places: &mut [Option<Place>], line: &Line<'_>) {
    for (place, cell) in places.iter_mut().zip(&line.cells) {
        for state in cell.rows.iter().filter(|row| !is_accurate(row)).map(|row| State::of(row)) {
            let merged = place.get_or_insert(Place { state, unsupported: false });
            merged.state = merged.state.min(state);
            merged.unsupported |= state == State::Unsupported;
        }
    }
}

/// Whether the row is an accuracy row within its bound.
fn is_accurate(row: &ResultRow) -> bool {
    row.class == Class::Accuracy && matches!(State::of(row), State::Bound | State::Exact)
}
