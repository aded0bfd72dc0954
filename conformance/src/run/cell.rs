//! A cell: checks its support against the committed table, runs its cases, and summarizes them as a
//! row of the report.

use super::check::{Bench, CaseRun, Reference, describe_inputs, run_case};
use super::digest::{CellDigests, KnownResults};
use super::fault::Fault;
use super::launches::Launches;
use super::shrink::shrink;
use super::watch::Watch;
use crate::case::{Case, LayoutKind};
use crate::cells::Cell;
use crate::schema::{Class, Finding, Memory, ResultRow, Status};
use isobit_hal::{BackendDevice, Support};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How cells are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The seed of the run.
    pub seed: u64,
    /// The number of cases per cell.
    pub cases: u64,
    /// The number of cases of a [variant](Cell::is_variant).
    pub variant_cases: u64,
    /// The reference for the device.
    pub reference: Reference,
    /// The cases of earlier failures, which run before the others; those of other cells are
    /// skipped.
    pub first: Vec<Case>,
    /// Run only `first`.
    pub replay_only: bool,
    /// The observer of the device's accesses, if any.
    pub watch: Option<Arc<dyn Watch>>,
    /// The device's launch code, if it can be told to make small launches.
    pub launches: Option<Arc<dyn Launches>>,
    /// The CPU's results for the cases of this seed, by cell, if the CPU has already run.
    pub known: Arc<KnownResults>,
    /// End a cell at its first failing case, and do not shrink the case. Cells that are expected to
    /// fail run to their end.
    pub fail_fast: bool,
}

impl Options {
    /// Returns the options for a seed and a number of cases, with the CPU as reference.
    pub fn new(seed: u64, cases: u64) -> Self {
        Self {
            seed,
            cases,
            variant_cases: cases,
            reference: Reference::Cpu,
            first: Vec::new(),
            replay_only: false,
            watch: None,
            launches: None,
            known: Arc::default(),
            fail_fast: false,
        }
    }
}

/// A failure with a shrunk case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The device that failed.
    pub device: String,
    /// The index of the original case; `None` for a replayed one.
    pub index: Option<u64>,
    /// The shrunk case.
    pub case: Case,
    /// The fault of the shrunk case.
    pub fault: Fault,
}

/// The results of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellRun {
    /// Its row of the report.
    pub row: ResultRow,
    /// The digests of its generated cases.
    pub digests: CellDigests,
    /// What the guard bands, the poison and the device's watch caught, each location once.
    pub findings: Vec<Finding>,
    /// The counts of everything that they caught.
    pub memory: Memory,
    /// The first failing case, shrunk.
    pub failure: Option<Failure>,
    /// Whether the device no longer responds.
    pub lost: bool,
}

/// Returns the driver's name in a device's id; a simulated device has the driver of a real one.
pub(crate) fn driver_of(id: &str) -> &str {
    let driver = id.split(':').next().unwrap_or(id);
    driver.strip_prefix("sim-").unwrap_or(driver)
}

impl CellRun {
    /// Creates the run of a cell in which nothing has run yet.
    pub fn new(cell: &Cell, id: &str, reference: Reference) -> Self {
        let class = cell.class();
        // A vendor's product is compared with the exact product; the CPU is its own reference.
        let reference = match (class, reference) {
            (Class::Vendor, _) => "exact",
            (_, Reference::Cpu | Reference::Itself) => "cpu",
        };
        let (op, dtypes, numerics) = (cell.operation.name().to_string(), cell.label(), cell.numerics);
        let row = ResultRow { numerics, repeatable: Some(true), ..ResultRow::new(&op, &dtypes, id, reference, class) };
        let digests = CellDigests { op, dtypes, numerics, cases: Vec::new(), digests: Vec::new() };
        Self { row, digests, findings: Vec::new(), memory: Memory::default(), failure: None, lost: false }
    }

    /// Marks the cell as failed for a reason other than a case.
    pub fn fail(mut self, reason: String) -> Self {
        self.row.status = Status::Fail;
        self.row.bit_exact = false;
        self.row.repeatable = None;
        self.row.max_ulp = None;
        self.row.reason = Some(reason);
        self
    }

    /// Counts a case; the caller handles a failing one further.
    fn count(&mut self, cell: &Cell, id: &str, case: &Case, run: &CaseRun, worst: &mut f64) {
        let row = &mut self.row;
        row.cases += 1;
        row.repeatable = Some(row.repeatable != Some(false) && run.repeatable);
        let ulp = run.comparison.max_ulp;
        row.max_ulp = row.max_ulp.filter(|_| ulp.is_finite()).map(|m| m.max(ulp));
        if ulp > 0.0 {
            row.bit_exact = false;
        }
        if let (None, true, Some(d)) = (&run.fault, ulp > *worst, &run.comparison.worst) {
            row.worst =
                Some(format!("shape {:?}, index {}: expected {}, got {}", case.shape, d.index, d.expected, d.got));
            *worst = ulp;
        }
        for sighting in &run.sightings {
            self.found(cell, id, sighting.finding.clone());
        }
        let Some(fault) = &run.fault else { return };
        self.row.failed += 1;
        self.row.bit_exact = false;
        let (kind, buffer, offset) = match fault {
            Fault::OutOfBounds { buffer, offset } => ("out_of_bounds", Some(buffer.clone()), Some(*offset)),
            Fault::Unwritten { offset, .. } => ("unwritten", Some("destination".to_string()), Some(*offset)),
            // Which input the stray read belongs to is unknown.
            Fault::StrayRead { .. } => ("uninitialised_reads", None, None),
            _ => return,
        };
        self.found(cell, id, Finding { kind: kind.into(), buffer, offset, ..Default::default() });
    }

