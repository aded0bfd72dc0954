//! Compares this benchmark with an earlier one: which rows are slower, faster, unchanged, missing
//! and new.

use crate::args::Args;
use crate::report::Report;
use crate::row::Row;
use isobit_hal::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::path::Path;

/// Smaller relative changes are ignored, however small the spread is.
const LEAST: f64 = 0.03;
/// Changes below this number of spreads are ignored.
const SPREADS: f64 = 3.0;

/// The outcome for a row that both benchmarks have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Slower,
    Faster,
    Unchanged,
}

/// Judges by the medians and the spreads of the five runs before and now.
fn judge(before: &Row, now: &Row) -> Verdict {
    let beyond = |slow: f64, fast: f64| {
        slow > fast * (1.0 + LEAST) && slow - fast > SPREADS * before.spread_us.max(now.spread_us)
    };
    match () {
        () if beyond(now.us, before.us) => Verdict::Slower,
        () if beyond(before.us, now.us) => Verdict::Faster,
        () => Verdict::Unchanged,
    }
}

/// All rows of two benchmarks.
#[derive(Debug, Default)]
pub struct Comparison<'a> {
    /// Rows of both benchmarks, before and now.
    slower: Vec<[&'a Row; 2]>,
    faster: Vec<[&'a Row; 2]>,
    unchanged: Vec<[&'a Row; 2]>,
    /// Rows that only the earlier benchmark has.
    missing: Vec<&'a Row>,
    /// Rows that only this benchmark has.
    new: Vec<&'a Row>,
}

/// Matches rows by name.
pub fn compare<'a>(before: &'a [Row], now: &'a [Row]) -> Comparison<'a> {
    let mut left: HashMap<_, _> = before.iter().map(|row| (row.name(), row)).collect();
    let mut found = Comparison::default();
    for row in now {
        let Some(earlier) = left.remove(&row.name()) else {
            found.new.push(row);
            continue;
        };
        let list = match judge(earlier, row) {
            Verdict::Slower => &mut found.slower,
            Verdict::Faster => &mut found.faster,
            Verdict::Unchanged => &mut found.unchanged,
        };
        list.push([earlier, row]);
    }
    found.missing = before.iter().filter(|row| left.contains_key(&row.name())).collect();
    found
}

impl Comparison<'_> {
    /// Whether any row is slower.
    pub fn is_slower(&self) -> bool {
        !self.slower.is_empty()
    }

    /// Prints a table of each kind, the most important one last.
    pub fn show(&self) {
        changes("unchanged", &self.unchanged);
        rows("missing: measured before, not now", &self.missing);
        rows("new", &self.new);
        changes("faster", &self.faster);
        changes("slower", &self.slower);
        println!(
            "{} slower, {} faster, {} unchanged, {} missing, {} new (a change is more than {:.0} %, and more than {SPREADS:.0} times the spread of the runs)",
            self.slower.len(),
            self.faster.len(),
            self.unchanged.len(),
            self.missing.len(),
            self.new.len(),
            LEAST * 100.0
        );
    }
}

fn changes(title: &str, list: &[[&Row; 2]]) {
    if list.is_empty() {
        return;
    }
    println!("{title}:");
    println!(
        "  {:<24} {:<8} {:<26} {:>11} {:>11} {:>8} {:>9} {:>7}",
        "op", "dtype", "work", "before us", "now us", "change", "spread us", "ratio"
    );
    for [before, now] in list {
        println!(
            "  {:<24} {:<8} {:<26} {:>11.2} {:>11.2} {:>+7.1}% {:>9.2} {:>7}",
            now.op,
            now.dtype,
            now.work,
            before.us,
            now.us,
            (now.us / before.us - 1.0) * 100.0,
            before.spread_us.max(now.spread_us),
            ratio(now)
        );
    }
}

fn rows(title: &str, list: &[&Row]) {
    if list.is_empty() {
        return;
    }
    println!("{title}:");
    for row in list {
        println!("  {:<24} {:<8} {:<26} {:>11.2} us {:>7}", row.op, row.dtype, row.work, row.us, ratio(row));
    }
}

fn ratio(row: &Row) -> String {
    row.ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"))
}

/// Reads the earlier benchmark named by `--against` and keeps the rows that are asked for. Called
/// before anything is measured.
///
/// # Errors
/// Returns the errors of [`Report::read_runs`], and `InvalidArgument` if this benchmark would
/// overwrite the file.
pub fn earlier(args: &Args) -> Result<Option<Report>> {
    let Some(path) = &args.against else { return Ok(None) };
    let mut report = Report::read_runs(path)?;
    let same_file = |a: &Path, b: &Path| a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b));
    if args.from.is_none() && same_file(path, &args.output()) {
        let message =
            format!("{} would be overwritten by this benchmark: name another file with --json", path.display());
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    report.rows.retain(|row| args.wants(&row.op, &row.dtype));
    Ok(Some(report))
}

