//! What becomes of a benchmark once its rows are there, measured or read from a file: a picture,
//! and on the terminal the rows, the page's table or the comparison.

use crate::args::Args;
use crate::report::Report;
use crate::roof::Roof;
use crate::{against, markdown, peers, plot};
use isobit_hal::Result;
use std::path::Path;
use std::process::ExitCode;

/// Shows the benchmark in a file.
pub fn file(path: &Path, args: &Args) -> Result<ExitCode> {
    let earlier = against::earlier(args)?;
    let mut now = if earlier.is_some() { Report::read_runs(path)? } else { Report::read(path)? };
    if let Some(earlier) = &earlier {
        against::check_comparable(earlier, &now)?;
    }
    let peers = peers::read(&args.peers)?;
    let roof = Roof::of(&now);
    now.rows.retain(|row| args.wants(&row.op, &row.dtype));
    peers::fill(peers, &mut now);
    report(&now, earlier.as_ref(), &roof, args)
}

/// Shows a benchmark, and how it differs from an earlier one. The status says whether it is slower.
pub fn report(now: &Report, earlier: Option<&Report>, roof: &Roof, args: &Args) -> Result<ExitCode> {
    if let Some(path) = &args.plot {
        plot::write(now, roof, path)?;
    }
    let Some(earlier) = earlier else {
        if args.markdown {
            print!("{}", markdown::page(now, roof));
        } else {
            now.show();
        }
        return Ok(ExitCode::SUCCESS);
    };
    println!("before: {}\nnow:    {}", earlier.title(), now.title());
    let comparison = against::compare(&earlier.rows, &now.rows);
    comparison.show();
    Ok(if comparison.is_slower() { 1.into() } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{RUNS, Row};
    use clap::Parser as _;

    const SMALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/small.json");

    fn shown(args: &[&str]) -> Result<ExitCode> {
        let args = Args::parse_from([&["isobit-bench"], args].concat());
        file(args.from.as_ref().unwrap(), &args)
    }

    #[track_caller]
    fn refused(args: &[&str], why: &str) {
        let message = shown(args).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    }

    #[test]
    fn a_file_of_one_run_is_shown_drawn_and_cut() {
        let folder = tempfile::tempdir().unwrap();
        let picture = folder.path().join("new/roof.svg");
        let name = picture.to_str().unwrap();
        assert_eq!(shown(&["--from", SMALL]).unwrap(), ExitCode::SUCCESS);
        assert_eq!(shown(&["--from", SMALL, "--markdown", "--plot", name]).unwrap(), ExitCode::SUCCESS);
        let all = std::fs::read_to_string(&picture).unwrap();
        shown(&["--from", SMALL, "--ops", "=matmul", "--plot", name]).unwrap();
        let cut = std::fs::read_to_string(&picture).unwrap();
        assert!(all.contains("unary") && !cut.contains("unary"));
        assert!(cut.contains("f16 700"), "the roof is of all rows, also of those left out");
    }

    #[test]
    fn what_cannot_be_shown_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let [picture, absent] = ["roof.svg", "absent.json"].map(|name| folder.path().join(name));
        let [picture, absent] = [&picture, &absent].map(|path| path.to_str().unwrap());
        refused(&["--from", absent], "No such file");
        refused(&["--from", SMALL, "--plot", picture, "--ops", "host_"], "would be empty: none of the 2 rows");
        refused(&["--from", SMALL, "--plot", picture, "--dtypes", "f4"], "would be empty: none of the 0 rows");
        refused(&["--from", SMALL, "--against", SMALL], "5 are needed");
        assert!(!Path::new(picture).exists());
    }

    #[test]
    fn two_files_are_compared_without_a_device() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, us: f64| {
            let row = Row { runs_us: vec![us; RUNS], ..Row::new("exp", "f32", "64Mi", us) };
            let path = folder.path().join(name);
            Report { rows: vec![row], ..Report::example() }.write(&path).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (before, now) = (write("before.json", 100.0), write("now.json", 110.0));
        assert_eq!(shown(&["--from", &now, "--against", &before]).unwrap(), ExitCode::from(1), "slower");
        assert_eq!(shown(&["--from", &before, "--against", &now]).unwrap(), ExitCode::SUCCESS, "faster");
        refused(&["--from", SMALL, "--against", &before], "5 are needed");
    }
}
