//! One measured row, and how several runs of it are combined.

use isobit_hal::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// Number of runs of each row if two benchmarks are compared.
pub const RUNS: usize = 5;

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub op: String,
    pub dtype: String,
    pub work: String,
    /// Median over the runs, in microseconds.
    pub us: f64,
    /// The [`spread`] of the runs.
    pub spread_us: f64,
    /// The time of each run.
    pub runs_us: Vec<f64>,
    /// Bytes that the operation must read and write.
    pub bytes: Option<f64>,
    /// Floating-point operations.
    pub flops: Option<f64>,
    /// Lower bound of the time, in microseconds: bytes divided by the copy rate, the vendor's
    /// time for the same work, or the time of a bare launch.
    pub floor_us: Option<f64>,
    /// Time divided by floor.
    pub ratio: Option<f64>,
    /// The times of other libraries for the same work, in microseconds, by the library and its
    /// version.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub peers_us: BTreeMap<String, f64>,
}

impl Row {
    /// Creates a row with one run.
    pub fn new(op: impl Into<String>, dtype: impl ToString, work: impl Into<String>, us: f64) -> Self {
        Self {
            op: op.into(),
            dtype: dtype.to_string(),
            work: work.into(),
            us,
            spread_us: 0.0,
            runs_us: vec![us],
            bytes: None,
            flops: None,
            floor_us: None,
            ratio: None,
            peers_us: BTreeMap::new(),
        }
    }

    /// Sets the floor and the ratio, if there is a floor.
    pub fn with_floor(mut self, floor_us: Option<f64>) -> Self {
        self.floor_us = floor_us;
        self.ratio = floor_us.map(|floor| self.us / floor);
        self
    }

    /// Returns the key that matches rows of two benchmarks.
    pub fn name(&self) -> (&str, &str, &str) {
        (&self.op, &self.dtype, &self.work)
    }

    /// Rounds to three decimals, which is more than the precision of the timings.
    pub fn round(&mut self) {
        let round = |x: &mut f64| *x = (*x * 1e3).round() / 1e3;
        round(&mut self.us);
        round(&mut self.spread_us);
        self.runs_us.iter_mut().for_each(round);
        self.floor_us.iter_mut().for_each(round);
        self.ratio.iter_mut().for_each(round);
    }
}

/// Returns the median; of an even number of values, the larger of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    sorted[sorted.len() / 2]
}

/// Returns the distance from the second smallest to the second largest of five values, so that one
/// disturbed run does not increase it.
pub fn spread(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let cut = sorted.len() / 4;
    sorted[sorted.len() - 1 - cut] - sorted[cut]
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Combines runs of the same rows, which must be in the same order.
///
/// # Errors
/// Returns `Other` if the runs have different rows, or if two rows of a run have the same name:
/// they could not be compared later.
pub fn join(runs: &[Vec<Row>]) -> Result<Vec<Row>> {
    let wrong = |what: String| Error::new(ErrorKind::Other, format!("bug in the benchmark: {what}"));
    let (first, later) = runs.split_first().expect("there is a run");
    if later.iter().any(|run| run.len() != first.len()) {
        return Err(wrong("its runs have different numbers of rows".into()));
    }
    let mut names = HashSet::new();
    let mut joined = Vec::with_capacity(first.len());
    for (at, row) in first.iter().enumerate() {
        if !names.insert(row.name()) {
            return Err(wrong(format!("two rows are named {:?}", row.name())));
        }
        if let Some(other) = later.iter().map(|run| &run[at]).find(|other| other.name() != row.name()) {
            return Err(wrong(format!("{:?} in one run is {:?} in another", row.name(), other.name())));
        }
        let all = |value: fn(&Row) -> Option<f64>| runs.iter().filter_map(|run| value(&run[at])).collect::<Vec<_>>();
        let times = all(|row| Some(row.us));
        let floors = all(|row| row.floor_us);
        let joined_row = Row { us: median(&times), spread_us: spread(&times), runs_us: times, ..row.clone() };
        joined.push(joined_row.with_floor((!floors.is_empty()).then(|| median(&floors))));
    }
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(times: [f64; RUNS]) -> Vec<Vec<Row>> {
        times.map(|us| vec![Row::new("exp", "f32", "64Mi", us).with_floor(Some(us / 2.0))]).to_vec()
    }

    #[test]
    fn five_runs_become_their_median_and_spread() {
        let [row] = &join(&runs([102.0, 100.0, 99.0, 101.0, 100.0])).unwrap()[..] else { panic!("one row") };
        assert_eq!((row.us, row.spread_us), (100.0, 1.0));
        assert_eq!(row.runs_us, [102.0, 100.0, 99.0, 101.0, 100.0], "each is kept, in the order of the runs");
        assert_eq!((row.floor_us, row.ratio), (Some(50.0), Some(2.0)), "the floor is the median of its own runs");
    }

    #[test]
    fn one_disturbed_run_widens_nothing() {
        assert_eq!(spread(&[100.0, 900.0, 100.0, 100.0, 100.0]), 0.0);
        assert_eq!(spread(&[100.0, 900.0, 104.0, 100.0, 101.0]), 4.0);
        assert_eq!(median(&[100.0, 900.0, 104.0, 100.0, 101.0]), 101.0);
        assert_eq!(spread(&[7.0]), 0.0);
    }

    #[test]
    fn rows_that_could_not_be_matched_later_are_refused() {
        let row = |op: &str| Row::new(op, "f32", "64Mi", 1.0);
        let twice = join(&[vec![row("exp"), row("exp")]]).unwrap_err().to_string();
        assert!(twice.contains("two rows are named") && twice.contains("exp"), "{twice}");
        assert!(join(&[vec![row("exp")], vec![row("log")]]).unwrap_err().to_string().contains("log"));
        assert!(join(&[vec![row("exp")], vec![]]).is_err());
    }
}
