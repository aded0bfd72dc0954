//! Starts the conformance program on one device and reads its report.

use crate::outcome::{By, Kill};
use crate::process::{self, Ended};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Seconds after which a case counts as hung.
const CASE_LIMIT: &str = "30";
/// The most time for one run of the program; the program's own limits end a hung kernel long
/// before.
const LIMIT: Duration = Duration::from_secs(45 * 60);

/// Begins the name of every group.
pub const GROUP: &str = "device.";

/// A built conformance program.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The program.
    pub program: PathBuf,
    /// The folder of the simulated GPUs.
    pub simulators: PathBuf,
    /// The folder of code that devices compiled.
    pub cache: PathBuf,
}

/// What runs: operations, and dtypes if only some of their cells.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'a> {
    /// The device.
    pub device: &'a str,
    /// The operations and groups.
    pub ops: &'a [String],
    /// The dtypes; empty for all. Groups have none.
    pub dtypes: &'a [String],
    /// Whether the simulated device does its work as late as possible.
    pub deferred: bool,
    /// The folder of kernel sources that replace those of the program, if any.
    pub sources: Option<&'a Path>,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ran {
    /// Everything passed.
    Passed,
    /// Something failed.
    Failed(Failed),
    /// A kernel did not compile on the device; the compiler's reason.
    DoesNotCompile(String),
    /// The program could not run; its reason.
    CouldNotRun(String),
}

/// The first failure of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// What found it.
    pub kill: Kill,
    /// The operation, and its dtypes in the command line's form.
    pub cell: (String, String),
}

#[derive(Debug, Deserialize)]
struct Report {
    results: Vec<Row>,
    findings: Vec<Finding>,
    memory: BTreeMap<String, u64>,
}

#[derive(Debug, Deserialize)]
struct Row {
    op: String,
    dtypes: String,
    status: String,
    reason: Option<String>,
    worst: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Finding {
    kind: String,
    kernel: Option<String>,
    op: Option<String>,
}

impl Suite {
    /// Runs until the first failure. Files go to `out`, which is emptied first, so that no saved
    /// failure of another run takes part.
    ///
    /// # Errors
    /// Fails if the program does not start or its report cannot be read.
    pub fn run(&self, selection: &Selection<'_>, out: &Path) -> Result<Ran> {
        match std::fs::remove_dir_all(out) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(e).with_context(|| format!("cannot empty {}", out.display()));
            }
            _ => std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?,
        }
        let Selection { device, ops, dtypes, deferred, sources } = *selection;
        let mut command = Command::new(&self.program);
        command.args(["--fail-fast", "--timeout", CASE_LIMIT, "--devices", device, "--ops", &ops.join(",")]);
        if !dtypes.is_empty() {
            command.args(["--dtypes", &dtypes.join(",")]);
        }
        command.arg("--out").arg(out).env("ISOBIT_SIMGPU", &self.simulators).env("ISOBIT_COMPILE_CACHE", &self.cache);
        if let Some(sources) = sources {
            command.env("ISOBIT_KERNEL_SOURCES", sources);
        }
        if deferred {
            command.env("ISOBIT_SIM_DEFER", "1");
        }
        let Ended { code, hung, printed } = process::run(&mut command, &out.join("log.txt"), LIMIT)?;
        if hung {
            let message = format!("no end within {} s", LIMIT.as_secs());
            let kill = Kill { by: By::Hang, device: Some(device.into()), check: ops.join(","), message };
            return Ok(Ran::Failed(Failed { kill, cell: (ops.first().cloned().unwrap_or_default(), String::new()) }));
        }
        let last = || printed.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("it printed nothing").to_string();
        match code {
            Some(0) => Ok(Ran::Passed),
            Some(1) => {
                let path = out.join("report.json");
                let text = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
                let report: Report = serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
                Ok(judge(&report, device))
            }
            _ => Ok(Ran::CouldNotRun(last())),
        }
    }
}

