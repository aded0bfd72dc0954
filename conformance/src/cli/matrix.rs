//! `--matrix`: which device supports what, as each says itself, in Markdown.

use super::args::Args;
use super::{devices, process, select};
use anyhow::{Context, Result, bail};
use isobit_conformance::cells::Cell;
use isobit_conformance::report::Numerics;
use isobit_hal::{BackendDevice, CpuDevice, DType};
use std::fmt::Write;
use std::path::Path;

pub fn main(args: &Args) -> Result<()> {
    let cells = select::cells(args)?;
    let plan = devices::plan(&args.devices)?;
    let mut ids = plan.workers;
    ids.splice(0..0, plan.cpu.then(|| "cpu".to_string()));
    // A device's support does not depend on its ordinal: one of a driver is enough.
    ids.dedup_by(|a, b| a.split(':').next() == b.split(':').next());
    if ids.is_empty() {
        bail!("no device to ask");
    }
    let mut text = String::from(
        "# What each driver supports\n\nWritten by `cargo xtask conformance --matrix` from what the devices answer to `supports`. A dash: the \
         operation is not defined for the dtype.\n",
    );
    for id in &ids {
        let (row, supported) = match id.as_str() {
            "cpu" => (devices::row(id, &CpuDevice)?, answers(&CpuDevice, &cells)),
            id => {
                let worker = process::start(id, 1)?;
                (worker.row.clone(), worker.ask(&cells)?)
            }
        };
        let simulated = if row.simulated { ", asked on a simulated device" } else { "" };
        let _ = write!(text, "\n## {}{simulated}\n\n{}\n", row.driver, table(&supported, &cells));
    }
    for absent in &plan.not_run {
        let _ = writeln!(text, "\n## {}\n\nNot asked: {}.", absent.id, absent.reason);
    }
    let path = Path::new("docs/support.md");
    std::fs::create_dir_all("docs").context("cannot make docs")?;
    std::fs::write(path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    print!("{text}");
    Ok(())
}

/// Whether a device supports each cell.
pub fn answers(device: &impl BackendDevice, cells: &[&Cell]) -> Vec<bool> {
    cells.iter().map(|cell| device.supports(&cell.kind.op(cell.numerics), &cell.dtypes).is_supported()).collect()
}

/// A line an operation (and condition, source dtype or numerics), a column the dtype that varies.
fn table(supported: &[bool], cells: &[&Cell]) -> String {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for (cell, &supported) in cells.iter().zip(supported) {
        let label = cell.label();
        let (first, column) = label.split_once(',').map_or((None, label.as_str()), |(a, b)| (Some(a), b));
        let numerics = cell.numerics.map(|n| match n {
            Numerics::Vendor => "vendor",
            Numerics::Portable => "portable",
        });
        let name = [Some(cell.kind.name()), first, numerics].into_iter().flatten().collect::<Vec<_>>().join(" ");
        if lines.last().is_none_or(|(n, _)| *n != name) && !lines.iter().any(|(n, _)| *n == name) {
            lines.push((name.clone(), vec!["–"; DType::ALL.len()]));
        }
        let line = lines.iter_mut().find(|(n, _)| *n == name).expect("it was just added");
        if let Some(i) = DType::ALL.iter().position(|d| d.as_str() == column) {
            line.1[i] = if supported { "yes" } else { "no" };
        }
    }
    let names: Vec<_> = DType::ALL.iter().map(|d| d.as_str()).collect();
    let mut out = format!("| operation | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for (name, columns) in lines {
        let _ = writeln!(out, "| {name} | {} |", columns.join(" | "));
    }
    out
}
