//! The worker's side: opens one device, reads its job from standard input and writes events to
//! standard output, both as JSON lines.

use super::args::WorkerArgs;
use super::groups::{self, GroupEvent, GroupJob};
use super::huge::{self, HugeJob};
use super::pool::{Event, run_cells, threads};
use super::simulator::Simulator;
use super::{devices, launches, matrix};
use anyhow::{Context, Result};
use isobit::AnyDevice;
use isobit_conformance::accuracy;
use isobit_conformance::case::Case;
use isobit_conformance::cells::Cell;
use isobit_conformance::golden;
use isobit_conformance::report::{DeviceRow, Finding, LaunchSize, ResultRow};
use isobit_conformance::run::{CellDigests, KnownResults, Options, Reference, Watch};
use isobit_hal::{DType, Numerics, Op};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::sync::Arc;

/// The work of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    pub seed: u64,
    pub cases: u64,
    pub variant_cases: u64,
    pub first: Vec<Case>,
    pub replay_only: bool,
    /// The cells, by name, label and numerics.
    pub cells: Vec<(String, String, Option<Numerics>)>,
    /// Only report whether the device supports the cells.
    pub ask: bool,
    /// Run one cell at a time and report each case before it runs, to find the case that kills the
    /// process.
    pub alone: bool,
    /// The checks that follow the cells, if any.
    pub then: Option<Then>,
    /// The groups to run instead of cells, if any.
    pub groups: Option<GroupJob>,
    /// The sets of huge tensors to run instead of cells, if any.
    pub huge: Option<HugeJob>,
    /// The CPU's results for the cells, if the CPU has already run.
    pub known: Vec<CellDigests>,
    /// End at the first failure.
    pub fail_fast: bool,
}

impl Job {
    /// Creates a job that runs cells, several at once.
    pub fn of<'a>(cells: impl Iterator<Item = &'a Cell> + Clone, options: &Options) -> Self {
        Self {
            known: cells.clone().filter_map(|cell| options.known.of(cell).cloned()).collect(),
            seed: options.seed,
            cases: options.cases,
            variant_cases: options.variant_cases,
            first: options.first.clone(),
            replay_only: options.replay_only,
            cells: cells.map(|cell| (cell.operation.name().into(), cell.label(), cell.numerics)).collect(),
            ask: false,
            alone: false,
            then: None,
            groups: None,
            fail_fast: options.fail_fast,
            huge: None,
        }
    }
}

/// Checks of a device besides its cells.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Then {
    /// The operations (empty means all) whose golden vectors run ...
    pub ops: Vec<String>,
    /// ... and their dtypes.
    pub dtypes: Vec<String>,
    /// Test every unary operation among the cells on every input. On a simulated device only the
    /// narrow dtypes are tested, because 2^32 inputs take days there.
    pub exhaustive: bool,
}

/// A message of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The device is open.
    Ready(DeviceRow),
    /// The device could not be opened.
    Absent(String),
    /// The progress of a cell.
    Event(Event),
    /// A row of a check that follows the cells.
    Row(ResultRow),
    /// The progress of the exhaustive check of a dtype.
    Working(String),
    /// A finding of the device's watch during the checks that follow the cells.
    Found(Finding),
    /// The progress of a group.
    Group(GroupEvent),
    /// The number of instructions that a simulated device has executed in this process.
    Executed(u64),
    /// The sizes of launch code that this process met.
    Launches(Vec<LaunchSize>),
    /// Whether the device supports each cell, for a job that asks.
    Supports(Vec<bool>),
    /// Everything is done.
    Finished,
}

