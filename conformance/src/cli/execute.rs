//! Runs the cells on each device of a run. The CPU runs in this process. Real GPUs run in one
//! worker each, one after the other. Simulated devices run in parallel, because each of their
//! workers runs one case at a time.

use super::args::Args;
use super::devices;
use super::fail_fast::FailFast;
use super::groups;
use super::pool::{Event, run_cells, threads};
use super::process::{self, Worker};
use super::progress::Progress;
use super::run::Found;
use super::simulated::Simulated;
use super::supervise::{self, Order, Outcome};
use super::worker::Then;
use anyhow::{Result, anyhow, bail};
use isobit::AnyDevice;
use isobit_conformance::accuracy;
use isobit_conformance::cells::Cell;
use isobit_conformance::golden;
use isobit_conformance::report::{DeviceRow, LaunchSize, NotRun, launch_sizes};
use isobit_conformance::run::{CellRun, KnownResults, Options, Reference};
use isobit_conformance::runtime_tests::Group;
use isobit_hal::DType;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// With more workers than this, the workers of one simulated device would wait for each other's
/// memory.
const MOST_SHARDS: usize = 8;

/// The cells and groups that run on each device, until something ends the run.
#[derive(Clone, Copy)]
pub struct Selected<'a> {
    pub cells: &'a [&'static Cell],
    pub groups: &'a [Group],
    pub fast: &'a FailFast,
}

/// A device with its workers. Several workers share the cells of a simulated device.
struct Workers {
    id: String,
    shards: Vec<Worker>,
}

/// Runs the requested devices, or the default ones.
///
/// # Errors
/// Fails if a requested device is absent, a worker cannot be started again, or a file cannot be
/// written.
pub fn run_devices(
    args: &Args,
    asked: &[String],
    selected: &Selected<'_>,
    options: &Options,
    found: &mut Found,
) -> Result<()> {
    let Selected { cells, groups, fast } = *selected;
    let plan = devices::plan(asked)?;
    found.not_run = plan.not_run;
    let simulated = plan.workers.iter().filter(|id| Simulated::of(id).is_some()).count();
    if args.submit && simulated == plan.workers.len() {
        bail!("--submit is for reports of real GPUs, and none is here or among --devices");
    }
    let shards = (threads() / simulated.max(1)).clamp(1, MOST_SHARDS).min(cells.len().max(groups.len()));
    // Every device is opened before anything runs, so that an absent one is reported at once.
    let (mut real, mut side_by_side) = (Vec::new(), Vec::new());
    for id in plan.workers {
        let is_simulated = Simulated::of(&id).is_some();
        let count = if is_simulated { shards } else { 1 };
        match (0..count).map(|_| process::start(&id, 1)).collect::<Result<Vec<_>>>() {
            Ok(shards) if is_simulated => side_by_side.push(Workers { id, shards }),
            Ok(shards) => real.push(Workers { id, shards }),
            Err(e) if plan.asked => return Err(e),
            Err(e) => found.not_run.push(NotRun { id, reason: format!("{e:#}") }),
        }
    }
    let mut known = Vec::new();
    if plan.cpu {
        let row = devices::row("cpu", &AnyDevice::cpu())?;
        found.keep(args, row, on_cpu(cells, options, fast))?;
        known = found.digests.last().map(|of_cpu| of_cpu.cells.clone()).unwrap_or_default();
        if !options.replay_only && !fast.stopped() {
            check_reference(args, found, fast)?;
        }
        found.keep_groups(groups::on_cpu(args, groups, fast));
    }
    let options = &Options { known: Arc::new(KnownResults::new(known)), ..options.clone() };
    for workers in real {
        let mut row = workers.shards[0].row.clone();
        let done = on_device(args, workers, selected, options)?;
        // A driver with another name may turn out to be a simulator.
        row.instructions_executed = row.simulated.then_some(done.executed());
        take(args, row, done, found)?;
    }
    let outcomes = std::thread::scope(|scope| {
        let running: Vec<_> = side_by_side
            .into_iter()
            .map(|workers| {
                let row = workers.shards[0].row.clone();
                (row, scope.spawn(|| on_device(args, workers, selected, options)))
            })
            .collect();
        let ended = running.into_iter().map(|(row, thread)| (row, joined(thread)));
        ended.collect::<Vec<_>>()
    });
    for (mut row, done) in outcomes {
        let done = done?;
        row.instructions_executed = Some(done.executed());
        take(args, row, done, found)?;
    }
    Ok(())
}

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().unwrap_or_else(|_| Err(anyhow!("the thread that ran a device died")))
}

/// The results of a device.
struct Done {
    cells: Outcome,
    groups: groups::Outcome,
}

impl Done {
    /// The number of instructions that a simulated device executed.
    fn executed(&self) -> u64 {
        self.cells.executed + self.groups.executed
    }

