//! Runs a mutant of host code in a copy of the checkout with a target folder of its own, so that
//! builds are incremental and nobody's files change. The copy is made to match the checkout before
//! each mutant, also after an interrupted run.

use crate::kernels::Bench;
use crate::list::{Class, Mutant};
use crate::outcome::{By, Kill, Outcome};
use crate::process;
use crate::suite::Suite;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The most time for a build.
const BUILD: Duration = Duration::from_secs(2 * 60 * 60);
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
    /// How long each test command took without a mutant.
    took: std::collections::BTreeMap<String, Duration>,
}

/// How cargo builds the suite.
#[derive(Debug, Clone, Default)]
pub struct Build {
    /// The arguments that select the packages of the suite.
    pub selection: Vec<String>,
    /// The features of all packages, as `package/feature`.
    pub features: Vec<String>,
    /// A package that gives every build the same features.
    pub unite: String,
}

impl Build {
    /// Returns the `--features` of some packages.
    fn features_of(&self, packages: &[&str]) -> Vec<String> {
        let chosen = self.features.iter().filter(|f| packages.iter().any(|p| f.split('/').next() == Some(p)));
        let chosen: Vec<&str> = chosen.map(String::as_str).collect();
        if chosen.is_empty() { Vec::new() } else { vec!["--features".into(), chosen.join(",")] }
    }

    /// Returns the arguments of cargo for a mutant's test command.
    fn test(&self, arguments: &str) -> Vec<String> {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        let packages: Vec<&str> =
            words.windows(2).filter(|w| w[0] == "-p" || w[0] == "--package").map(|w| w[1]).collect();
        let mut all = vec!["test".to_string()];
        if !self.unite.is_empty() {
            all.extend(["--package".into(), self.unite.clone()]);
        }
        all.extend(self.features_of(&packages));
        all.extend(words.into_iter().map(str::to_string));
        all
    }
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
        let copy = Self { bench, root, target, log, build, took: Default::default() };
        copy.renew()?;
        Ok(copy)
    }

    /// Makes the copy match the checkout. Files that match already keep their times, so cargo does
    /// not build them again.
    fn renew(&self) -> Result<()> {
        let files = listed(&self.bench.root)?;
        for file in &files {
            let (from, to) = (self.bench.root.join(file), self.root.join(file));
            // A file that was deleted and not committed is still listed.
            let Ok(bytes) = std::fs::read(&from) else { continue };
            if std::fs::read(&to).is_ok_and(|old| old == bytes) {
                continue;
            }
            let folder = to.parent().context("a file has a folder")?;
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            std::fs::copy(&from, &to).with_context(|| format!("cannot write {}", to.display()))?;
        }
        for old in walk(&self.root) {
            if !old.strip_prefix(&self.root).is_ok_and(|name| files.contains(name)) {
                std::fs::remove_file(&old).with_context(|| format!("cannot remove {}", old.display()))?;
            }
        }
        Ok(())
    }

    fn cargo(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        command.env_remove("ISOBIT_SIMGPU").env("ISOBIT_COMPILE_CACHE", &self.bench.suite.cache);
        command
    }

    /// Builds the suite. Returns the compiler's reason if it refuses.
    fn build(&self) -> Result<std::result::Result<Suite, String>> {
        let mut build = self.cargo();
        build.arg("build").args(&self.build.selection).args(self.build.features_of(&["isobit-conformance"]));
        let ended = process::run(&mut build, &self.log, BUILD)?;
        if ended.code != Some(0) {
            return refused(&ended.printed).map(Err);
        }
        let programs = self.target.join("debug");
        let mut install = Command::new(programs.join("isobit-simgpu-install"));
        install.current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        let ended = process::run(&mut install, &self.log, BUILD)?;
        let folder = ended.printed.lines().rev().find(|line| Path::new(line).is_absolute());
        let (Some(0), Some(folder)) = (ended.code, folder) else {
            bail!("the simulated GPUs of {} cannot be installed:\n{}", self.root.display(), ended.printed);
        };
        let cache = self.bench.suite.cache.clone();
        Ok(Ok(Suite { program: programs.join("isobit-conformance"), simulators: folder.into(), cache }))
    }

    /// Runs every test command of the mutants without a mutant.
    ///
    /// # Errors
    /// Fails if a command fails: what kills a mutant must pass without it.
    pub fn prove(&mut self, mutants: &[&Mutant]) -> Result<()> {
        let commands: BTreeSet<&String> = mutants.iter().flat_map(|m| &m.tests).collect();
        for (i, arguments) in commands.iter().enumerate() {
            eprintln!("without a mutant, {} of {}: cargo test {arguments}", i + 1, commands.len());
            let compile = process::run(self.cargo().args(no_run(&self.build.test(arguments))), &self.log, BUILD)?;
            let began = Instant::now();
            let ended = process::run(self.cargo().args(self.build.test(arguments)), &self.log, BUILD)?;
            if compile.code != Some(0) || ended.code != Some(0) {
                bail!(
                    "`cargo test {arguments}` fails without any mutant:\n{}",
                    tail(if compile.code == Some(0) { &ended.printed } else { &compile.printed })
                );
            }
            if !has_run_tests(&ended.printed) {
                bail!("`cargo test {arguments}` runs no test: correct the entry");
            }
            self.took.insert((*arguments).clone(), began.elapsed());
        }
        Ok(())
    }

    /// Runs a mutant: its cells, then its tests.
    ///
    /// # Errors
    /// Fails if a file cannot be written, a program does not start, or what the mutant fails also
    /// fails without it.
    pub fn run(&self, mutant: &Mutant) -> Result<Outcome> {
        self.renew()?;
        let file = self.root.join(&mutant.file);
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let changed = mutant.applied_to(&text)?;
        std::fs::write(&file, changed).with_context(|| format!("cannot write {}", file.display()))?;
        let outcome = self.outcome(mutant);
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        outcome
    }

    fn outcome(&self, mutant: &Mutant) -> Result<Outcome> {
        // A device has run the cells of a kernel already.
        if !mutant.ops.is_empty() && (mutant.class() != Class::Kernels || mutant.clang_only) {
            let suite = match self.build()? {
                Ok(suite) => suite,
                Err(message) => return Ok(Outcome::DoesNotCompile { message }),
            };
            let devices = self.bench.device_names();
            match self.bench.cells(mutant, (&suite, &devices), None, &self.bench.work.join("host"))? {
                Outcome::Survived => {}
                // Kernels are compiled by the build; a user's kernel is part of the suite.
                other => return Ok(other),
            }
        }
        for arguments in &mutant.tests {
            let arguments_of_cargo = self.build.test(arguments);
            let compile = process::run(self.cargo().args(no_run(&arguments_of_cargo)), &self.log, BUILD)?;
            if compile.code != Some(0) {
                return refused(&compile.printed).map(|message| Outcome::DoesNotCompile { message });
            }
            let limit = self.took.get(arguments).map_or(TEST, |took| TEST.max(*took * TEST_TIMES));
            let ended = process::run(self.cargo().args(&arguments_of_cargo), &self.log, limit)?;
            if ended.code == Some(0) {
                continue;
            }
            let failed = ended.printed.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
            let check = failed.map_or_else(|| format!("cargo test {arguments}"), str::to_string);
            let by = if ended.hung { By::Hang } else { By::Test };
            let panicked = ended.printed.lines().skip_while(|line| !line.contains("panicked at")).nth(1);
            let message = match (by, panicked) {
                (By::Hang, _) => format!("no end within {} s", limit.as_secs()),
                (_, Some(said)) => said.to_string(),
                _ => ended.printed.lines().last().unwrap_or_default().to_string(),
            };
            return Ok(Outcome::Killed(Kill { by, device: None, check, message }));
        }
        Ok(Outcome::Survived)
    }
}