pub fn main(args: &WorkerArgs) -> Result<()> {
    let out = Mutex::new(std::io::stdout());
    let tell = |message: Message| {
        let mut line = serde_json::to_string(&message).expect("messages are plain data");
        line.push('\n');
        let mut out = out.lock();
        // The parent process no longer listens, so there is nothing left to do.
        if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
            std::process::exit(1);
        }
    };
    let device = match devices::open(&args.device).and_then(|d| Ok((devices::row(&args.device, &d)?, d))) {
        Ok((row, device)) => {
            tell(Message::Ready(row));
            device
        }
        Err(e) => {
            tell(Message::Absent(format!("{e:#}")));
            return Ok(());
        }
    };
    let simulator = Simulator::loaded().map(Arc::new);
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let job: Job = serde_json::from_str(&line).context("cannot parse the job on standard input")?;
    let find = |(op, label, numerics): &(String, String, Option<Numerics>)| {
        Cell::find(op, label, *numerics).with_context(|| format!("no cell {op} {label}"))
    };
    let cells = job.cells.iter().map(find).collect::<Result<Vec<_>>>()?;
    if let Some(job) = job.groups {
        groups::work(&device, &args.device, &job, simulator, &tell)?;
        tell(Message::Launches(launches::sizes()));
        tell(Message::Finished);
        return Ok(());
    }
    if let Some(job) = job.huge {
        huge::work(&device, &args.device, &job, simulator, &tell)?;
        tell(Message::Finished);
        return Ok(());
    }
    if job.ask {
        tell(Message::Supports(matrix::answers(&device, &cells)));
        return Ok(());
    }
    let options = Options {
        seed: job.seed,
        cases: job.cases,
        variant_cases: job.variant_cases,
        reference: Reference::Cpu,
        first: job.first,
        replay_only: job.replay_only,
        watch: simulator.clone().map(|s| s as Arc<dyn Watch>),
        launches: launches::of_drivers(),
        known: Arc::new(KnownResults::new(job.known)),
        fail_fast: job.fail_fast,
    };
    // One case at a time, so that what the simulator reports belongs to that case.
    let at_once = if job.alone || simulator.is_some() { 1 } else { threads() };
    run_cells(&device, &args.device, &cells, &options, at_once, job.alone, |event| {
        let done = matches!(event, Event::Done { .. });
        tell(Message::Event(event));
        if let Some(simulator) = simulator.as_ref().filter(|_| done) {
            tell(Message::Executed(simulator.executed()));
        }
    });
    if let Some(then) = job.then {
        let filter = golden::Filter { ops: then.ops, dtypes: then.dtypes };
        golden::run(&device, &args.device, &filter)?.into_iter().for_each(|row| tell(Message::Row(row)));
        if then.exhaustive {
            let narrow_alone = simulator.is_some();
            every_input(&device, &args.device, &cells, narrow_alone, &tell)?;
        }
        if let Some(simulator) = &simulator {
            for sighting in simulator.look().map_err(anyhow::Error::msg)? {
                tell(Message::Found(Finding { device: args.device.clone(), ..sighting.finding }));
            }
            tell(Message::Executed(simulator.executed()));
        }
    }
    tell(Message::Launches(launches::sizes()));
    tell(Message::Finished);
    Ok(())
}

/// Tests the unary operations among the cells on every input against the CPU, for the dtypes whose
/// inputs can be enumerated.
fn every_input(
    device: &AnyDevice,
    id: &str,
    cells: &[&Cell],
    narrow_alone: bool,
    tell: &dyn Fn(Message),
) -> Result<()> {
    let dtypes = [DType::F8E4M3, DType::F8E5M2, DType::F16, DType::BF16, DType::F32];
    for dtype in dtypes.into_iter().filter(|d| !narrow_alone || d.size_in_bytes() <= 2) {
        let unary = |c: &&Cell| match *c.operation.op() {
            Op::Unary(op) if c.dtypes[0] == dtype => Some(op),
            _ => None,
        };
        let ops: Vec<_> = cells.iter().filter_map(unary).collect();
        let progress = |done: f64| tell(Message::Working(format!("every {dtype}: {:.0} %", 100.0 * done)));
        for check in accuracy::exhaustive_bits(device, &ops, dtype, None, progress)? {
            tell(Message::Row(check.row(id)));
        }
    }
    Ok(())
}
