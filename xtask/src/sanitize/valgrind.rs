//! Valgrind on the suite's program and its worker, and on the drivers' tests of memory, streams and
//! graphs, all with simulated GPUs.
//!
//! Valgrind executes the code of an ordinary build. It offers no AVX-512, and the simulators choose
//! their vector code at run time, so they take another path than on most machines.

use crate::conformance;
use crate::shell::{self, cargo, target_dir};
use crate::test::{FEATURES_CRATE, features_of};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A tool of Valgrind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Memcheck,
    Helgrind,
}

/// Known reports that are no errors of Isobit. Each entry has its reason.
const SUPPRESSIONS: &str = "xtask/src/sanitize/valgrind.supp";

/// The exit code of a program in which Valgrind found something. Tests fail with 101, the suite
/// with 1 or 2.
const FOUND: &str = "99";

/// The bytes of a simulated card's memory. Valgrind refuses the reservation of the usual 16 GiB.
const MEMORY: (&str, &str) = ("ISOBIT_SIM_MEMORY", "268435456");

/// Tests of these modules take part: they allocate, enqueue and wait.
const MODULES: [&str; 3] = ["driver::memory", "driver::streams", "driver::graph"];

/// The groups of the suite that take part.
const GROUPS: &str = "device.memory,device.streams,device.events";

/// Runs everything under a tool.
pub fn run(tool: Tool) -> Result<()> {
    let simulators = conformance::build()?;
    let program = conformance::program(&simulators);
    let mut suite = tool.under(Path::new(program.get_program()));
    suite.args(["--devices", "sim-cuda,sim-rocm:gfx90a", "--ops", GROUPS, "--cases", "1", "--out"]);
    suite.arg(target_dir().join("sanitize").join("report"));
    suite.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    suite.envs([MEMORY]);
    shell::run(&mut suite)?;
    for vendor in [CUDA, ROCM] {
        let mut tests = tool.under(&vendor.tests()?);
        // Valgrind runs one thread at a time anyway.
        tests.args(MODULES).args(["--skip", "on_simulated_cards", "--test-threads", "1"]);
        vendor.simulate(&mut tests, &simulators);
        shell::run(&mut tests)?;
    }
    Ok(())
}

impl Tool {
    /// Returns a command that runs a program and the processes it starts under the tool.
    fn under(self, program: &Path) -> Command {
        let mut command = shell::told("valgrind");
        command.args(["--quiet", "--trace-children=yes", "--num-callers=25"]);
        command.arg(format!("--error-exitcode={FOUND}"));
        command.args(self.options());
        command.arg(format!("--suppressions={SUPPRESSIONS}")).arg(program);
        command
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            // What is still reachable at the end is no leak: libraries are never unloaded. What is
            // possibly lost belongs to threads that still run.
            Self::Memcheck => &[
                "--tool=memcheck",
                "--leak-check=full",
                "--show-leak-kinds=definite",
                "--errors-for-leak-kinds=definite",
            ],
            // The history of accesses before a race costs more memory than a small machine has.
            Self::Helgrind => &["--tool=helgrind", "--history-level=approx"],
        }
    }
}

/// A driver, and how its tests find a simulated card.
struct Vendor {
    package: &'static str,
    folder: &'static str,
    card: (&'static str, &'static str),
}

const CUDA: Vendor = Vendor { package: "isobit-cuda", folder: "cuda", card: ("ISOBIT_SIM_CUDA", "sm_80,sm_90") };
const ROCM: Vendor = Vendor { package: "isobit-rocm", folder: "rocm", card: ("ISOBIT_SIM_ROCM", "gfx90a,gfx1100") };

impl Vendor {
    /// Builds the tests and returns their program.
    fn tests(&self) -> Result<PathBuf> {
        let mut build = cargo();
        build.args(["test", "--no-run", "--message-format=json", "--test", "gpu"]);
        build.args(["--package", self.package, "--package", FEATURES_CRATE]).args(features_of(&[self.package]));
        let said = shell::output(&mut build)?;
        executable(&said).with_context(|| format!("cargo names no program of the tests of {}", self.package))
    }

    /// Makes tests find the card, with all work deferred as far as the interface allows.
    fn simulate(&self, tests: &mut Command, simulators: &Path) {
        let root = simulators.join(self.folder);
        tests.env("LD_LIBRARY_PATH", root.join("lib")).env("ROCM_PATH", &root);
        tests.envs([self.card, ("ISOBIT_SIM_DEFER", "1"), ("ISOBIT_SIM_FINDINGS", "record"), MEMORY]);
        tests.env("ISOBIT_COMPILE_CACHE", "");
    }
}

/// Returns the program of the test `gpu` among cargo's messages.
fn executable(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    messages
        .filter(|message| message["target"]["name"] == "gpu")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    #[test]
    fn the_program_of_the_tests_is_read_from_cargos_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"isobit_cuda"},"executable":null}
            {"reason":"compiler-artifact","target":{"name":"library"},"executable":"/t/library-1"}
            {"reason":"compiler-artifact","target":{"name":"gpu"},"executable":"/t/gpu-1"}
            {"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages), Some("/t/gpu-1".into()));
        assert_eq!(executable("not a message"), None);
    }

    /// An entry without a reason hides an error as well as a false report.
    #[test]
    fn every_suppression_has_a_reason() {
        let text = std::fs::read_to_string(root().join(SUPPRESSIONS)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let entries = lines.iter().enumerate().filter(|(_, line)| **line == "{");
        for (i, _) in entries {
            assert!(i > 0 && lines[i - 1].starts_with('#'), "the entry on line {} has no reason", i + 1);
        }
    }
}
