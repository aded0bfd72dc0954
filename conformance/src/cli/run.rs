//! A run from arguments to report.

use super::args::Args;
use super::pool::{Event, run_cells, threads};
use super::progress::Progress;
use super::supervise::{self, Order, Worker};
use super::worker::Then;
use super::{build, devices, join, save, select};
use anyhow::{Context, Result, bail};

use isobit_conformance::accuracy;
use isobit_conformance::cells::Cell;
use isobit_conformance::golden;
use isobit_conformance::report::{self, DeviceRow, Memory, NotRun, Report, ResultRow};
use isobit_conformance::run::{CellRun, DigestFile, DigestHeader, Options, Reference};
use isobit_hal::{CpuDevice, DType};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What has come together so far.
#[derive(Default)]
struct Found {
    devices: Vec<DeviceRow>,
    not_run: Vec<NotRun>,
    runs: Vec<CellRun>,
    rows: Vec<ResultRow>,
    digests: Vec<DigestFile>,
}

/// Runs, writes the report and shows it; true where everything passed.
pub fn main(args: &Args) -> Result<bool> {
    let started = Instant::now();
    let mut cells = select::cells(args)?;
    let mut options = Options::new(args.seed, args.case_count());
    let mut asked = args.devices.clone();
    if let Some(file) = &args.replay {
        let failures = save::load(file)?;
        if asked.is_empty() {
            asked = failures.iter().map(|f| f.device.clone()).collect::<BTreeSet<_>>().into_iter().collect();
        }
        options.first = isobit_conformance::regress::cases(failures);
        options.replay_only = true;
        cells.retain(|cell| options.first.iter().any(|c| c.cell() == Some(cell)));
        if cells.is_empty() {
            bail!("{} holds no case of a cell that this version has and the filters select", file.display());
        }
    } else {
        options.first = save::regressions(&args.out)?;
    }
    let read = args.compare.iter().map(|path| {
        let mut file = DigestFile::read(path).with_context(|| format!("cannot read the digests {}", path.display()))?;
        // Ids repeat from machine to machine; files do not.
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        file.header.device.id = format!("{}@{stem}", file.header.device.id);
        Ok(file)
    });
    let compared = read.collect::<Result<Vec<_>>>()?;
    let digests_alone = !compared.is_empty() && asked.is_empty();
    if digests_alone && compared.len() == 1 {
        bail!("--compare has one file and nothing to hold it to: give a second file, or --devices to run");
    }

    let mut found = Found::default();
    if !digests_alone {
        run_devices(args, &asked, &cells, &options, &mut found)?;
    }
    let mut files = compared;
    found.devices.extend(files.iter().map(|f| f.header.device.clone()));
    files.append(&mut found.digests);
    if let Some(other) = files.iter().find(|f| f.header.seed != files[0].header.seed) {
        let (a, b) = (&files[0].header, &other.header);
        bail!("the digests of {} and {} are of seeds {} and {}: other cases", a.device.id, b.device.id, a.seed, b.seed);
    }
    for (i, subject) in files.iter().enumerate() {
        // Devices that ran were held to the CPU already, value by value.
        let others = files[..i].iter().filter(|f| f.header.device.id != "cpu");
        found.rows.extend(others.flat_map(|reference| join::rows(subject, reference, &cells)));
    }
    finish(args, &options, found, started)
}

