//! A group: runs its cases one after the other and summarizes them as a row of the report.

use super::case::{Case, Checked, Failed, ensure};
use super::{
    collectives, counters, errors, events, graphs, info, kernels, memory, pinned, pool, streams, threads, transfer,
};
use crate::generate::Draw;
use crate::run::{Watch, caught};
use crate::schema::{Class, Finding, Memory, ResultRow, Status};
use isobit_hal::{BackendDevice, DeviceInfo};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// How groups are run on a device.
#[derive(Debug, Clone)]
pub struct Options<D> {
    /// The seed of the run.
    pub seed: u64,
    /// The number of cases per group.
    pub cases: u64,
    /// Run only the case with this index.
    pub only: Option<u64>,
    /// Further devices of the driver, or further instances of the one under test: for transfers
    /// and for the ranks of collectives. Without them, the device itself takes all parts.
    pub others: Vec<D>,
    /// The observer of the device's accesses, if any.
    pub watch: Option<Arc<dyn Watch>>,
    /// End a group at its first failing case.
    pub fail_fast: bool,
}

impl<D> Options<D> {
    /// Returns the options for a seed and a number of cases.
    pub fn new(seed: u64, cases: u64) -> Self {
        Self { seed, cases, only: None, others: Vec::new(), watch: None, fail_fast: false }
    }
}

/// The results of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupRun {
    /// Its row of the report.
    pub row: ResultRow,
    /// What the device's watch saw, each location once.
    pub findings: Vec<Finding>,
    /// The counts of everything that it saw.
    pub memory: Memory,
    /// Whether the device no longer responds.
    pub lost: bool,
}

