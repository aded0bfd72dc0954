//! Runs the sets of huge tensors of `--huge`, on both sides of a worker process, as
//! [`groups`](super::groups) runs groups.

use super::args::Args;
use super::devices;
use super::fail_fast::FailFast;
use super::groups::{GroupEvent, Piece, listen};
use super::process;
use super::progress::Progress;
use super::run::Found;
use super::select;
use super::simulated::Simulated;
use super::simulator::Simulator;
use super::worker::{Job, Message};
use anyhow::{Result, bail};
use isobit::{AnyDevice, Numerics};
use isobit_conformance::huge::{self, Set, Sizes};
use isobit_conformance::run::{Options, Watch};
use isobit_conformance::runtime_tests::GroupRun;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// The sets that a worker runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HugeJob {
    /// Their operations, dtypes and numerics.
    names: Vec<(String, String, Option<Numerics>)>,
    scale: u64,
}

fn name(set: &Set) -> (String, String, Option<Numerics>) {
    (set.op().into(), set.dtypes(), set.numerics())
}

impl Piece for Set {
    fn not_run(&self, id: &str) -> GroupRun {
        Set::not_run(self, id)
    }

    fn fail(&self, run: &mut GroupRun, _seed: u64, index: u64, why: &str) {
        Set::fail(self, run, index, why);
    }

    fn job(args: &Args, left: &VecDeque<Self>) -> Job {
        let huge = HugeJob { names: left.iter().map(name).collect(), scale: args.huge_scale };
        Job { huge: Some(huge), ..Job::of(std::iter::empty(), &Options::new(args.seed, 0)) }
    }
}

/// Runs the job's sets; this is the worker's side.
///
/// # Errors
/// Fails if the simulated device's watch fails.
pub fn work(
    device: &AnyDevice,
    id: &str,
    job: &HugeJob,
    simulator: Option<Arc<Simulator>>,
    tell: &dyn Fn(Message),
) -> Result<()> {
    let sizes = Sizes::scaled(job.scale);
    let sets = huge::sets(sizes);
    for wanted in &job.names {
        let Some(set) = sets.iter().find(|set| name(set) == *wanted) else { bail!("no set {} {}", wanted.0, wanted.1) };
        let mut run = set.run(device, id, sizes, |index| tell(Message::Group(GroupEvent::Case(index))));
        if let Some(simulator) = &simulator {
            let seen = simulator.look().map_err(anyhow::Error::msg)?;
            if let Some(first) = seen.first() {
                set.fail(&mut run, 0, &format!("{}: {}", first.finding.kind, first.finding.place()));
            }
            tell(Message::Executed(simulator.executed()));
        }
        let lost = run.lost;
        tell(Message::Group(GroupEvent::Done(Box::new(run))));
        // A lost device cannot be used again in this process.
        if lost {
            break;
        }
    }
    Ok(())
}

/// Returns the sets that pass the filters.
fn passing(args: &Args) -> Result<Vec<Set>> {
    let cells = select::cells(args).unwrap_or_default();
    let mut sets = huge::sets(Sizes::scaled(args.huge_scale));
    let transfers = |set: &Set| {
        (args.ops.is_empty() || args.ops.iter().any(|op| op == set.op() || op == "device.")) && args.dtypes.is_empty()
    };
    sets.retain(|set| match set.cell() {
        Some(cell) => cells.contains(&cell),
        None => transfers(set),
    });
    if sets.is_empty() {
        // An unknown name is the better reason, if there is one.
        select::all(args)?;
        bail!("the filters select nothing that --huge covers: it has a few dtypes of each operation");
    }
    Ok(sets)
}

/// Runs the sets on the requested devices, by default on every real card.
///
/// # Errors
/// Fails if a requested device is absent or is no real card, or a worker cannot be started again.
pub fn run_devices(args: &Args, asked: &[String], fast: &FailFast, found: &mut Found) -> Result<()> {
    let plan = devices::plan(asked)?;
    let is_real = |id: &String| Simulated::of(id).is_none();
    let whole = args.huge_scale == 1;
    if plan.asked && whole && (plan.cpu || !plan.workers.iter().all(is_real)) {
        bail!("--huge is for real cards, such as --devices cuda:0: its tensors need up to 130 GiB");
    }
    let ids: Vec<String> = plan.workers.into_iter().filter(|id| plan.asked || is_real(id)).collect();
    let with_cpu = plan.cpu && plan.asked;
    if ids.is_empty() && !with_cpu {
        bail!("--huge is for real cards, and there is none here");
    }
    if with_cpu {
        let (device, sizes) = (AnyDevice::cpu(), Sizes::scaled(args.huge_scale));
        let sets = passing(args)?;
        let progress = Progress::new("cpu, huge", sets.len());
        let run = |set: &Set| {
            let run = set.run(&device, "cpu", sizes, |_| {});
            progress.step(&run.row);
            run
        };
        let runs = sets.iter().map(run).collect();
        found.keep(args, devices::row("cpu", &device)?, Vec::new())?;
        found.keep_groups(runs);
    }
    for id in ids {
        let sets = passing(args)?;
        let progress = Progress::new(&format!("{id}, huge"), sets.len());
        let mut row = None;
        let start = || {
            let worker = process::start_with(&id, 1, false)?;
            row.get_or_insert_with(|| worker.row.clone());
            Ok(worker)
        };
        let outcome = listen(args, &id, sets.into(), start, (&progress, fast))?;
        if let Some(mut row) = row {
            row.instructions_executed = row.simulated.then_some(outcome.executed);
            found.keep(args, row, Vec::new())?;
        }
        found.keep_groups(outcome.runs);
    }
    Ok(())
}
