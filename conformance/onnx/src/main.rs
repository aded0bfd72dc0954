//! `cargo xtask onnx` writes the cases and starts this program for each device.

use anyhow::{Context, Result};
use clap::Parser;
use isobit::{AnyDevice, BackendDevice, Numerics};
use isobit_examples::choice::{exit_code, open};
use isobit_examples::simulated::{self, Device};
use isobit_onnx::case::Cases;
use isobit_onnx::listed;
use isobit_onnx::ops::Ops;
use isobit_onnx::report::Report;
use isobit_onnx::run::{Devices, check};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the node tests of ONNX on a device, and compares the results with the expected ones and
/// with the CPU's.
#[derive(Parser, Debug)]
struct Args {
    /// The folder with the cases that `cases.py` wrote.
    #[arg(long)]
    cases: PathBuf,
    /// The device, such as cpu, cuda:0, rocm:0, sim-cuda or sim-rocm:gfx90a.
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Only the cases whose name contains this.
    #[arg(long)]
    filter: Option<String>,
    /// Names the cases that are not expressed, and those that are listed.
    #[arg(long)]
    verbose: bool,
}

fn main() -> ExitCode {
    exit_code(run(&Args::parse()))
}

fn run(args: &Args) -> Result<ExitCode> {
    let name = match simulated::resolve(&args.device)? {
        Device::Here(name) => name,
        Device::Elsewhere(code) => return Ok(code),
    };
    let cases = Cases::read(&args.cases)?;
    let (mut shown, mut other) = (args.device.clone(), None);
    if !["cpu", "cpu:0"].contains(&name.as_str()) {
        let device = open(&name, Numerics::Portable).with_context(|| format!("device {}", args.device))?;
        let info = device.info()?;
        shown = format!("{shown}, {} ({})", info.name, info.arch);
        other = Some(Ops::new(device));
    }
    let devices = Devices { cpu: Ops::new(AnyDevice::cpu()), other };
    let reasons = listed::reasons()?;
    let (mut report, mut digest) = (Report::default(), blake3::Hasher::new());
    let filter = args.filter.as_deref().unwrap_or_default();
    for case in cases.cases.iter().filter(|case| case.name.contains(filter)) {
        let verdict = check(&cases, case, &devices, |output| {
            // Elements that could not be read have failed the case.
            digest.update(&output.canonical().unwrap_or_default());
        });
        report.add(&case.name, verdict, reasons.get(case.name.as_str()).copied());
    }
    for name in reasons.keys().filter(|name| name.contains(filter)) {
        if !cases.cases.iter().any(|case| case.name == **name) {
            report.add_unknown(name);
        }
    }
    if args.verbose {
        report.listed().iter().for_each(|line| println!("listed: {line}"));
        for (reason, names) in report.unexpressed() {
            names.iter().for_each(|name| println!("not expressed: {name}: {}: {reason}", reason.kind()));
        }
    }
    report.wrong().iter().for_each(|line| println!("wrong: {line}"));
    println!("{shown}: node tests of onnx {}\n{report}", cases.package);
    println!("digest of the results: {}", digest.finalize().to_hex());
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
