//! candle's own tests for GPUs, its tests for the CPU that are moved to a device, and the proofs of
//! `integrations/candle/proofs`, on devices of Isobit.

use crate::conformance;
use crate::setup::{self, MINILM, NVRTC, NVRTC_VARIABLE, Need};
use crate::shell::{self, cargo, root, target_dir};
use crate::steps::Steps;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The devices that are tested if none is named.
const DEFAULT: [&str; 2] = ["sim-cuda", "sim-rocm:gfx90a"];

/// Tests that fail by design: a test, and why.
const FAILING: &str = "integrations/candle/failing.tsv";

/// The digests of the proofs' results; written instead of compared if `ISOBIT_BLESS` is 1.
const DIGESTS: &str = "integrations/candle/proofs/digests.tsv";

/// Names a file for the proofs to add their digests to.
const BLESS: &str = "ISOBIT_CANDLE_BLESS";

/// Names the folder of all-MiniLM-L6-v2.
const MODEL: &str = "ISOBIT_MINILM";

/// With this a simulated GPU prints a finding.
pub const FINDING: &str = "simulated GPU: ";

/// A program of tests.
struct Program {
    /// The package and the target, such as `candle-core/conv_tests`.
    name: String,
    file: PathBuf,
}

/// The result of the tests on a device.
#[derive(Default)]
struct Outcome {
    passed: usize,
    /// Tests that fail, and are listed.
    known: Vec<String>,
    /// What is wrong.
    wrong: Vec<String>,
}

/// Builds the tests and runs them on each device.
pub fn run(steps: &mut Steps, out: &Path, devices: &[String], filter: Option<&str>) -> Result<ExitCode> {
    let devices: Vec<&str> = match devices {
        [] => DEFAULT.to_vec(),
        named => named.iter().map(String::as_str).collect(),
    };
    let list = std::fs::read_to_string(root().join(FAILING)).context(FAILING)?;
    let simulators = match devices.iter().any(|device| device.starts_with("sim-")) {
        true => Some(steps.run("simulated GPUs", || {
            let lacking = setup::ensure(&[Need::Clang, Need::Lld, Need::Pip])?;
            if !lacking.contains(&Need::Pip) {
                NVRTC.get()?;
            }
            conformance::build()
        })?),
        false => None,
    };
    let programs = steps.run("build of candle and its tests", || build(out))?;
    let blessed = (std::env::var_os("ISOBIT_BLESS").is_some_and(|v| v == "1")).then(|| out.join("digests.tsv"));
    if let Some(file) = &blessed {
        let _ = std::fs::remove_file(file);
        shell::tell(BLESS, file);
    }
    if std::env::var_os(MODEL).is_none() && MINILM.found().is_none() {
        eprintln!("skipped: all-MiniLM-L6-v2 with its real weights; `cargo xtask model` downloads it");
    }
    let mut failed = false;
    for device in devices {
        let outcome = steps.run(device, || {
            let failing = failing(&list, &numerics(device))?;
            let mut outcome = Outcome::default();
            for program in &programs {
                outcome.add(program, device, simulators.as_deref(), filter, &failing)?;
            }
            Ok(outcome)
        })?;
        let Outcome { passed, known, wrong } = outcome;
        if passed == 0 && filter.is_none() {
            let first = wrong.first().map_or("there is none", String::as_str);
            bail!("{device}: no test passes. The first of {} that fail: {first}", wrong.len());
        }
        eprintln!("{device}: {passed} pass, {} fail as listed in {FAILING}, {} wrong", known.len(), wrong.len());
        known.iter().for_each(|test| eprintln!("  fails as listed: {test}"));
        wrong.iter().for_each(|what| eprintln!("  wrong: {what}"));
        failed |= !wrong.is_empty();
    }
    if let Some(file) = blessed {
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("no digest was written to {}", file.display()))?;
        // The same line from each device; two lines of one name would show that devices differ.
        let lines: BTreeSet<&str> = text.lines().collect();
        std::fs::write(root().join(DIGESTS), lines.into_iter().map(|line| format!("{line}\n")).collect::<String>())?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Reads the list of tests that fail by design with some numerics: each with its reason.
fn failing<'a>(text: &'a str, numerics: &str) -> Result<BTreeMap<&'a str, &'a str>> {
    let mut tests = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let [test, with, reason] = line.split('\t').collect::<Vec<_>>()[..] else {
            bail!("{FAILING}: `{line}` is not a test, numerics and a reason with tabs between");
        };
        if with == "any" || with == numerics {
            tests.insert(test, reason);
        }
    }
    Ok(tests)
}

