//! `isobit-coverage`: reads the files that the simulated GPUs write with `ISOBIT_SIM_COVERAGE`, and
//! reports the lines of the kernel sources that are in some compiled kernel and that nothing
//! executed, and the kernels that nothing launched. `cargo xtask coverage` makes the files and
//! starts it.

mod html;
mod reasons;
mod report;
mod sources;
mod tally;

use anyhow::{Context, Result};
use clap::Parser;
use isobit_simgpu_core::coverage::{File, merge};
use reasons::Reasons;
use report::Report;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tally::Tally;

/// Reports which lines of the kernel sources were executed, and which kernels were launched.
#[derive(Debug, Parser)]
#[command(after_help = "Exit status: 0 if every line was executed and every kernel launched, or has a reason; \
                        1 if not, or if a reason is stale; 2 if the report could not be made.")]
struct Args {
    /// Files of coverage, or folders of them.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The folder for coverage.txt, coverage.json and coverage.html.
    #[arg(long, default_value = "target/coverage")]
    out: PathBuf,
    /// The lines and kernels that need not be executed, with the reasons.
    #[arg(long)]
    reasons: PathBuf,
    /// The files are those of a part of the suite: what is left is reported, and no failure.
    #[arg(long)]
    partial: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("error: {e:#}");
            2.into()
        }
    }
}

fn run(args: &Args) -> Result<ExitCode> {
    let mut files = Vec::new();
    for path in &args.files {
        read(path, &mut files)?;
    }
    let sources = sources::Sources::of_tree()?;
    let tally = Tally::new(&sources, &merge(files), isobit_kernels::KERNELS.iter().map(|entry| entry.symbol));
    let reasons = Reasons::read(&args.reasons)?;
    let mut report = Report::new(&tally, &sources, &reasons);
    if args.partial {
        // What the rest of the suite needs is not stale.
        report.stale.clear();
    }
    std::fs::create_dir_all(&args.out).with_context(|| format!("cannot make {}", args.out.display()))?;
    let write = |name: &str, text: String| {
        let file = args.out.join(name);
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
    };
    let text = report.to_text();
    write("coverage.json", serde_json::to_string_pretty(&report)? + "\n")?;
    write("coverage.html", html::page(&report, &tally, &sources)?)?;
    write("coverage.txt", text.clone())?;
    print!("{text}");
    println!("{}", args.out.join("coverage.html").display());
    if args.partial {
        println!("not judged: only a part of the suite ran");
    }
    Ok(if args.partial || report.passes() { ExitCode::SUCCESS } else { 1.into() })
}

/// Reads a file of coverage, or every `.json` file of a folder.
fn read(path: &Path, into: &mut Vec<File>) -> Result<()> {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut found = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        found.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
        found.sort();
        anyhow::ensure!(
            !found.is_empty(),
            "{} has no file of coverage: was ISOBIT_SIM_COVERAGE set, and did the processes end by themselves?",
            path.display()
        );
        return found.iter().try_for_each(|file| read(file, into));
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    into.push(serde_json::from_str(&text).with_context(|| format!("{} is no file of coverage", path.display()))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_read_and_what_is_no_coverage_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Vec::new();
        let error = read(folder.path(), &mut files).unwrap_err().to_string();
        assert!(error.contains("ISOBIT_SIM_COVERAGE"), "{error}");
        let file = File { vendor: "cuda".into(), ..File::default() };
        std::fs::write(folder.path().join("1.json"), serde_json::to_string(&file).unwrap()).unwrap();
        std::fs::write(folder.path().join("other.txt"), "text").unwrap();
        read(folder.path(), &mut files).unwrap();
        assert_eq!(files, [file]);
        std::fs::write(folder.path().join("2.json"), "{}").unwrap();
        let error = read(folder.path(), &mut files).unwrap_err().to_string();
        assert!(error.contains("2.json is no file of coverage"), "{error}");
    }
}
