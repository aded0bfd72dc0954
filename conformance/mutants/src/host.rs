//! Runs a mutant of host code in a copy of the checkout with a target folder of its own, so that
//! builds are incremental and nobody's files change. The copy is made to match the checkout before
//! each mutant, also after an interrupted run.

use crate::cargo::{Build, changes_simulators, has_run_tests, no_run, refused, tail};
use crate::kernels::Bench;
use crate::list::{Class, Mutant};
use crate::outcome::{By, Kill, Outcome};
use crate::process::{self, Ended};
use crate::seed;
use crate::suite::Suite;
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The most time for a build, and for a test command that has not run without a mutant.
const BUILD: Duration = Duration::from_secs(2 * 60 * 60);
const UNKNOWN: Duration = Duration::from_secs(30 * 60);
/// The least limit of a test command; it is longer if the command took long without a mutant.
const TEST: Duration = Duration::from_secs(180);
const TEST_TIMES: u32 = 6;

/// The copy of the checkout.
#[derive(Debug)]
pub struct Copy<'a> {
    bench: &'a Bench,
    /// The root of the copy.
    root: PathBuf,
    target: PathBuf,
    log: PathBuf,
    /// The cargo arguments that select what is built, and the features of all packages.
    build: &'a Build,
    /// The test commands that ran without a mutant: how long they took, or why they failed.
    proved: BTreeMap<String, std::result::Result<Duration, String>>,
}

impl<'a> Copy<'a> {
    /// Makes the copy.
    ///
    /// # Errors
    /// Fails if git does not list the files, or a file cannot be copied.
    pub fn new(bench: &'a Bench, build: &'a Build) -> Result<Self> {
        let (root, target) = (bench.work.join("checkout"), bench.work.join("target"));
        std::fs::create_dir_all(&root).with_context(|| format!("cannot create {}", root.display()))?;
        let log = bench.work.join("host.txt");
        let is_new = !target.exists();
        let copy = Self { bench, root, target, log, build, proved: BTreeMap::new() };
        let files = copy.renew(is_new)?;
        if let Some(built) = copy.bench.suite.program.ancestors().nth(2) {
            seed::seed(&copy.bench.root, &files, built, &copy.target)?;
        }
        Ok(copy)
    }

    /// Makes the copy match the checkout, and returns its files. Files that match already keep
    /// their times, so cargo does not build them again. Where nothing was built yet, all files have
    /// the times of the checkout, and what is built there counts here.
    fn renew(&self, is_new: bool) -> Result<BTreeSet<PathBuf>> {
        let files = listed(&self.bench.root)?;
        for file in &files {
            let (from, to) = (self.bench.root.join(file), self.root.join(file));
            // A file that was deleted and not committed is still listed.
            let Ok(bytes) = std::fs::read(&from) else { continue };
            if !is_new && std::fs::read(&to).is_ok_and(|old| old == bytes) {
                continue;
            }
            let folder = to.parent().context("a file has a folder")?;
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            if is_new {
                seed::copy(&from, &to)?;
            } else {
                std::fs::write(&to, bytes).with_context(|| format!("cannot write {}", to.display()))?;
            }
        }
        for old in walk(&self.root) {
            if !old.strip_prefix(&self.root).is_ok_and(|name| files.contains(name)) {
                std::fs::remove_file(&old).with_context(|| format!("cannot remove {}", old.display()))?;
            }
        }
        Ok(files)
    }

    fn cargo(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        command.env_remove("ISOBIT_SIMGPU").env("ISOBIT_COMPILE_CACHE", &self.bench.suite.cache);
        command
    }

    /// Builds what runs the cells of a mutant of a file. Returns the compiler's reason if it
    /// refuses.
    fn build(&self, file: &str) -> Result<std::result::Result<Suite, String>> {
        let ended = process::run(self.cargo().args(self.build.suite(file)), &self.log, BUILD)?;
        if ended.code != Some(0) {
            return refused(&ended.printed).map(Err);
        }
        let programs = self.target.join("debug");
        let built = Suite { program: programs.join("isobit-conformance"), ..self.bench.suite.clone() };
        if !changes_simulators(file) {
            return Ok(Ok(built));
        }
        let mut install = Command::new(programs.join("isobit-simgpu-install"));
        install.current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        let ended = process::run(&mut install, &self.log, BUILD)?;
        let folder = ended.printed.lines().rev().find(|line| Path::new(line).is_absolute());
        let (Some(0), Some(folder)) = (ended.code, folder) else {
            bail!("the simulated GPUs of {} cannot be installed:\n{}", self.root.display(), ended.printed);
        };
        Ok(Ok(Suite { simulators: folder.into(), ..built }))
    }

