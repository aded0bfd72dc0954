//! The command line, and the order in which mutants run.

use crate::cargo::Build;
use crate::host::Copy;
use crate::kernels::Bench;
use crate::list::{self, Class, Mutant};
use crate::outcome::{Outcome, Verdict};
use crate::report::{Report, time};
use crate::results::{self, Results};
use crate::suite::Suite;
use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// Plants small faults, one at a time, in kernels, launch code, drivers and the suite, and counts
/// which of them the suite finds.
#[derive(Debug, Parser)]
#[command(name = "isobit-mutants", bin_name = "cargo xtask mutants", version)]
#[command(
    after_help = "Exit status: 0 if every mutant was killed, or may survive; 1 if one survived, or its entry is wrong; 2 if it could not run."
)]
struct Args {
    /// The list.
    #[arg(long, value_enum, default_value_t = List::All)]
    list: List,

    /// Run only the I-th of N equal parts, such as 1/4.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// The devices, in the order in which a mutant runs on them.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "ID,...",
        default_value = "sim-cuda,sim-rocm:gfx90a,sim-rocm:gfx1100"
    )]
    devices: Vec<String>,

    /// Only the mutants of these names, or of names that begin so.
    #[arg(long, value_delimiter = ',', value_name = "ID,...")]
    only: Vec<String>,

    /// Only the mutants of these kinds of files.
    #[arg(long, value_delimiter = ',', value_enum)]
    class: Vec<Class>,

    /// Count a mutant that an earlier build killed as killed, and run only the others.
    #[arg(long)]
    keep_kills: bool,

    /// The number of kernel mutants that run at the same time; by default the number of processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Folder for results.jsonl, mutants.json and mutants.md, and for the copy of the checkout in
    /// which host code is built.
    #[arg(long, value_name = "DIR", default_value = "target/mutants")]
    out: PathBuf,

    /// Only check that the lists fit the sources.
    #[arg(long)]
    check: bool,

    /// The built conformance program.
    #[arg(long, hide = true)]
    program: Option<PathBuf>,

    /// The folder of the simulated GPUs.
    #[arg(long, hide = true)]
    simulators: Option<PathBuf>,

    /// The cargo arguments that select the packages of the suite, separated by commas.
    #[arg(long, hide = true, value_delimiter = ',', allow_hyphen_values = true)]
    selection: Vec<String>,

    /// The features of all packages.
    #[arg(long, hide = true, value_delimiter = ',')]
    features: Vec<String>,

    /// The package that gives every build the same features.
    #[arg(long, hide = true, default_value = "")]
    unite: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum List {
    First,
    Second,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shard {
    part: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((part, of)) if part >= 1 && part <= of => Ok(Self { part, of }),
            _ => Err(format!("`{text}` is no part: give I/N with 1 <= I <= N, such as 1/4")),
        }
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("error: {e:#}");
            2.into()
        }
    }
}

fn run(args: &Args) -> Result<bool> {
    let began = Instant::now();
    let root = crate::root();
    let all = list::read(&root)?;
    let faults = list::faults(&root, &all);
    if !faults.is_empty() {
        bail!("the lists do not fit the sources:\n{}", faults.join("\n"));
    }
    if args.check {
        println!("{} mutants fit the sources", all.len());
        return Ok(true);
    }
    let chosen = chosen(args, &all)?;
    let need =
        |path: &Option<PathBuf>| path.clone().context("start it with `cargo xtask mutants`, which builds the suite");
    let out = std::path::absolute(&args.out).context("cannot determine the folder for results")?;
    std::fs::create_dir_all(&out).with_context(|| format!("cannot create {}", out.display()))?;
    let cache = out.join("compiled");
    let suite = Suite { program: need(&args.program)?, simulators: need(&args.simulators)?, cache };
    let build = results::build_of(&root)?;
    let known = Results::read(&out, build.clone(), &args.devices, args.keep_kills)?;
    let bench = Bench::new(suite, args.devices.clone(), root, out.join("work"));
    let left: Vec<&Mutant> = chosen.iter().filter(|m| known.of(m).is_none()).collect();
    eprintln!("{} mutants, {} of them have run before", chosen.len(), chosen.len() - left.len());
    let progress = Progress { results: Mutex::new(known), done: AtomicUsize::new(0), total: left.len() };

    let (kernels, host): (Vec<&Mutant>, Vec<&Mutant>) = left.into_iter().partition(|m| m.needs_no_build());
    let cargo = Build { selection: args.selection.clone(), features: args.features.clone(), unite: args.unite.clone() };
    let outcome = run_kernels(&bench, &kernels, jobs(args), &progress)
        .and_then(|()| if host.is_empty() { Ok(()) } else { run_host(&bench, &cargo, &host, &progress) });
    let results = progress.results.into_inner().expect("nothing panics here");
    let report = Report::new(&chosen, &results, (build, &args.devices), began.elapsed());
    let text = report.text();
    for (name, text) in [("mutants.md", text.clone()), ("mutants.json", serde_json::to_string_pretty(&report)?)] {
        let path = out.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    // What was found before an error is kept and shown.
    print!("{text}");
    outcome.map(|()| report.passed())
}

fn jobs(args: &Args) -> usize {
    args.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()), usize::from)
}

