//! `cargo xtask fuzz`: searches with libFuzzer for inputs that break what reads files and code from
//! elsewhere. The targets are in `fuzz/`; the instrumentation is LLVM's, which the stable compiler
//! has too.

use crate::shell::{self, cargo, target_dir};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The package of the targets.
const PACKAGE: &str = "isobit-fuzz";

/// Seconds and MiB that one input may take; `fuzz/src/lib.rs` has the same limits.
const SECONDS: u32 = 2;
const MEBIBYTES: u32 = 1024;

/// Seconds for a target by default.
const DEFAULT: u32 = 60;

/// The instrumentation: counters for edges, and the operands of comparisons.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares";

/// What is searched, and for how long.
#[derive(Debug, Default)]
pub struct Options {
    /// The targets; all if there are none.
    pub targets: Vec<String>,
    /// Seconds for each target.
    pub seconds: Option<u32>,
}

/// Builds the program and runs it on each target. An input that breaks one is kept in
/// `fuzz/regressions`, and the task fails.
pub fn run(options: &Options) -> Result<ExitCode> {
    let program = build()?;
    let known = folders(&shell::root().join("fuzz").join("corpus"))?;
    if let Some(unknown) = options.targets.iter().find(|target| !known.contains(target)) {
        bail!("{unknown:?} is no target; the targets are {}", known.join(", "));
    }
    let targets = if options.targets.is_empty() { &known } else { &options.targets };
    let mut broken = Vec::new();
    for target in targets {
        let before = folders(&regressions(target))?;
        search(&program, target, options.seconds.unwrap_or(DEFAULT))?;
        let after = folders(&regressions(target))?;
        broken.extend(after.into_iter().filter(|file| !before.contains(file)).map(|file| format!("{target}/{file}")));
    }
    if broken.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "these inputs break a target; each is now a file in fuzz/regressions, which `cargo test -p {PACKAGE}` runs:"
    );
    broken.iter().for_each(|file| eprintln!("  {file}"));
    Ok(1.into())
}

/// Builds the program with instrumentation, in a target folder of its own.
fn build() -> Result<PathBuf> {
    let host = shell::quietly(Command::new("rustc").arg("-vV"))?;
    let host =
        host.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc does not name its host")?.to_owned();
    let folder = target_dir().join("fuzz");
    let mut build = cargo();
    // With `--target`, the flags are not those of build scripts, which lack the fuzzer's functions.
    build.args(["build", "--profile", "fuzz", "--package", PACKAGE, "--features", "libfuzzer", "--target", &host]);
    build.arg("--target-dir").arg(&folder).env("RUSTFLAGS", FLAGS);
    // The targets read code of others; the compiled tree is not needed.
    shell::run(build.env("ISOBIT_CLANG", "none"))?;
    Ok(folder.join(host).join("fuzz").join(PACKAGE))
}

fn regressions(target: &str) -> PathBuf {
    shell::root().join("fuzz").join("regressions").join(target)
}

/// Searches a target until its time is over or an input breaks it.
fn search(program: &Path, target: &str, seconds: u32) -> Result<()> {
    // What is found in addition to the committed corpus stays in the target folder for the next
    // run.
    let found = target_dir().join("fuzz").join("corpus").join(target);
    let regressions = regressions(target);
    for folder in [&found, &regressions] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    eprintln!("fuzzing {target} for {seconds} s");
    let mut fuzzer = Command::new(program);
    fuzzer.env("ISOBIT_FUZZ_TARGET", target);
    fuzzer.arg(&found).arg(shell::root().join("fuzz").join("corpus").join(target));
    fuzzer.arg(format!("-artifact_prefix={}/", regressions.display()));
    fuzzer.args([&format!("-max_total_time={seconds}"), &format!("-timeout={SECONDS}")]);
    fuzzer.args([&format!("-rss_limit_mb={MEBIBYTES}"), "-max_len=65536", "-print_final_stats=1"]);
    let log = target_dir().join("fuzz").join(format!("{target}.log"));
    let file = std::fs::File::create(&log).with_context(|| format!("cannot make {}", log.display()))?;
    let status = fuzzer.stderr(file).status().with_context(|| format!("{} does not start", program.display()))?;
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    for line in
        text.lines().filter(|line| line.starts_with("stat::number_of_executed") || line.starts_with("stat::new_units"))
    {
        eprintln!("  {line}");
    }
    // An empty folder would be in the way of the next listing.
    let _ = std::fs::remove_dir(&regressions);
    let found_one = regressions.exists();
    ensure!(status.success() || found_one, "fuzzing {target} ended with {status}; the log is {}", log.display());
    if !status.success() {
        eprintln!("  an input broke it; the log is {}", log.display());
    }
    Ok(())
}

/// Returns the names in a folder, sorted; none if it does not exist.
fn folders(folder: &Path) -> Result<Vec<String>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names =
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}