/// Returns the numerics that a device has in the tests.
fn numerics(device: &str) -> String {
    let asked = std::env::var("ISOBIT_CANDLE_NUMERICS").ok().filter(|asked| !asked.is_empty());
    let is_real = !device.starts_with("sim-") && !device.starts_with("cpu");
    asked.unwrap_or_else(|| if is_real { "vendor" } else { "portable" }.into())
}

fn build(out: &Path) -> Result<Vec<Program>> {
    let mut build = cargo();
    build.args(["test", "--no-run", "--message-format", "json-render-diagnostics", "--tests", "--manifest-path"]);
    build.arg(out.join("Cargo.toml")).arg("--target-dir").arg(out.join("target"));
    build.args(["-p", "candle-core", "-p", "candle-nn", "-p", "isobit-candle-proofs"]);
    build.args(["--features", "candle-core/cuda,candle-nn/cuda"]);
    // The cache identifies compiled kernels by content, so those of this workspace serve.
    let cache = std::env::var_os("ISOBIT_KERNEL_CACHE").unwrap_or_else(|| target_dir().join("kernels").into());
    let messages = shell::output(build.env("ISOBIT_KERNEL_CACHE", cache))?;
    let programs = messages.lines().filter_map(|line| program(&serde_json::from_str(line).ok()?));
    Ok(programs.filter(|program| !program.name.starts_with("candle-core/candle_core")).collect())
}

/// Returns the program of tests in a message of cargo.
fn program(message: &Value) -> Option<Program> {
    let file = PathBuf::from(message["executable"].as_str()?);
    let package = Path::new(message["manifest_path"].as_str()?).parent()?.file_name()?.to_str()?.to_string();
    Some(Program { name: format!("{package}/{}", message["target"]["name"].as_str()?), file })
}

/// Whether a test runs on `Device::Cuda`: candle's macro `test_device!` ends such names with
/// `_cuda` or `_gpu`; the moved files and the proofs use no other device.
fn is_on_device(program: &str, test: &str) -> bool {
    program.starts_with("proofs/")
        || program.ends_with("_on_device")
        || test.ends_with("_cuda")
        || test.ends_with("_gpu")
}

/// Returns a command for a program on a device.
fn on(device: &str, program: &Path, simulators: Option<&Path>) -> Result<Command> {
    let mut command = shell::told(program);
    if let (None, Some(model)) = (std::env::var_os(MODEL), MINILM.found()) {
        command.env(MODEL, model);
    }
    let (name, card) = device.split_once(':').unwrap_or((device, ""));
    let (Some(driver), Some(simulators)) = (name.strip_prefix("sim-"), simulators) else {
        command.env("ISOBIT_CANDLE_DEVICES", device);
        return Ok(command);
    };
    ensure!(["cuda", "rocm"].contains(&driver), "{device}: the simulated GPUs are sim-cuda and sim-rocm");
    let home = simulators.join(driver);
    let mut libraries = vec![home.join("lib")];
    // A simulated NVIDIA GPU does not replace NVIDIA's compiler.
    let nvrtc = std::env::var_os(NVRTC_VARIABLE).map(PathBuf::from).or_else(|| NVRTC.found());
    libraries.extend(nvrtc.and_then(|file| Some(file.parent()?.to_path_buf())));
    command.env("ISOBIT_CANDLE_DEVICES", driver).env("LD_LIBRARY_PATH", std::env::join_paths(libraries)?);
    // Each storage is an allocation of its own, so that an access outside it is found.
    command.env("ISOBIT_POOL", "exact");
    // One test's invalid access must not fail the others of its program.
    command.env("ISOBIT_SIM_FINDINGS", "record");
    if driver == "rocm" {
        command.env("ROCM_PATH", home);
    }
    if !card.is_empty() {
        command.env(format!("ISOBIT_SIM_{}", driver.to_uppercase()), card);
    }
    Ok(command)
}