fn chosen(args: &Args, all: &[Mutant]) -> Result<Vec<Mutant>> {
    let listed = |m: &Mutant| match args.list {
        List::First => m.list == "first",
        List::Second => m.list == "second",
        List::All => true,
    };
    for name in &args.only {
        if !all.iter().any(|m| m.id.starts_with(name)) {
            bail!("no mutant is named `{name}`, and no name begins so; the lists are in {}", list::FOLDER);
        }
    }
    let passes = |m: &&Mutant| {
        listed(m)
            && (args.only.is_empty() || args.only.iter().any(|name| m.id.starts_with(name)))
            && (args.class.is_empty() || args.class.contains(&m.class()))
    };
    let mine = |i: usize| args.shard.is_none_or(|shard| i % shard.of == shard.part - 1);
    let chosen: Vec<Mutant> =
        all.iter().filter(passes).enumerate().filter(|(i, _)| mine(*i)).map(|(_, m)| m.clone()).collect();
    if chosen.is_empty() {
        bail!("the filters select no mutant");
    }
    Ok(chosen)
}

/// The results so far, and how many mutants are done.
struct Progress {
    results: Mutex<Results>,
    done: AtomicUsize,
    total: usize,
}

impl Progress {
    /// Keeps what became of a mutant, and says it.
    fn keep(&self, mutant: &Mutant, outcome: Outcome, began: Instant) -> Result<()> {
        let seconds = began.elapsed().as_secs_f64();
        let verdict = Verdict::of(mutant, &outcome);
        let said = match &outcome {
            Outcome::Killed(kill) => {
                let on = kill.device.as_ref().map(|device| format!(" on {device}")).unwrap_or_default();
                format!("killed by {}{on}, {}", kill.by.name(), kill.check)
            }
            Outcome::Survived => "survived".into(),
            Outcome::DoesNotCompile { message } => format!("does not compile: {message}"),
            Outcome::NotRun { message } => format!("could not run: {message}"),
        };
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let mark = if verdict.is_bad() { "✗" } else { "✓" };
        eprintln!("{done:>4} of {} {mark} {}: {said} ({})", self.total, mutant.id, time(seconds));
        self.results.lock().expect("nothing panics here").add(mutant, outcome, seconds)
    }
}

/// Runs mutants of kernels, several at the same time: most of them run few cells, which keep one
/// processor busy.
fn run_kernels(bench: &Bench, mutants: &[&Mutant], jobs: usize, progress: &Progress) -> Result<()> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || -> Result<()> {
        while !failed.load(Ordering::Relaxed) {
            let Some(mutant) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            let began = Instant::now();
            let source = mutant.kernel_source().expect("it was selected by it");
            let kept = bench.kernel(mutant, source).and_then(|outcome| progress.keep(mutant, outcome, began));
            failed.fetch_or(kept.is_err(), Ordering::Relaxed);
            kept.with_context(|| format!("mutant {}", mutant.id))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a mutant's run does not panic"))
    })
}

/// Runs mutants of host code one after the other, because cargo keeps all processors busy. Mutants
/// of one file follow each other, so that little is built.
fn run_host(bench: &Bench, cargo: &Build, mutants: &[&Mutant], progress: &Progress) -> Result<()> {
    let mut copy = Copy::new(bench, cargo)?;
    let mut mutants = mutants.to_vec();
    mutants.sort_by_key(|m| (m.class(), m.file.clone()));
    for mutant in mutants {
        let began = Instant::now();
        let mut run = || -> Result<Outcome> {
            let on_device = mutant.kernel_source().map(|source| bench.kernel(mutant, source)).transpose()?;
            match on_device {
                None | Some(Outcome::Survived) => copy.run(mutant),
                Some(outcome) => Ok(outcome),
            }
        };
        let kept = run().and_then(|outcome| progress.keep(mutant, outcome, began));
        kept.with_context(|| format!("mutant {}", mutant.id))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &[&str]) -> Args {
        Args::parse_from([&["isobit-mutants"], line].concat())
    }

    fn mutants() -> Vec<Mutant> {
        let of = |i: usize| {
            let (list, file) = if i < 6 { ("first", "a.cu") } else { ("second", "driver-cuda/src/lib.rs") };
            let entry =
                serde_json::json!({ "id": format!("m{i}"), "file": file, "find": "x", "replace": "y", "thought": "t" });
            Mutant { list: list.into(), ..serde_json::from_value(entry).unwrap() }
        };
        (0..10).map(of).collect()
    }

    fn ids(line: &[&str]) -> Vec<String> {
        chosen(&args(line), &mutants()).unwrap().into_iter().map(|m| m.id).collect()
    }

    #[test]
    fn shards_together_are_the_whole_list_and_share_nothing() {
        let mut all: Vec<String> = ["1/3", "2/3", "3/3"].iter().flat_map(|shard| ids(&["--shard", shard])).collect();
        assert_eq!(all.len(), 10);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 10);
        for wrong in ["0/3", "4/3", "1", "a/b", "1/0"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn filters_select_by_list_class_and_name() {
        assert_eq!(ids(&["--list", "second"]).len(), 4);
        assert_eq!(ids(&["--class", "drivers,host"]), ["m6", "m7", "m8", "m9"]);
        assert_eq!(ids(&["--only", "m1,m7"]), ["m1", "m7"]);
        let e = chosen(&args(&["--only", "x"]), &mutants()).unwrap_err().to_string();
        assert!(e.contains("no mutant is named `x`"), "{e}");
        assert!(chosen(&args(&["--only", "m1", "--list", "second"]), &mutants()).is_err());
    }
}
