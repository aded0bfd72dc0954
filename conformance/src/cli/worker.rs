//! The worker's side: one device, work from standard input, events to standard output, JSON lines both.

use super::args::WorkerArgs;
use super::devices;
use super::pool::{Event, run_cells, threads};
use anyhow::{Context, Result};
use isobit::AnyDevice;
use isobit_conformance::accuracy;
use isobit_conformance::case::{Case, Kind};
use isobit_conformance::cells::Cell;
use isobit_conformance::golden;
use isobit_conformance::report::{DeviceRow, Numerics, ResultRow};
use isobit_conformance::run::{Options, Reference};
use isobit_hal::DType;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::sync::Mutex;

/// What a worker is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    pub seed: u64,
    pub cases: u64,
    pub first: Vec<Case>,
    pub replay_only: bool,
    /// The cells, by name, label and numerics.
    pub cells: Vec<(String, String, Option<Numerics>)>,
    /// One cell at a time, and each case told before it runs: to find which one kills the process.
    pub alone: bool,
    /// What follows the cells, where anything does.
    pub then: Option<Then>,
}

/// Checks of a device beside its cells.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Then {
    /// The golden vectors of these operations (none means all) ...
    pub ops: Vec<String>,
    /// ... and dtypes.
    pub dtypes: Vec<String>,
    /// Every input of every unary among the cells.
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
    /// All is done.
    Finished,
}

pub fn main(args: &WorkerArgs) -> Result<()> {
    let out = Mutex::new(std::io::stdout());
    let tell = |message: Message| {
        let mut line = serde_json::to_string(&message).expect("messages are plain data");
        line.push('\n');
        let mut out = out.lock().expect("no thread dies while it writes");
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
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let job: Job = serde_json::from_str(&line).context("the job on standard input")?;
    let find = |(op, label, numerics): &(String, String, Option<Numerics>)| {
        Cell::find(op, label, *numerics).with_context(|| format!("no cell {op} {label}"))
    };
    let cells = job.cells.iter().map(find).collect::<Result<Vec<_>>>()?;
    let options = Options {
        seed: job.seed,
        cases: job.cases,
        reference: Reference::Cpu,
        first: job.first,
        replay_only: job.replay_only,
    };
    let at_once = if job.alone { 1 } else { threads() };
    run_cells(&device, &args.device, &cells, &options, at_once, job.alone, |e| tell(Message::Event(e)));
    if let Some(then) = job.then {
        let filter = golden::Filter { ops: then.ops, dtypes: then.dtypes };
        golden::run(&device, &args.device, &filter)?.into_iter().for_each(|row| tell(Message::Row(row)));
        if then.exhaustive {
            every_input(&device, &args.device, &cells, tell)?;
        }
    }
    tell(Message::Finished);
    Ok(())
}

/// Every input of the unaries among the cells, for the dtypes that can be counted out, against the CPU.
fn every_input(device: &AnyDevice, id: &str, cells: &[&Cell], tell: impl Fn(Message)) -> Result<()> {
    for dtype in [DType::F8E4M3, DType::F16, DType::BF16, DType::F32] {
        let unary = |c: &&Cell| match c.kind {
            Kind::Unary(op) if c.dtypes[0] == dtype => Some(op),
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
