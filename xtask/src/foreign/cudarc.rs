//! cudarc's own tests on a simulated NVIDIA GPU, as the package of the registry has them. The
//! workspace depends on it, so `Cargo.lock` pins the version.

use super::listed::{self, Listed};
use crate::candle::sources::{mirror, write_changed};
use crate::candle::suites::{FINDING, reason, result};
use crate::setup::{NVRTC, NVRTC_VARIABLE};
use crate::shell::{self, cargo, root, target_dir};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is known of the tests: `fails` with the library or feature that is absent, `skipped` for
/// what measures the time of a real card, and `finding` for what the simulator rightly says of
/// their kernels.
const LIST: &str = "simgpu/foreign/cudarc.tsv";

const KINDS: [&str; 3] = ["fails", "skipped", "finding"];

/// The libraries that the simulated GPU has, and NVRTC.
const FEATURES: &str = "std,driver,nvrtc,cublas,cudnn,curand,f16,dynamic-loading,cuda-13000";

/// Some of the tests need two cards.
const CARDS: &str = "sm_80,sm_80";

/// Lays out cudarc, builds its tests and runs them.
pub fn run(simulators: &Path) -> Result<()> {
    let text = std::fs::read_to_string(root().join(LIST)).context(LIST)?;
    let list = listed::read(&text, &KINDS).context(LIST)?;
    let program = build(&lay_out(&package()?)?)?;
    let nvrtc = std::env::var_os(NVRTC_VARIABLE).map(PathBuf::from).map_or_else(|| NVRTC.get(), Ok)?;
    let nvrtc = nvrtc.parent().context("NVRTC is in no folder")?.to_path_buf();
    let libraries = std::env::join_paths([simulators.join("cuda/lib"), nvrtc])?;
    let on_device = || {
        let mut command = shell::told(&program);
        command.env("LD_LIBRARY_PATH", &libraries).env("ISOBIT_SIM_CUDA", CARDS);
        command
    };
    let tests = |flags: &[&str]| -> Result<Vec<String>> {
        let list = shell::output(on_device().args(["--list", "--format", "terse"]).args(flags))?;
        Ok(list.lines().filter_map(|line| Some(line.strip_suffix(": test")?.to_string())).collect())
    };
    // The ignored tests run alone, as their messages ask for.
    let (all, alone) = (tests(&[])?, tests(&["--ignored"])?);
    let unknown = list.iter().filter(|of| of.kind != "finding" && !all.iter().any(|test| test == of.name));
    let wrong = unknown.map(|of| format!("there is no test {}", of.name)).collect();
    let mut outcome = Outcome { passed: 0, wrong, found: BTreeSet::new() };
    let is_skipped = |test: &str| list.iter().any(|of| of.kind == "skipped" && of.name == test);
    let (ran, ignored): (Vec<&str>, Vec<&str>) = all
        .iter()
        .map(String::as_str)
        .filter(|test| !is_skipped(test))
        .partition(|test| !alone.iter().any(|a| a == test));
    // They share a card, and some of them ask how much of its memory is free.
    outcome.add(on_device().args(["--test-threads", "1", "--exact"]).args(&ran), &ran, &list)?;
    for test in ignored {
        outcome.add(on_device().args(["--ignored", "--exact", test]), &[test], &list)?;
    }
    for of in list.iter().filter(|of| of.kind == "finding" && !outcome.found.contains(of.name)) {
        outcome.wrong.push(format!("{LIST} lists a finding that there is not any more: {}", of.name));
    }
    for of in list.iter().filter(|of| of.kind != "finding") {
        eprintln!("  {} as listed: {}: {}", of.kind, of.name, of.reason);
    }
    eprintln!("cudarc: {} tests pass, {} are wrong", outcome.passed, outcome.wrong.len());
    ensure!(outcome.wrong.is_empty(), "cudarc's tests on the simulated GPU:\n  {}", outcome.wrong.join("\n  "));
    Ok(())
}

/// The results of the tests.
struct Outcome<'a> {
    passed: usize,
    wrong: Vec<String>,
    /// The findings of the list that there were.
    found: BTreeSet<&'a str>,
}

impl<'a> Outcome<'a> {
    fn add(&mut self, command: &mut Command, tests: &[&str], list: &[Listed<'a>]) -> Result<()> {
        let output = command.output().context("the tests do not start")?;
        let (printed, messages) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let results: BTreeMap<&str, &str> = printed.lines().filter_map(result).collect();
        for test in tests {
            let fails = list.iter().any(|of| of.kind == "fails" && of.name == *test);
            match results.get(test) {
                Some(&"ok") if fails => self.wrong.push(format!("{test} passes, but {LIST} says that it fails")),
                Some(&"ok") => self.passed += 1,
                Some(_) if fails => {}
                Some(_) => self.wrong.push(format!("{test} fails{}", reason(&printed, test))),
                None => self.wrong.push(format!("{test} was not run to its end ({})", output.status)),
            }
        }
        for said in messages.lines().filter_map(|line| line.strip_prefix(FINDING)) {
            // The last line is the number of findings.
            if said.starts_with(|c: char| c.is_ascii_digit()) {
                continue;
            }
            match list.iter().find(|of| of.kind == "finding" && said.starts_with(of.name)) {
                Some(of) => _ = self.found.insert(of.name),
                None => self.wrong.push(format!("a finding: {said}")),
            }
        }
        Ok(())
    }
}

/// Returns the folder of the package that the workspace depends on.
fn package() -> Result<PathBuf> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--format-version", "1", "--locked"]);
    let metadata: Value = serde_json::from_str(&shell::quietly(&mut metadata)?).context("cargo's metadata")?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let cudarc = packages.find(|package| package["name"] == "cudarc").context("the workspace has no cudarc")?;
    let manifest = Path::new(cudarc["manifest_path"].as_str().unwrap_or_default());
    Ok(manifest.parent().context("cudarc is in no folder")?.to_path_buf())
}

/// Copies the package into a workspace of its own, with the versions that it was tested with.
fn lay_out(package: &Path) -> Result<PathBuf> {
    // The folder of the registry carries the version, as the lock file that is kept here must.
    let folder = target_dir().join(package.file_name().context("cudarc is in no folder")?);
    mirror(package, &folder.join("source"))?;
    write_changed(&folder.join("Cargo.toml"), b"[workspace]\nmembers = [\"source\"]\nresolver = \"2\"\n")?;
    let lock = package.join("Cargo.lock");
    if lock.exists() && !folder.join("Cargo.lock").exists() {
        std::fs::copy(&lock, folder.join("Cargo.lock")).with_context(|| format!("cannot copy {}", lock.display()))?;
    }
    Ok(folder)
}

/// Builds the tests and returns their program.
fn build(folder: &Path) -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["test", "--no-run", "--lib", "--message-format", "json-render-diagnostics", "--manifest-path"]);
    build.arg(folder.join("Cargo.toml")).arg("--target-dir").arg(folder.join("target"));
    build.args(["--package", "cudarc", "--no-default-features", "--features", FEATURES]);
    let messages = shell::output(&mut build)?;
    let mut programs = messages.lines().rev().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().filter(|_| message["target"]["name"] == "cudarc").map(PathBuf::from)
    });
    programs.next().context("cargo built no tests of cudarc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_has_a_reason() {
        let text = std::fs::read_to_string(root().join(LIST)).unwrap();
        assert!(listed::read(&text, &KINDS).unwrap().iter().all(|of| of.reason.len() > 20));
    }
}
