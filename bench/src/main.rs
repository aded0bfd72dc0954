//! Measures every operation family on a GPU: time, bytes or flops, the floor from a device copy and
//! a vendor matrix product of the same run, and the ratio of time to floor. Writes a table and
//! JSON, and compares with an earlier run.

mod against;
mod args;
mod cases;
mod measure;
mod peers;
mod report;
mod row;
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
    if args.cold_start {
        cases::cold_start::measure::<R>(ordinal, started)?;
        return Ok(ExitCode::SUCCESS);
    }
    let earlier = against::earlier(args)?;
    let peers = args.peers.iter().map(|path| peers::Peers::read(path)).collect::<Result<Vec<_>>>()?;
    let bench = measure::Bench::<R>::new(ordinal, args.launches)?;
    let mut report = report::Report::new(&bench, args)?;
    if let Some(earlier) = &earlier {
        against::check_comparable(earlier, &report)?;
    }
    report.rows = measured(&bench, args)?;
    for peer in peers {
        let unmet = peer.fill(&mut report.rows);
        if unmet > 0 {
            eprintln!("note: {unmet} rows of {} have no counterpart among those measured", peer.source);
        }
        report.peers.push(peer.source);
    }
    report.write(&args.output())?;
    let Some(earlier) = earlier else {
        report.show();
        return Ok(ExitCode::SUCCESS);
    };
    println!("before: {}\nnow:    {}", earlier.title(), report.title());
    let comparison = against::compare(&earlier.rows, &report.rows);
    comparison.show();
    Ok(if comparison.is_slower() { 1.into() } else { ExitCode::SUCCESS })
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
