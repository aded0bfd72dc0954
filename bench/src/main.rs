//! Measures every operation family on a GPU: time, bytes or flops, the floor from a device copy and
//! a vendor matrix product of the same run, and the ratio of time to floor. Writes a table, JSON
//! and a picture, also of an earlier run, and compares with one.

mod against;
mod args;
mod cases;
mod collectives;
mod group;
mod markdown;
mod measure;
mod peers;
mod plot;
mod report;
mod roof;
mod row;
mod shown;
mod simgpu;

use args::Args;
use clap::Parser;
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::GpuRuntime;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let started = Instant::now();
    match run(&Args::parse(), started) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("error: {e}");
            for cause in std::iter::successors(std::error::Error::source(&e), |cause| cause.source()) {
                eprintln!("  because: {cause}");
            }
            2.into()
        }
    }
}

fn run(args: &Args, started: Instant) -> Result<ExitCode> {
    if let Some(path) = &args.from {
        return shown::file(path, args);
    }
    let (driver, ordinal) = args.device()?;
    match driver {
        "cuda" if args.simgpu => simgpu::run::<isobit_cuda::CudaRuntime>("libcuda.so"),
        "rocm" if args.simgpu => simgpu::run::<isobit_rocm::RocmRuntime>("libamdhip64.so"),
        "cuda" => run_on::<isobit_cuda::CudaRuntime>(args, ordinal, started),
        "rocm" => run_on::<isobit_rocm::RocmRuntime>(args, ordinal, started),
        _ => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("this build cannot measure a `{driver}` device (ordinal {ordinal}): only GPUs, such as cuda:0"),
        )),
    }
}

fn run_on<R: GpuRuntime>(args: &Args, ordinal: usize, started: Instant) -> Result<ExitCode> {
    if let Some(what) = args.cold_start {
        cases::cold_start::measure::<R>(ordinal, started, what)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(ranks) = args.collectives {
        return collectives::run::<R>(ordinal, ranks);
    }
    let earlier = against::earlier(args)?;
    let peers = peers::read(&args.peers)?;
    let bench = measure::Bench::<R>::new(ordinal, args.launches)?;
    let mut report = report::Report::new(&bench, args)?;
    if let Some(earlier) = &earlier {
        against::check_comparable(earlier, &report)?;
    }
    report.rows = measured(&bench, args)?;
    peers::fill(peers, &mut report);
    report.write(&args.output())?;
    shown::report(&report, earlier.as_ref(), &roof::Roof::of(&report), args)
}

/// Measures all rows once, then all of them again: a GPU that warms up or is disturbed for a while
/// then affects one run of many rows, not every run of one row.
fn measured<R: GpuRuntime>(bench: &measure::Bench<R>, args: &Args) -> Result<Vec<row::Row>> {
    let mut runs = Vec::new();
    for run in 1..=args.runs() {
        if args.runs() > 1 {
            eprintln!("run {run} of {}", args.runs());
        }
        runs.push(cases::run(bench, args, run == 1)?);
    }
    let mut rows = row::join(&runs)?;
    rows.iter_mut().for_each(row::Row::round);
    Ok(rows)
}