    /// The sizes of launch code that all workers met.
    fn launches(&self) -> Vec<LaunchSize> {
        let mut all = self.cells.launches.clone();
        launch_sizes::add(&mut all, self.groups.launches.clone());
        all
    }
}

fn take(args: &Args, mut row: DeviceRow, done: Done, found: &mut Found) -> Result<()> {
    row.launch_sizes = done.launches();
    if args.is_complete() {
        found.rows.extend(launch_sizes::row(&row.id, &row.launch_sizes));
    }
    found.keep(args, row, done.cells.runs)?;
    found.rows.extend(done.cells.rows);
    done.cells.findings.into_iter().for_each(|finding| found.found(finding));
    found.keep_groups(done.groups.runs);
    Ok(())
}

/// Runs a device's cells, and then its groups in new workers.
fn on_device(args: &Args, workers: Workers, selected: &Selected<'_>, options: &Options) -> Result<Done> {
    let (id, count) = (workers.id.clone(), workers.shards.len());
    let cells = on_workers(args, workers, selected, options)?;
    Ok(Done { cells, groups: groups::on_workers(args, &id, selected.groups, count, selected.fast)? })
}

/// Runs a device's cells, split among its workers.
fn on_workers(args: &Args, workers: Workers, selected: &Selected<'_>, options: &Options) -> Result<Outcome> {
    let Workers { id, shards } = workers;
    let Selected { cells, fast, .. } = *selected;
    let progress = Progress::of(&id, cells);
    let count = shards.len();
    let dealt = |shard: usize| cells.iter().copied().skip(shard).step_by(count).collect::<Vec<_>>();
    let run = |shard: usize, worker: Worker| {
        // Only the first worker runs the checks that follow the cells.
        let then = (shard == 0 && !options.replay_only).then(|| Then {
            ops: args.ops.clone(),
            dtypes: args.dtypes.clone(),
            exhaustive: args.exhaustive,
        });
        let timeout = Duration::from_secs(args.timeout.max(1));
        let order = Order { device: &id, cells: &dealt(shard), options, timeout, then, fast };
        supervise::run(worker, || process::start(&id, 1), &order, &progress)
    };
    let outcomes = std::thread::scope(|scope| {
        let run = &run;
        let threads = shards.into_iter().enumerate().map(|(i, worker)| scope.spawn(move || run(i, worker)));
        threads.collect::<Vec<_>>().into_iter().map(joined).collect::<Result<Vec<_>>>()
    })?;
    let mut all = Outcome::default();
    let mut dealt = Vec::new();
    for outcome in outcomes {
        dealt.push(outcome.runs.into_iter());
        all.rows.extend(outcome.rows);
        all.findings.extend(outcome.findings);
        all.executed += outcome.executed;
        launch_sizes::add(&mut all.launches, outcome.launches);
    }
    all.runs = (0..cells.len()).filter_map(|i| dealt[i % count].next()).collect();
    Ok(all)
}

/// Runs the CPU, which is its own reference: each case checks that it writes the whole result,
/// writes nothing else, and gives the same bits twice.
fn on_cpu(cells: &[&Cell], options: &Options, fast: &FailFast) -> Vec<CellRun> {
    let options = Options { reference: Reference::Itself, ..options.clone() };
    let progress = Progress::of("cpu", cells);
    let runs = Mutex::new(Vec::new());
    run_cells(&AnyDevice::cpu(), "cpu", cells, &options, threads(), false, |event| {
        if let Event::Done { cell, run } = event {
            progress.step(&run.row);
            fast.saw(&run.row);
            runs.lock().push((cell, *run));
        }
    });
    let mut runs = runs.into_inner();
    runs.sort_by_key(|(cell, _)| *cell);
    runs.into_iter().map(|(_, run)| run).collect()
}

/// Checks the CPU against the golden vectors and the true values.
fn check_reference(args: &Args, found: &mut Found, fast: &FailFast) -> Result<()> {
    let filter = golden::Filter { ops: args.ops.clone(), dtypes: args.dtypes.clone() };
    let golden = golden::run(&AnyDevice::cpu(), "cpu", &filter)?;
    golden.iter().for_each(|row| fast.saw(row));
    found.rows.extend(golden);
    if fast.stopped() {
        return Ok(());
    }
    let dtypes = args.dtypes.iter().filter_map(|d| d.parse::<DType>().ok()).collect::<Vec<_>>();
    // If the filter names only single cells, it contains no plain dtype.
    if dtypes.is_empty() && !args.dtypes.is_empty() {
        return Ok(());
    }
    let defaults = accuracy::Options::default();
    let options = accuracy::Options {
        ops: args.ops.clone(),
        dtypes,
        exhaustive: args.exhaustive,
        samples: if args.quick { defaults.samples / 8 } else { defaults.samples },
        seed: args.seed,
    };
    let progress = Progress::new("cpu, accuracy", 0);
    found.rows.extend(accuracy::run(&options, |row| {
        progress.step(row);
        fast.saw(row);
    })?);
    Ok(())
}
