//! Progress output during a run: one line for each family of operations that a device finishes,
//! each failure at once, and on a terminal one bar per device below them.

use super::tally::Tally;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use isobit_conformance::cells::Cell;
use isobit_conformance::report::matrix::{State, family};
use isobit_conformance::report::terminal::{Style, paint};
use isobit_conformance::report::{ResultRow, Status};
use parking_lot::Mutex;
use std::io::IsTerminal;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The bars of the devices that run at the same time, one below the other.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Without a terminal there is no bar: after this time without output, one line says how far the
/// device is.
const SILENCE: Duration = Duration::from_secs(20);

/// More failures than this on one device have probably one cause that shows everywhere; the rest
/// are only in the report.
const MOST_FAILURES: u64 = 20;

/// The progress of one device.
pub struct Progress {
    bar: Option<ProgressBar>,
    device: String,
    total: u64,
    state: Mutex<Done>,
}

/// The finished work of a device.
struct Done {
    rows: u64,
    failures: u64,
    /// The families that are running or still to come, in the order in which they were named.
    families: Vec<Tally>,
    /// The time of the device's last output.
    said: Instant,
}

impl Progress {
    /// Creates the progress of `total` rows; 0 if the number is unknown.
    pub fn new(device: &str, total: usize) -> Self {
        let total = total as u64;
        let bar = std::io::stderr().is_terminal().then(|| {
            let (bar, template) = match total {
                0 => (ProgressBar::new_spinner(), "{prefix:16} {spinner} {pos} cells  {msg}"),
                _ => (ProgressBar::new(total), "{prefix:16} {bar:40.cyan} {pos}/{len} cells  {msg}  eta {eta}"),
            };
            let style = ProgressStyle::with_template(template).expect("the template is well formed");
            BARS.add(bar.with_prefix(device.to_string()).with_style(style))
        });
        let state = Done { rows: 0, failures: 0, families: Vec::new(), said: Instant::now() };
        Self { bar, device: device.into(), total, state: Mutex::new(state) }
    }

    /// Creates the progress of `cells`. A family's line is printed when its last cell is done.
    pub fn of(device: &str, cells: &[&Cell]) -> Self {
        let mut families: Vec<Tally> = Vec::new();
        for cell in cells {
            Tally::of(&mut families, family(cell.operation.name())).expected += 1;
        }
        let mut progress = Self::new(device, cells.len());
        progress.state.get_mut().families = families;
        progress
    }

    /// Counts one finished row.
    pub fn step(&self, row: &ResultRow) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{} {}", row.op, row.dtypes));
            bar.inc(1);
        }
        let mut done = self.state.lock();
        done.rows += 1;
        if matches!(row.status, Status::Fail | Status::UnexpectedPass) {
            done.failures += 1;
            match done.failures {
                n if n <= MOST_FAILURES => self.say(&mut done, &failure(&self.device, row)),
                n if n == MOST_FAILURES + 1 => {
                    self.say(&mut done, &format!("{}: further failures are only in the report", self.device));
                }
                _ => {}
            }
        }
        let family = Tally::of(&mut done.families, family(&row.op));
        family.add(row);
        if family.is_complete() {
            let line = family.line(&self.device, colored());
            self.say(&mut done, &line);
        } else if self.bar.is_none() && done.said.elapsed() > SILENCE {
            let of = if self.total > 0 { format!(" of {}", self.total) } else { String::new() };
            let line = format!("{}: {}{of} cells", self.device, done.rows);
            self.say(&mut done, &line);
        }
    }

    /// Shows what is running now.
    pub fn note(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_string());
        }
    }

    /// Prints a line above the bars.
    fn say(&self, done: &mut Done, line: &str) {
        match &self.bar {
            // An error means that the terminal is closed, which does not matter.
            Some(_) => drop(BARS.println(line)),
            None => eprintln!("{line}"),
        }
        done.said = Instant::now();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let mut done = self.state.lock();
        // Families of unknown size, and families that the device did not finish.
        let left: Vec<String> = done.families.iter().filter_map(|f| f.rest(&self.device, colored())).collect();
        left.iter().for_each(|line| self.say(&mut done, line));
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn colored() -> bool {
    std::io::stderr().is_terminal()
}

/// Formats a failure as one line: the cell, the number of cases, and the reason.
fn failure(device: &str, row: &ResultRow) -> String {
    let state = State::of(row);
    let what = format!("{} {} {}", state.symbol(), row.op, row.dtypes);
    let why = row.worst.as_ref().or(row.reason.as_ref()).map(|text| text.lines().next().unwrap_or_default());
    let cases = format!("{} of {} cases", row.failed, row.cases);
    let why = why.map_or(cases.clone(), |why| format!("{cases}, {why}"));
    format!("{device:16} {}  {why}", paint(&what, Style::State(state), colored()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_conformance::report::Class;

    #[test]
    fn a_failure_is_one_line_with_its_reason() {
        let mut row = ResultRow::new("exp", "f16", "sim-cuda", "cpu", Class::Defined);
        (row.status, row.cases, row.failed) = (Status::Fail, 64, 3);
        row.worst = Some("index 7: expected 1, got 2\n  and a program".into());
        let line = failure("sim-cuda", &row);
        assert_eq!(line, "sim-cuda         ✗ exp f16  3 of 64 cases, index 7: expected 1, got 2");
        (row.worst, row.cases, row.failed) = (None, 0, 0);
        row.reason = Some("the device refuses it".into());
        assert!(failure("sim-cuda", &row).ends_with("0 of 0 cases, the device refuses it"));
    }
}