macro_rules! declare {
    ($($(#[doc = $doc:literal])+ $variant:ident $module:ident)*) => {
        /// A group of checks.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Group { $($(#[doc = $doc])+ $variant,)* }

        /// Returns every group, in the order of reports.
        pub fn groups() -> impl Iterator<Item = Group> {
            [$(Group::$variant),*].into_iter()
        }

        impl Group {
            /// Returns the name, as reports and the command line spell it.
            pub fn name(self) -> &'static str {
                match self { $(Group::$variant => concat!("device.", stringify!($module)),)* }
            }

            /// Runs a case.
            fn run<D: BackendDevice>(self, case: &mut Case<'_, D>) -> Checked {
                match self { $(Group::$variant => $module::run(case),)* }
            }
        }
    };
}
declare! {
    /// Work on several streams: ordered by the device or by the caller; streams that are created,
    /// joined, dropped and entered by threads.
    Streams streams
    /// Events as the only order between streams, and their times.
    Events events
    /// Bytes and slices that are read and written in place, steps that allocate nothing, and
    /// foreign memory.
    Memory memory
    /// Pinned host buffers: copies in both directions while the host continues.
    Pinned pinned
    /// Transfers of storages to another device, and through the host.
    Transfer transfer
    /// Collectives over 2 to 8 ranks: combined, gathered, exchanged, refused and given up.
    Collectives collectives
    /// The memory pool: statistics, limits, exhaustion.
    Pool pool
    /// Steps that are captured and replayed, updated and refused.
    Graphs graphs
    /// User kernels: compiled, cached, checked, launched.
    Kernels kernels
    /// A device's description of itself, checked against its behaviour.
    Info info
    /// Each way to fail: its kind, its context, and a device that keeps working.
    Errors errors
    /// Several threads at once.
    Threads threads
    /// The counters of a device.
    Counters counters
}

impl Group {
    /// Returns the group with a name.
    pub fn find(name: &str) -> Option<Self> {
        groups().find(|g| g.name() == name)
    }

    /// Returns the capability that the device lacks, if the whole group depends on it; the group's
    /// calls must then refuse.
    fn lacks(self, info: &DeviceInfo) -> Option<&'static str> {
        match self {
            Group::Kernels if info.limits.is_none() => Some("limits: the device launches no kernels"),
            Group::Kernels if !info.capabilities.runtime_compile => {
                Some("runtime_compile: there is no run-time compiler on this machine")
            }
            _ => None,
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl GroupRun {
    /// Creates the run of a group in which nothing has run yet.
    pub fn new(group: Group, id: &str) -> Self {
        let row = ResultRow::new(group.name(), "mixed", id, "cpu", Class::Exact);
        Self { row, findings: Vec::new(), memory: Memory::default(), lost: false }
    }

    /// Marks the group as failed in a case, and sets the command that repeats the case; `program`
    /// describes what the case had done so far.
    pub fn fail(&mut self, seed: u64, index: u64, why: &str, program: &[String]) {
        let row = &mut self.row;
        row.failed += 1;
        (row.status, row.bit_exact, row.max_ulp) = (Status::Fail, false, None);
        if row.worst.is_some() {
            return;
        }
        let steps: Vec<_> = program.iter().enumerate().map(|(i, s)| format!("{}. {s}", i + 1)).collect();
        let program = if steps.is_empty() { String::new() } else { format!("\n      {}", steps.join("\n      ")) };
        row.worst = Some(format!("seed {seed}, {}, case {index}: {why}{program}", row.op));
        row.repro = Some(format!(
            "cargo xtask conformance --devices {} --ops {} --seed {seed} --case {index}",
            row.subject, row.op
        ));
    }

    /// Counts a finding, and keeps it if there is none for the same kernel and instruction yet.
    fn found(&mut self, finding: Finding) {
        if let Some(count) = self.memory.count_mut(&finding.kind) {
            *count += 1;
        }
        let place = |f: &Finding| (f.kind.clone(), f.kernel.clone(), f.instruction.clone());
        if self.findings.iter().all(|f| place(f) != place(&finding)) {
            let row = &self.row;
            self.findings.push(Finding { device: row.subject.clone(), op: Some(row.op.clone()), ..finding });
        }
    }
}

/// Runs a group on a device that nothing else uses meanwhile. Afterwards the device has no memory
/// limits. Calls `before` with the index of each case before it runs.
pub fn run_group<D: BackendDevice>(
    device: &D,
    id: &str,
    group: Group,
    options: &Options<D>,
    mut before: impl FnMut(u64),
) -> GroupRun {
    let mut out = GroupRun::new(group, id);
    let indices = options.only.map_or(0..options.cases, |i| i..i + 1);
    let info = match device.info() {
        Ok(info) => info,
        Err(e) => {
            out.row.cases = 1;
            out.fail(options.seed, indices.start, &format!("the device does not return its info: {e}"), &[]);
            return out;
        }
    };
    for index in indices {
        before(index);
        let draw = Draw::of(options.seed, group.name(), index);
        let mut case = Case { device, others: &options.others, info: &info, draw, said: Vec::new() };
        let outcome = run_case(group, &mut case, options);
        out.row.cases += 1;
        let why = match outcome {
            Ok(findings) if findings.is_empty() => continue,
            Ok(findings) => {
                let why = format!("{}: {}", findings[0].kind.replace('_', " "), findings[0].place());
                findings.into_iter().for_each(|f| out.found(f));
                why
            }
            Err(failed) => {
                out.lost = failed.lost;
                failed.message
            }
        };
        out.fail(options.seed, index, &why, &case.said);
        if out.lost || options.fail_fast {
            break;
        }
        // Errors that the case left unreported must not reach the next case; no case causes more
        // errors than this loop clears.
        let _ = (0..4).find(|_| device.synchronize().is_ok());
    }
    if let Some(command) = &out.row.repro {
        out.findings.iter_mut().for_each(|f| f.repro = Some(command.clone()));
    }
    if let (Status::Pass, Some(lacking)) = (out.row.status, group.lacks(&info)) {
        out.row.status = Status::Unsupported;
        out.row.reason = Some(format!("capability {lacking}"));
        (out.row.bit_exact, out.row.max_ulp) = (false, None);
    }
    out
}

/// Runs one case and the checks that follow every case: all memory is returned, and there were no
/// forbidden accesses.
fn run_case<D: BackendDevice>(group: Group, case: &mut Case<'_, D>, options: &Options<D>) -> Checked<Vec<Finding>> {
    let (device, others) = (case.device, case.others);
    let in_use = || -> Vec<u64> { [device].into_iter().chain(others).map(|d| d.pool_stats().in_use).collect() };
    let before = in_use();
    let outcome =
        caught(|| group.run(case)).unwrap_or_else(|panic| Err(Failed::new(format!("a call panicked: {panic}"))));
    device.set_memory_limit(u64::MAX);
    device.set_cache_limit(u64::MAX);
    let sightings = match &options.watch {
        Some(watch) => watch.look().map_err(|e| Failed { message: e, lost: true })?,
        None => Vec::new(),
    };
    outcome?;
    device.synchronize()?;
    let after = in_use();
    all_is_returned(&before, &after)?;
    Ok(sightings.into_iter().map(|s| s.finding).collect())
}

/// Checks the bytes in use on all devices. Fewer than before means that a block was freed twice.
fn all_is_returned(before: &[u64], after: &[u64]) -> Checked {
    ensure!(before == after, "the case leaves memory in use: {before:?} bytes before, {after:?} after");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leak_and_a_second_free_are_failures_on_any_device() {
        assert!(all_is_returned(&[512, 0], &[512, 0]).is_ok());
        for after in [[513, 0], [511, 0], [512, 1]] {
            let failed = all_is_returned(&[512, 0], &after).unwrap_err();
            assert!(failed.message.contains("memory in use"), "{}", failed.message);
        }
    }
}
