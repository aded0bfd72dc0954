//! The worker's side: one device, work from standard input, events to standard output, JSON lines
//! both.

use super::args::WorkerArgs;
use super::groups::{self, GroupEvent, GroupJob};
use super::pool::{Event, run_cells, threads};
use super::simulator::Simulator;
use super::{devices, matrix};
use anyhow::{Context, Result};
use isobit::AnyDevice;
use isobit_conformance::accuracy;
use isobit_conformance::case::Case;
use isobit_conformance::cells::Cell;
use isobit_conformance::golden;
use isobit_conformance::report::{DeviceRow, Finding, ResultRow};
use isobit_conformance::run::{CellDigests, KnownResults, Options, Reference, Watch};
use isobit_hal::{DType, Numerics, Op};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::sync::Arc;

/// What a worker is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    pub seed: u64,
    pub cases: u64,
    pub first: Vec<Case>,
    pub replay_only: bool,
    /// The cells, by name, label and numerics.
    pub cells: Vec<(String, String, Option<Numerics>)>,
    /// Only whether the device supports the cells.
    pub ask: bool,
    /// One cell at a time, and each case told before it runs: to find which one kills the process.
    pub alone: bool,
    /// What follows the cells, where anything does.
    pub then: Option<Then>,
    /// Groups instead of cells, where there are any.
    pub groups: Option<GroupJob>,
    /// What the CPU gave for the cells, where it has run before.
    pub known: Vec<CellDigests>,
}

impl Job {
    /// To run cells, several at once.
    pub fn of<'a>(cells: impl Iterator<Item = &'a Cell> + Clone, options: &Options) -> Self {
        Self {
            known: cells.clone().filter_map(|cell| options.known.of(cell).cloned()).collect(),
            seed: options.seed,
            cases: options.cases,
            first: options.first.clone(),
            replay_only: options.replay_only,
            cells: cells.map(|cell| (cell.operation.name().into(), cell.label(), cell.numerics)).collect(),
            ask: false,
            alone: false,
            then: None,
            groups: None,
        }
    }
}

/// Checks of a device beside its cells.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Then {
    /// The golden vectors of these operations (none means all) ...
    pub ops: Vec<String>,
    /// ... and dtypes.
    pub dtypes: Vec<String>,
    /// Every input of every unary among the cells; on a simulated device of the narrow dtypes
    /// alone, since 2^32 take it days.
    pub exhaustive: bool,
}

/// What a worker tells.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The device is open.
    Ready(DeviceRow),
    /// It could not be opened.
    Absent(String),
    /// Of a cell.
    Event(Event),
    /// A row of what follows the cells.
    Row(ResultRow),
    /// Still at it: so much of the exhaustive check of a dtype is done.
    Working(String),
    /// What watches the device saw in what follows the cells.
    Found(Finding),
    /// Of a group.
    Group(GroupEvent),
    /// So many instructions has a simulated device executed in this process.
    Executed(u64),
    /// Whether the device supports each cell of a job that asks.
    Supports(Vec<bool>),
    /// All is done.
    Finished,
}

pub fn main(args: &WorkerArgs) -> Result<()> {
    let out = Mutex::new(std::io::stdout());
    let tell = |message: Message| {
        let mut line = serde_json::to_string(&message).expect("messages are plain data");
        line.push('\n');
        let mut out = out.lock();
        // Nobody listens any more: there is nothing left to do.
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
    let job: Job = serde_json::from_str(&line).context("the job on standard input")?;
    let find = |(op, label, numerics): &(String, String, Option<Numerics>)| {
        Cell::find(op, label, *numerics).with_context(|| format!("no cell {op} {label}"))
    };
    let cells = job.cells.iter().map(find).collect::<Result<Vec<_>>>()?;
    if let Some(job) = job.groups {
        groups::work(&device, &args.device, &job, simulator, &tell)?;
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
        reference: Reference::Cpu,
        first: job.first,
        replay_only: job.replay_only,
        watch: simulator.clone().map(|s| s as Arc<dyn Watch>),
        known: Arc::new(KnownResults::new(job.known)),
    };
    // What a simulator sees is of the one case that runs.
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
    tell(Message::Finished);
    Ok(())
}

/// Every input of the unaries among the cells, for the dtypes that can be counted out, against the
/// CPU.
fn every_input(
    device: &AnyDevice,
    id: &str,
    cells: &[&Cell],
    narrow_alone: bool,
    tell: &dyn Fn(Message),
) -> Result<()> {
    let dtypes = [DType::F8E4M3, DType::F16, DType::BF16, DType::F32];
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
