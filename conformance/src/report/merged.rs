//! All pairs of a report in one table, which fits a screen: a line a family, in each column the
//! worst of all pairs. What it tells is whether devices agree: that a device also keeps the bound
//! of its accuracy changes nothing there, that it does not shows.

use super::matrix::{Line, Matrix, State};
use super::{Class, ResultRow};
use std::collections::BTreeMap;

/// The pairs of a matrix, merged.
#[derive(Debug, Clone)]
pub struct Merged<'a> {
    /// The dtypes across.
    pub columns: Vec<&'a str>,
    /// In the order of the matrix.
    pub families: Vec<Family>,
}

/// One line.
#[derive(Debug, Clone)]
pub struct Family {
    /// The name, as [`family`](super::matrix::family) gives it.
    pub name: &'static str,
    /// One tally a column.
    pub tallies: Vec<Tally>,
}

/// The operations of a family at a column's dtype, each counted once, with the worst that any pair
/// says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// The worst of them.
    pub state: State,
    /// How many there are; those with another dtype beside count as others.
    pub count: usize,
    /// How many are in the worst state.
    pub worst: usize,
    /// How many a pair does not support.
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

    /// As a reader sees it: `3/9✗` where three of nine are so, `8/9✓` where all pass that are
    /// supported, `9 ✓` where all do.
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

    /// The same in words.
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

/// What all pairs together say of an operation at a column's dtype.
#[derive(Clone, Copy)]
struct Place {
    state: State,
    unsupported: bool,
}

/// The rank and the name of a family, and what tells a line from its siblings: the operation and
/// the dtypes beside.
type Key<'a> = (usize, &'static str, &'a str, &'a str);

impl<'a> Merged<'a> {
    /// Merges the pairs.
    pub fn of(matrix: &Matrix<'a>) -> Self {
        // One place a column.
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

/// True of an accuracy that is as good as it must be.
fn is_accurate(row: &ResultRow) -> bool {
    row.class == Class::Accuracy && matches!(State::of(row), State::Bound | State::Exact)
}