/// Checks that two benchmarks are of the same device and were timed in the same way.
///
/// # Errors
/// Returns `InvalidArgument` with the difference.
pub fn check_comparable(before: &Report, now: &Report) -> Result<()> {
    let differs = |what: &str, before: &dyn std::fmt::Display, now: &dyn std::fmt::Display| {
        let message = format!("the two benchmarks cannot be compared: the {what} was {before} and is now {now}");
        Err(Error::new(ErrorKind::InvalidArgument, message))
    };
    if (&before.device, &before.arch) != (&now.device, &now.arch) {
        let name = |report: &Report| format!("{} ({})", report.device, report.arch);
        return differs("device", &name(before), &name(now));
    }
    if before.launches != now.launches {
        return differs("number of launches per timing", &before.launches, &now.launches);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::join;
    use clap::Parser as _;

    fn row(op: &str, runs: [f64; 5]) -> Row {
        join(&runs.map(|us| vec![Row::new(op, "f32", "64Mi", us)])).unwrap().remove(0)
    }

    #[track_caller]
    fn judged(before: [f64; 5], now: [f64; 5], verdict: Verdict) {
        assert_eq!(judge(&row("exp", before), &row("exp", now)), verdict);
    }

    #[test]
    fn slower_is_beyond_three_percent_and_three_spreads() {
        let still = [100.0; 5];
        judged(still, [103.1; 5], Verdict::Slower);
        judged(still, [102.9; 5], Verdict::Unchanged);
        // A spread of 1, so that 3 is not enough and 4 is: 101 - 100 of the sorted 99, 100, 100,
        // 101, 102.
        let near = [100.0, 101.0, 99.0, 100.0, 102.0];
        judged(near, [104.0; 5], Verdict::Slower);
        // A spread of 2: 4 % is within three times that, 7 % is not.
        let wide = [100.0, 101.0, 99.0, 98.0, 102.0];
        judged(wide, [104.0; 5], Verdict::Unchanged);
        judged(wide, [106.0; 5], Verdict::Unchanged);
        judged(wide, [107.0; 5], Verdict::Slower);
    }

    #[test]
    fn the_wider_spread_of_the_two_counts() {
        let (still, wide) = ([100.0; 5], [110.0, 112.0, 108.0, 106.0, 114.0]);
        judged(still, wide, Verdict::Unchanged);
        judged(wide, still, Verdict::Unchanged);
        judged(still, [110.0; 5], Verdict::Slower);
    }

    #[test]
    fn faster_is_the_same_the_other_way_round() {
        let still = [100.0; 5];
        judged([103.1; 5], still, Verdict::Faster);
        judged([102.9; 5], still, Verdict::Unchanged);
        judged([107.0; 5], [100.0, 101.0, 99.0, 98.0, 102.0], Verdict::Faster);
        judged([106.0; 5], [100.0, 101.0, 99.0, 98.0, 102.0], Verdict::Unchanged);
    }

    #[test]
    fn one_disturbed_run_neither_makes_nor_hides_a_change() {
        let still = [100.0; 5];
        judged(still, [100.0, 100.0, 900.0, 100.0, 100.0], Verdict::Unchanged);
        judged(still, [110.0, 110.0, 900.0, 110.0, 110.0], Verdict::Slower);
    }

    #[test]
    fn rows_are_matched_by_their_whole_name() {
        let f16 = Row { dtype: "f16".into(), ..row("exp", [9.0; 5]) };
        let short = Row { work: "1Mi".into(), ..row("exp", [1.0; 5]) };
        let before = [row("log", [5.0; 5]), row("exp", [7.0; 5]), row("sin", [3.0; 5]), f16.clone()];
        let now = [row("exp", [8.0; 5]), short.clone(), row("sin", [2.0; 5]), f16.clone()];
        let found = compare(&before, &now);
        assert_eq!(found.slower, [[&before[1], &now[0]]]);
        assert_eq!(found.faster, [[&before[2], &now[2]]]);
        assert_eq!(found.unchanged, [[&f16, &f16]]);
        assert_eq!(found.missing, [&before[0]]);
        assert_eq!(found.new, [&short]);
        assert!(found.is_slower());
        assert!(!compare(&before[2..], &now[2..]).is_slower(), "a faster row is not a slower one");
        assert!(!compare(&before, &[]).is_slower(), "neither is a missing row");
    }

    #[test]
    fn another_device_is_not_compared() {
        let before = Report::example();
        assert!(check_comparable(&before, &before.clone()).is_ok());
        let newer = Report { driver_version: "13.0".into(), git: None, ..before.clone() };
        assert!(check_comparable(&before, &newer).is_ok(), "comparing driver versions is a use case");
        let other = Report { device: "NVIDIA A100".into(), ..before.clone() };
        let message = check_comparable(&before, &other).unwrap_err().to_string();
        assert!(message.contains("H200") && message.contains("A100"), "{message}");
        let fewer = Report { launches: 5, ..before.clone() };
        assert!(check_comparable(&before, &fewer).unwrap_err().to_string().contains("launches"));
    }

    #[test]
    fn an_earlier_benchmark_is_cut_to_what_is_asked_for_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("before.json");
        let rows = ["exp", "exp2", "log"].map(|op| row(op, [1.0; 5]));
        Report { rows: rows.to_vec(), ..Report::example() }.write(&path).unwrap();
        let path = path.to_str().unwrap();
        let args = |more: &[&str]| Args::parse_from([&["isobit-bench", "--against", path], more].concat());
        let asked = |more: &[&str]| earlier(&args(more)).unwrap().unwrap().rows.len();
        assert_eq!([asked(&[]), asked(&["--ops", "exp"]), asked(&["--dtypes", "f16"])], [3, 2, 0]);
        assert!(earlier(&args(&["--json", path])).unwrap_err().to_string().contains("overwritten"));
        assert_eq!(asked(&["--from", path]), 3, "a benchmark that is read overwrites nothing");
        assert_eq!(args(&[]).runs(), 5);
        assert!(earlier(&Args::parse_from(["isobit-bench"])).unwrap().is_none());
    }
}
