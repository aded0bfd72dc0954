//! The table on the terminal and bench.json.

use crate::launch_cost::Host;
use crate::measure::{Bench, Row};
use isobit_hal::{BackendDevice, Error, ErrorKind, Result};
use isobit_kernels::GpuRuntime;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Times of another library, as `peers/pytorch.py` writes them.
#[derive(Debug, Deserialize)]
pub struct Peers {
    /// The library and its version.
    pub source: String,
    rows: Vec<PeerRow>,
}

#[derive(Debug, Deserialize)]
struct PeerRow {
    op: String,
    dtype: String,
    work: String,
    us: f64,
}

impl Peers {
    /// Reads a file of them.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| {
            Error::new(ErrorKind::Other, format!("{} holds no times of a peer", path.display())).with_source(e)
        };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        serde_json::from_str(&text).map_err(|e| failed(e.into()))
    }

    /// Fills in the peer's time of each row that it has too. Its rows are held against the vendor's where there are two.
    pub fn fill(&self, rows: &mut [Row]) {
        for row in rows {
            let op = row.op.strip_suffix("_vendor").unwrap_or(&row.op);
            let same = |p: &&PeerRow| p.op == op && p.dtype == row.dtype && p.work == row.work;
            row.peer_us = self.rows.iter().find(same).map(|p| p.us);
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    device: &'a str,
    arch: &'a str,
    driver_version: &'a str,
    copy_gb_per_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<&'a str>,
    host: &'a Host,
    rows: &'a [Row],
}

pub fn write<R: GpuRuntime>(
    bench: &Bench<R>,
    rows: &[Row],
    peers: Option<&Peers>,
    host: &Host,
    out: &Path,
) -> Result<()> {
    let info = bench.device.info()?;
    println!(
        "{} ({}), driver {}; a copy moves {:.0} GB/s",
        info.name,
        info.arch,
        info.driver_version,
        bench.copy_rate / 1e9
    );
    println!(
        "{:<24} {:<8} {:<26} {:>11} {:>11} {:>7} {:>10} {:>11}",
        "op", "dtype", "work", "us", "floor us", "ratio", "TFLOP/s", "peer us"
    );
    for row in rows {
        let number = |x: Option<f64>| x.map_or("-".into(), |x| format!("{x:.2}"));
        let tflops = row.flops.map(|f| f / row.us / 1e6);
        println!(
            "{:<24} {:<8} {:<26} {:>11.2} {:>11} {:>7} {:>10} {:>11}",
            row.op,
            row.dtype,
            row.work,
            row.us,
            number(row.floor_us),
            number(row.ratio),
            number(tflops),
            number(row.peer_us)
        );
    }
    println!(
        "host time a launch: add into {:.2} us ({:.2} us of them the driver's own call), add {:.2} us, strided exp {:.2} us; 1 KiB allocation {:.2} us",
        host.add_into_us, host.driver_launch_us, host.add_us, host.exp_strided_us, host.alloc_us
    );
    host.graph.show();
    if let (Some(all), Some(open)) = (host.cold_start_ms, host.cold_open_ms) {
        println!(
            "cold start: {all:.0} ms from process start to the first add's result, {open:.0} ms of them opening the device"
        );
    }
    let report = Report {
        schema: 1,
        device: &info.name,
        arch: &info.arch,
        driver_version: &info.driver_version,
        copy_gb_per_s: bench.copy_rate / 1e9,
        peer: peers.map(|p| p.source.as_str()),
        host,
        rows,
    };
    let failed =
        |e: std::io::Error| Error::new(ErrorKind::Other, format!("{} cannot be written", out.display())).with_source(e);
    std::fs::create_dir_all(out).map_err(failed)?;
    let text = serde_json::to_string_pretty(&report).map_err(|e| failed(e.into()))?;
    std::fs::write(out.join("bench.json"), text).map_err(failed)?;
    println!("written: {}", out.join("bench.json").display());
    Ok(())
}