impl Outcome {
    fn add(
        &mut self,
        program: &Program,
        device: &str,
        simulators: Option<&Path>,
        filter: Option<&str>,
        failing: &BTreeMap<&str, &str>,
    ) -> Result<()> {
        let list = on(device, &program.file, simulators)?.args(["--list", "--format", "terse"]).output()?;
        let list = String::from_utf8_lossy(&list.stdout).into_owned();
        let tests = list.lines().filter_map(|line| line.strip_suffix(": test"));
        let chosen: Vec<&str> = tests
            .filter(|test| is_on_device(&program.name, test))
            .filter(|test| filter.is_none_or(|filter| test.contains(filter) || program.name.contains(filter)))
            .collect();
        if chosen.is_empty() {
            return Ok(());
        }
        let mut command = on(device, &program.file, simulators)?;
        if !device.starts_with("sim-") {
            // Models of real width.
            command.arg("--include-ignored");
        }
        let output = command.arg("--exact").args(&chosen).output().context("the tests do not start")?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let messages = String::from_utf8_lossy(&output.stderr);
        let results: BTreeMap<&str, &str> = printed.lines().filter_map(result).collect();
        for test in chosen {
            let name = format!("{}::{test}", program.name);
            match (results.get(test).copied(), failing.get(name.as_str())) {
                (Some("ignored"), _) => {}
                (Some("ok"), None) => self.passed += 1,
                (Some("ok"), Some(_)) => self.wrong.push(format!("{name} passes, but {FAILING} says that it fails")),
                (_, Some(why)) => self.known.push(format!("{name}: {why}")),
                (Some(_), None) => self.wrong.push(format!("{name} fails{}", reason(&printed, test))),
                (None, None) => self.wrong.push(format!("{name} was not run to its end ({})", output.status)),
            }
        }
        let findings = messages.lines().filter_map(|line| line.strip_prefix(FINDING));
        self.wrong.extend(findings.map(|finding| format!("{}: {finding}", program.name)));
        Ok(())
    }
}

/// Reads a line such as `test add_gpu ... ok`, `test wide ... ignored, with a reason` or
/// `test bad - should panic ... ok`.
pub fn result(line: &str) -> Option<(&str, &str)> {
    let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
    Some((name.strip_suffix(" - should panic").unwrap_or(name), result.split([',', ' ']).next()?))
}

/// Returns what a failed test printed.
pub fn reason(printed: &str, test: &str) -> String {
    let Some((_, rest)) = printed.split_once(&format!("---- {test} stdout ----\n")) else {
        return String::new();
    };
    let said = rest.split("\n\n").next().unwrap_or_default();
    format!(": {}", said.trim().replace('\n', "\n    "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_a_run_are_read() {
        let printed = "running 4 tests\ntest a ... ok\ntest p - should panic ... ok\ntest w ... ignored, too wide\ntest b::c ... FAILED\n\nfailures:\n\n---- b::c stdout ----\nleft 1\nright 2\n\n\ntest result: FAILED.";
        let results: Vec<_> = printed.lines().filter_map(result).collect();
        assert_eq!(results, [("a", "ok"), ("p", "ok"), ("w", "ignored"), ("b::c", "FAILED")]);
        assert_eq!(reason(printed, "b::c"), ": left 1\n    right 2");
        assert_eq!(reason(printed, "a"), "");
    }

    #[test]
    fn only_tests_on_the_device_are_chosen() {
        assert!(is_on_device("candle-core/conv_tests", "conv1d_gpu") && is_on_device("candle-nn/ops", "softmax_cuda"));
        assert!(!is_on_device("candle-core/conv_tests", "conv1d_cpu"));
        assert!(is_on_device("candle-nn/optim_on_device", "sgd_optim") && is_on_device("proofs/models", "llama"));
    }

    #[test]
    fn a_device_is_named_as_in_the_report() {
        let variables = |device: &str| -> BTreeMap<String, String> {
            let command = on(device, Path::new("/t"), Some(Path::new("/sim"))).unwrap();
            let text = |s: &std::ffi::OsStr| s.to_string_lossy().into_owned();
            command.get_envs().filter_map(|(name, value)| Some((text(name), text(value?)))).collect()
        };
        assert_eq!(variables("cuda:1")["ISOBIT_CANDLE_DEVICES"], "cuda:1");
        let rocm = variables("sim-rocm:gfx1100");
        assert_eq!(
            (&*rocm["ISOBIT_CANDLE_DEVICES"], &*rocm["ISOBIT_SIM_ROCM"], &*rocm["ROCM_PATH"]),
            ("rocm", "gfx1100", "/sim/rocm")
        );
        assert!(on("sim-metal", Path::new("/t"), Some(Path::new("/sim"))).is_err());
    }

    #[test]
    fn every_listed_test_has_a_reason() {
        let text = std::fs::read_to_string(root().join(FAILING)).unwrap();
        assert!(failing(&text, "portable").unwrap().values().all(|why| why.len() > 20));
        assert_eq!(failing("a\tany\tb\nc\tportable\td\n", "vendor").unwrap(), BTreeMap::from([("a", "b")]));
        assert!(failing("x::y\n", "vendor").is_err());
    }
}