    /// Runs a mutant: its cells, then its tests.
    ///
    /// # Errors
    /// Fails if a file cannot be written, a program does not start, or what the mutant fails also
    /// fails without it.
    pub fn run(&mut self, mutant: &Mutant) -> Result<Outcome> {
        self.renew(false)?;
        let file = self.root.join(&mutant.file);
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let write =
            |text: &str| std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()));
        let changed = mutant.applied_to(&text)?;
        write(&changed)?;
        let outcome = self.run_cells(mutant).and_then(|outcome| match outcome {
            Outcome::Survived => self.run_tests(mutant, &|with| write(if with { &changed } else { &text })),
            other => Ok(other),
        });
        write(&text)?;
        outcome
    }

    fn run_cells(&self, mutant: &Mutant) -> Result<Outcome> {
        // A device has run the cells of a kernel already.
        if mutant.ops.is_empty() || (mutant.class() == Class::Kernels && !mutant.clang_only) {
            return Ok(Outcome::Survived);
        }
        let suite = match self.build(&mutant.file)? {
            Ok(suite) => suite,
            Err(message) => return Ok(Outcome::DoesNotCompile { message }),
        };
        // Kernels are compiled by the build; a user's kernel is part of the suite.
        let devices = self.bench.device_names();
        self.bench.cells(mutant, (&suite, &devices), None, &self.bench.work.join("host"))
    }

    /// Runs the tests of a mutant. `plant` writes the file with the mutant or without it.
    fn run_tests(&mut self, mutant: &Mutant, plant: &dyn Fn(bool) -> Result<()>) -> Result<Outcome> {
        for arguments in &mutant.tests {
            let limit = match self.proved.get(arguments) {
                Some(Ok(took)) => TEST.max(*took * TEST_TIMES),
                _ => UNKNOWN,
            };
            let ended = match self.test(arguments, limit)? {
                Ok(ended) => ended,
                Err(compile) => return refused(&compile).map(|message| Outcome::DoesNotCompile { message }),
            };
            if ended.code == Some(0) {
                if has_run_tests(&ended.printed) {
                    continue;
                }
                return Ok(Outcome::NotRun { message: format!("`cargo test {arguments}` runs no test") });
            }
            // A kill counts if the same tests pass without the mutant.
            if !self.proved.contains_key(arguments) {
                plant(false)?;
                let passed = self.prove(arguments)?;
                self.proved.insert(arguments.clone(), passed);
                plant(true)?;
            }
            if let Some(Err(said)) = self.proved.get(arguments) {
                let message = format!("`cargo test {arguments}` fails without any mutant: {said}");
                return Ok(Outcome::NotRun { message });
            }
            return Ok(Outcome::Killed(kill(arguments, &ended, limit)));
        }
        Ok(Outcome::Survived)
    }

    /// Runs a test command. Returns what the compiler printed if it does not compile.
    fn test(&self, arguments: &str, limit: Duration) -> Result<std::result::Result<Ended, String>> {
        let arguments = self.build.test(arguments);
        let compile = process::run(self.cargo().args(no_run(&arguments)), &self.log, BUILD)?;
        if compile.code != Some(0) {
            return Ok(Err(compile.printed));
        }
        process::run(self.cargo().args(&arguments), &self.log, limit).map(Ok)
    }

    /// Runs a test command without a mutant. Returns how long it took, or why it fails.
    fn prove(&self, arguments: &str) -> Result<std::result::Result<Duration, String>> {
        eprintln!("without a mutant: cargo test {arguments}");
        let began = Instant::now();
        Ok(match self.test(arguments, BUILD)? {
            Ok(ended) if ended.code == Some(0) => Ok(began.elapsed()),
            Ok(ended) => Err(tail(&ended.printed)),
            Err(compile) => Err(tail(&compile)),
        })
    }
}

/// Describes what a failed test command found.
fn kill(arguments: &str, ended: &Ended, limit: Duration) -> Kill {
    let failed = ended.printed.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
    let check = failed.map_or_else(|| format!("cargo test {arguments}"), str::to_string);
    let panicked = ended.printed.lines().skip_while(|line| !line.contains("panicked at")).nth(1);
    if ended.hung {
        let message = format!("no end within {} s", limit.as_secs());
        return Kill { by: By::Hang, device: None, check, message };
    }
    let message = panicked.or(ended.printed.lines().last()).unwrap_or_default().to_string();
    Kill { by: By::Test, device: None, check, message }
}

/// Returns the files of a checkout that git tracks or would track.
fn listed(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let output = git.output().context("`git` does not start")?;
    if !output.status.success() {
        bail!("`git ls-files` failed in {}: {}", root.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    let text = String::from_utf8(output.stdout).context("a file has a name that is not UTF-8")?;
    Ok(text.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect())
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(walk(&entry.path())),
            _ => found.push(entry.path()),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_follows_the_checkout_and_keeps_the_times_of_what_matches() {
        let folder = tempfile::tempdir().unwrap();
        let (root, work) = (folder.path().join("checkout"), folder.path().join("work"));
        std::fs::create_dir_all(root.join("src")).unwrap();
        let git = Command::new("git").args(["init", "--quiet"]).current_dir(&root).status();
        if git.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) {
            assert!(std::env::var_os("CI").is_none(), "there is no git");
            return eprintln!("skipped: there is no git; `apt-get install git` installs it");
        }
        assert!(git.unwrap().success());
        std::fs::write(root.join("src/a.rs"), "one").unwrap();
        std::fs::write(root.join("b.rs"), "two").unwrap();
        let suite = Suite { program: "p".into(), simulators: "s".into(), cache: "c".into() };
        let bench = Bench::new(suite, Vec::new(), root.clone(), work.clone());
        let build = Build::default();
        let copy = Copy::new(&bench, &build).unwrap();
        let copied = work.join("checkout");
        let time = |name: &str| std::fs::metadata(copied.join(name)).unwrap().modified().unwrap();
        let before = time("b.rs");
        // An interrupted run leaves a mutant behind.
        std::fs::write(copied.join("src/a.rs"), "mutant").unwrap();
        std::fs::write(copied.join("left.rs"), "").unwrap();
        copy.renew(false).unwrap();
        assert_eq!(std::fs::read_to_string(copied.join("src/a.rs")).unwrap(), "one");
        assert!(!copied.join("left.rs").exists());
        assert_eq!(time("b.rs"), before);
    }
}