    /// Counts a finding, and keeps it if there is none for the same kernel and instruction yet.
    fn found(&mut self, cell: &Cell, id: &str, finding: Finding) {
        if let Some(count) = self.memory.count_mut(&finding.kind) {
            *count += 1;
        }
        let place = |f: &Finding| (f.kind.clone(), f.kernel.clone(), f.instruction.clone());
        if self.findings.iter().all(|f| place(f) != place(&finding)) {
            self.findings.push(Finding { device: id.into(), op: Some(cell.to_string()), ..finding });
        }
    }
}

/// Runs a cell on a device. Calls `before` before each case with its index, or with `None` for a
/// case of `options.first`.
pub fn run_cell<D: BackendDevice>(
    device: &D,
    id: &str,
    cell: &Cell,
    options: &Options,
    mut before: impl FnMut(Option<u64>),
) -> CellRun {
    let mut out = CellRun::new(cell, id, options.reference);
    let exception = cell.exception(driver_of(id));
    let support = device.supports(&cell.op(), &cell.dtypes);
    match (support, exception) {
        (Support::Unsupported { reason, .. }, Some(e)) if e.unsupported => {
            out.row.status = Status::Unsupported;
            out.row.reason = Some(format!("{} ({reason})", e.reason));
            (out.row.bit_exact, out.row.max_ulp, out.row.repeatable) = (false, None, None);
            return out;
        }
        (Support::Unsupported { reason, .. }, _) => {
            return out.fail(format!("the device refuses a cell that the table says it supports: {reason}"));
        }
        _ => {}
    }

    let bench = Bench {
        device,
        reference: options.reference,
        watch: options.watch.as_deref(),
        launches: options.launches.as_deref(),
        thorough: false,
    };
    let thorough = Bench { thorough: true, ..bench };
    let mut layouts = BTreeSet::<LayoutKind>::new();
    let mut worst = 0.0;
    let replayed = options.first.iter().filter(|c| c.cell() == Some(cell)).map(|c| (None, c.clone()));
    let generated = match cell.is_variant() {
        _ if options.replay_only => 0,
        true => options.variant_cases,
        false => options.cases,
    };
    let known = options.known.of(cell);
    let generated = (0..generated).map(|i| (Some(i), crate::generate::case(options.seed, cell, i)));
    for (index, case) in replayed.chain(generated) {
        before(index);
        let known = known.zip(index).and_then(|(known, i)| known.get(i));
        // A saved case must fail again whatever it failed with; of a fixed one there is no other.
        let is_one_of_many = index.is_some_and(|index| !crate::generate::is_fixed(cell, index));
        let run = run_case(if is_one_of_many { &bench } else { &thorough }, cell, &case, known);
        layouts.extend(case.layout_kinds());
        out.count(cell, id, &case, &run, &mut worst);
        if index.is_some() {
            out.digests.cases.push(run.case_digest.clone());
            out.digests.digests.push(run.digest.clone().unwrap_or_default());
        }
        let Some(fault) = run.fault else { continue };
        out.lost = run.lost;
        let last = out.lost || (options.fail_fast && exception.is_none());
        if out.failure.is_none() {
            let (case, fault) = match last {
                true => (case, fault),
                false => shrink(&case, cell, fault, |c| run_case(&thorough, cell, c, None).fault),
            };
            out.row.worst = Some(describe(cell, &case, &fault));
            out.failure = Some(Failure { device: id.into(), index, case, fault });
        }
        if last {
            break;
        }
    }
    out.row.layouts = layouts.into_iter().map(|k| k.name().to_string()).collect();
    settle(&mut out, exception);
    out
}

fn describe(cell: &Cell, case: &Case, fault: &Fault) -> String {
    let inputs = match fault {
        Fault::Mismatch { index, .. } if case.operand_dims(cell, case.inputs.len()) == case.shape => {
            describe_inputs(case, cell, *index).filter(|s| !s.is_empty())
        }
        _ => None,
    };
    let of = inputs.map(|s| format!(" of {s}")).unwrap_or_default();
    format!("shape {:?}{of}: {fault}", case.shape)
}

fn settle(out: &mut CellRun, exception: Option<&crate::cells::Exception>) {
    let row = &mut out.row;
    row.status = match (row.failed > 0, exception) {
        (false, None) => Status::Pass,
        (false, Some(e)) => {
            row.reason = Some(format!("the table expects that it does not pass: {}", e.reason));
            Status::UnexpectedPass
        }
        (true, Some(e)) if !e.unsupported => {
            row.reason = Some(e.reason.clone());
            Status::ExpectedFailure
        }
        (true, _) => Status::Fail,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Exception;

    /// A table that lists a cell as unsupported says nothing about wrong results.
    #[test]
    fn a_failure_is_expected_only_where_the_table_says_so() {
        let cell = &Cell::all()[0];
        let status = |failed, unsupported: Option<bool>| {
            let mut run = CellRun::new(cell, "cpu", Reference::Cpu);
            run.row.failed = failed;
            let listed = unsupported.map(|unsupported| Exception {
                driver: "cpu".into(),
                unsupported,
                reason: "a reason".into(),
            });
            settle(&mut run, listed.as_ref());
            run.row.status
        };
        assert_eq!(status(0, None), Status::Pass);
        assert_eq!(status(1, None), Status::Fail);
        assert_eq!(status(1, Some(false)), Status::ExpectedFailure);
        assert_eq!(status(1, Some(true)), Status::Fail);
        assert_eq!(status(0, Some(false)), Status::UnexpectedPass);
    }
}