/// Returns the arguments that only build the tests.
fn no_run(arguments: &[String]) -> Vec<String> {
    let own = arguments.iter().take_while(|a| *a != "--").cloned();
    own.chain(["--no-run".to_string()]).collect()
}

/// Whether a test has run, rather than none by that name.
fn has_run_tests(printed: &str) -> bool {
    let counts = printed.lines().filter_map(|line| line.strip_prefix("test result: ok. ")?.split(' ').next());
    counts.filter_map(|n| n.parse::<u64>().ok()).any(|n| n > 0)
}

/// Returns why the compiler refuses.
///
/// # Errors
/// Fails if the output has no error of the compiler: the build then failed for another reason.
fn refused(printed: &str) -> Result<String> {
    let error = printed.lines().find(|line| line.starts_with("error[E") || line.starts_with("error: "));
    match error {
        // A full disk or a missing tool is no property of the mutant.
        Some(error) if !error.contains("failed to run custom build command") || printed.contains(".cu") => {
            Ok(error.to_string())
        }
        _ => bail!("a build failed, and not because of the code:\n{}", tail(printed)),
    }
}

fn tail(printed: &str) -> String {
    let lines: Vec<&str> = printed.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
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
    fn a_test_command_has_the_features_of_its_packages() {
        let build = Build {
            selection: Vec::new(),
            features: ["isobit-kernels/cuda", "isobit-kernels/rocm", "isobit/cuda"].map(str::to_string).into(),
            unite: "isobit-features".into(),
        };
        let words = build.test("-p isobit-kernels --lib pool -- --exact");
        let expected = "test --package isobit-features --features isobit-kernels/cuda,isobit-kernels/rocm \
                        -p isobit-kernels --lib pool -- --exact";
        assert_eq!(words.join(" "), expected);
        assert_eq!(no_run(&words).last().unwrap(), "--no-run");
        assert!(!no_run(&words).contains(&"--exact".to_string()));
        assert_eq!(build.test("-p isobit-hal").join(" "), "test --package isobit-features -p isobit-hal");
    }

    #[test]
    fn only_the_code_is_to_blame_for_what_does_not_compile() {
        let typed = "   Compiling a v0.1.0\nerror[E0308]: mismatched types\n --> src/lib.rs:1";
        assert_eq!(refused(typed).unwrap(), "error[E0308]: mismatched types");
        let disk = "error: failed to run custom build command for `x`\nNo space left on device";
        assert!(refused(disk).unwrap_err().to_string().contains("No space left"));
        assert!(refused("killed").is_err());
    }

    #[test]
    fn a_command_that_selects_no_test_is_noticed() {
        assert!(has_run_tests("test a ... ok\ntest result: ok. 1 passed; 0 failed"));
        assert!(!has_run_tests("running 0 tests\ntest result: ok. 0 passed; 0 failed; 3 filtered out"));
    }

    #[test]
    fn the_copy_follows_the_checkout_and_keeps_the_times_of_what_matches() {
        let folder = tempfile::tempdir().unwrap();
        let (root, work) = (folder.path().join("checkout"), folder.path().join("work"));
        std::fs::create_dir_all(root.join("src")).unwrap();
        let git = Command::new("git").args(["init", "--quiet"]).current_dir(&root).status().unwrap();
        assert!(git.success());
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
        copy.renew().unwrap();
        assert_eq!(std::fs::read_to_string(copied.join("src/a.rs")).unwrap(), "one");
        assert!(!copied.join("left.rs").exists());
        assert_eq!(time("b.rs"), before);
    }
}