fn run_devices(
    args: &Args,
    asked: &[String],
    cells: &[&'static Cell],
    options: &Options,
    found: &mut Found,
) -> Result<()> {
    let plan = devices::plan(asked)?;
    found.not_run = plan.not_run;
    // Every device is opened before anything runs, so that an absent one is said at once.
    let mut workers: Vec<(String, Worker)> = Vec::new();
    for id in plan.workers {
        match supervise::start(&id) {
            Ok(worker) => workers.push((id, worker)),
            Err(e) if plan.asked => return Err(e),
            Err(e) => found.not_run.push(NotRun { id, reason: format!("{e:#}") }),
        }
    }
    if plan.cpu {
        let row = devices::row("cpu", &CpuDevice)?;
        let runs = on_cpu(cells, options);
        keep(args, row, runs, options, found)?;
        if !options.replay_only {
            check_reference(args, found)?;
        }
    }
    for (id, worker) in workers {
        let row = worker.row.clone();
        let mut progress = Progress::new(&id, cells.len());
        let timeout = Duration::from_secs(args.timeout.max(1));
        let then = (!options.replay_only).then(|| Then {
            ops: args.ops.clone(),
            dtypes: args.dtypes.clone(),
            exhaustive: args.exhaustive,
        });
        let restart = || supervise::start(&id);
        let order = Order { device: &id, cells, options, timeout, then };
        let (runs, rows) = supervise::run(worker, restart, &order, &mut progress)?;
        drop(progress);
        keep(args, row, runs, options, found)?;
        found.rows.extend(rows);
    }
    Ok(())
}

/// The CPU, which is its own reference: held to writing what it must, where it must, twice the same.
fn on_cpu(cells: &[&Cell], options: &Options) -> Vec<CellRun> {
    let options = Options { reference: Reference::Itself, ..options.clone() };
    let progress = Mutex::new(Progress::new("cpu", cells.len()));
    let runs = Mutex::new(Vec::new());
    run_cells(&CpuDevice, "cpu", cells, &options, threads(), false, |event| {
        if let Event::Done { cell, run } = event {
            progress.lock().expect("no thread dies here").step(&cells[cell].to_string());
            runs.lock().expect("no thread dies here").push((cell, *run));
        }
    });
    let mut runs = runs.into_inner().expect("no thread dies here");
    runs.sort_by_key(|(cell, _)| *cell);
    runs.into_iter().map(|(_, run)| run).collect()
}

/// The CPU against golden vectors and the truth.
fn check_reference(args: &Args, found: &mut Found) -> Result<()> {
    let filter = golden::Filter { ops: args.ops.clone(), dtypes: args.dtypes.clone() };
    found.rows.extend(golden::run(&CpuDevice, "cpu", &filter)?);
    let dtypes = args.dtypes.iter().filter_map(|d| d.parse::<DType>().ok()).collect::<Vec<_>>();
    // A filter that names single cells alone names no dtype as such.
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
    let mut progress = Progress::new("accuracy", 0);
    found.rows.extend(accuracy::run(&options, |row| progress.step(&format!("{} {}", row.op, row.dtypes)))?);
    Ok(())
}

/// Takes in the cells of a device: its failures and digests go to files.
fn keep(args: &Args, row: DeviceRow, mut runs: Vec<CellRun>, options: &Options, found: &mut Found) -> Result<()> {
    for run in &mut runs {
        save::failure(&args.out, run)?;
    }
    if !options.replay_only {
        let dir = args.out.join("digests");
        std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let header = DigestHeader { seed: options.seed, device: row.clone() };
        let file = DigestFile { header, cells: runs.iter().map(|r| r.digests.clone()).collect() };
        let path = dir.join(format!("{}.jsonl", row.id.replace(':', "-")));
        file.write(&path).with_context(|| format!("cannot write {}", path.display()))?;
        found.digests.push(file);
    }
    found.devices.push(row);
    found.runs.extend(runs);
    Ok(())
}

fn finish(args: &Args, options: &Options, found: Found, started: Instant) -> Result<bool> {
    let Found { devices, not_run, runs, rows, .. } = found;
    let (mut results, mut findings, mut memory) = (Vec::new(), Vec::new(), Memory::default());
    for run in runs {
        for finding in &run.findings {
            match finding.kind.as_str() {
                "unwritten" => memory.unwritten += 1,
                "uninitialised_reads" => memory.uninitialised_reads += 1,
                _ => memory.out_of_bounds += 1,
            }
        }
        results.push(run.row);
        findings.extend(run.findings);
    }
    results.extend(rows);
    let (build, spent) = (build::info(), started.elapsed());
    let report =
        Report::assemble(options.seed, options.cases, build, devices, not_run, results, memory, findings, spent);
    if report.totals.executed == 0 {
        bail!("nothing ran: no cell is left by the filters for the devices that are here");
    }
    let written = report::write(&report, &args.out)?;
    print!("{}", report::terminal::terminal(&report, Some(&written), std::io::stdout().is_terminal()));
    Ok(report.passed())
}