/// Returns the first failure of a report.
fn judge(report: &Report, device: &str) -> Ran {
    let failed = report.results.iter().find(|row| row.status == "fail" || row.status == "unexpected_pass");
    let Some(row) = failed else {
        // Without a failed row there is a finding outside of every cell.
        let finding = report.findings.first();
        let kind = finding.map_or_else(|| "memory".to_string(), |f| f.kind.clone());
        let cell = finding.and_then(|f| f.op.clone()).unwrap_or_default();
        let kill = Kill { by: By::Memory, device: Some(device.into()), check: cell.clone(), message: kind };
        return Ran::Failed(Failed { kill, cell: (cell, String::new()) });
    };
    let text = row.worst.as_ref().or(row.reason.as_ref()).cloned().unwrap_or_default();
    let first = text.lines().next().unwrap_or_default().to_string();
    let is_group = row.op.starts_with(GROUP);
    if text.contains("does not compile for") && !is_group {
        return Ran::DoesNotCompile(first);
    }
    let counted = report.memory.iter().find(|(_, count)| **count > 0).map(|(kind, _)| kind);
    let finding = report.findings.first().map(|f| f.kind.clone()).or_else(|| counted.cloned());
    let (by, message) = match finding {
        _ if text.contains("no answer within") => (By::Hang, first),
        Some(kind) => {
            let kernel = report.findings.first().and_then(|f| f.kernel.clone());
            (By::Memory, kernel.map_or(kind.clone(), |kernel| format!("{kind} in {kernel}")))
        }
        None => (By::Results, first),
    };
    let check = if is_group { row.op.clone() } else { format!("{} {}", row.op, row.dtypes) };
    let dtypes = if is_group { String::new() } else { row.dtypes.replace(',', "-") };
    let kill = Kill { by, device: Some(device.into()), check, message };
    Ran::Failed(Failed { kill, cell: (row.op.clone(), dtypes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(row: &str, findings: &str) -> Ran {
        let text = format!(
            r#"{{"results":[{{"op":"neg","dtypes":"f32","status":"pass","reason":null,"worst":null}},{row}],
                "findings":[{findings}],"memory":{{"races":0,"unwritten":0}},"seed":0}}"#
        );
        judge(&serde_json::from_str(&text).unwrap(), "sim-cuda")
    }

    fn row(op: &str, worst: &str) -> String {
        format!(r#"{{"op":"{op}","dtypes":"f32,f16","status":"fail","reason":null,"worst":"{worst}"}}"#)
    }

    #[test]
    fn the_kind_of_check_is_read_from_the_report() {
        let race = r#"{"kind":"races","kernel":"k","op":"cast f32,f16"}"#;
        for (row, findings, by, message) in [
            (row("cast", "shape [3]: 1 elements differ"), "", By::Results, "shape [3]: 1 elements differ"),
            (row("cast", "shape [3]: races: no barrier"), race, By::Memory, "races in k"),
            (row("cast", "no answer within 150 s"), "", By::Hang, "no answer within 150 s"),
        ] {
            let Ran::Failed(failed) = judged(&row, findings) else { panic!("{row}") };
            assert_eq!((failed.kill.by, failed.kill.message.as_str()), (by, message));
            assert_eq!((failed.kill.check.as_str(), failed.cell.1.as_str()), ("cast f32,f16", "f32-f16"));
        }
        let Ran::Failed(group) = judged(&row("device.kernels", "it does not compile for sm_80"), "") else { panic!() };
        assert_eq!((group.kill.check.as_str(), group.cell.1.as_str()), ("device.kernels", ""));
    }

    #[test]
    fn a_kernel_that_does_not_compile_is_no_kill() {
        let refused = "the call failed: m.cu does not compile for sm_80 with NVRTC 13.0: error";
        assert_eq!(judged(&row("cast", refused), ""), Ran::DoesNotCompile(refused.into()));
    }
}
