//! The results of a benchmark: bench.json, and the table on the terminal.

use crate::args::Args;
use crate::measure::Bench;
use crate::row::{RUNS, Row};
use isobit_hal::{BackendDevice, Error, ErrorKind, Result};
use isobit_kernels::GpuRuntime;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;

const SCHEMA: u32 = 2;

/// The rows, with the device and the software that they were measured with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    pub schema: u32,
    /// Time of the measurement, in UTC.
    pub date: String,
    /// The commit of the current directory.
    pub git: Option<String>,
    pub device: String,
    pub arch: String,
    pub driver_version: String,
    pub kernel_compiler: String,
    pub launches: usize,
    pub runs: usize,
    pub copy_gb_per_s: f64,
    /// Other libraries whose times stand beside the rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<String>,
    pub rows: Vec<Row>,
}

impl Report {
    /// Creates a report without rows.
    pub fn new<R: GpuRuntime>(bench: &Bench<R>, args: &Args) -> Result<Self> {
        let info = bench.device.info()?;
        Ok(Self {
            schema: SCHEMA,
            date: chrono::Utc::now().format("%Y-%m-%dT%H:%M:%SZ").to_string(),
            git: commit(),
            device: info.name,
            arch: info.arch,
            driver_version: info.driver_version,
            kernel_compiler: isobit_kernels::BUILD.compiler.into(),
            launches: args.launches,
            runs: args.runs(),
            copy_gb_per_s: bench.copy_rate / 1e9,
            peers: Vec::new(),
            rows: Vec::new(),
        })
    }

    /// Reads a report that a benchmark wrote.
    ///
    /// # Errors
    /// Returns `Other` if the file cannot be read or is not such a report.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |why: String| {
            let path = path.display();
            let help = "`cargo xtask bench` writes such a file to target/bench/bench.json";
            Error::new(ErrorKind::Other, format!("cannot read a benchmark from {path}: {why}; {help}"))
        };
        let text = std::fs::read_to_string(path).map_err(|e| failed(e.to_string()))?;
        let json: serde_json::Value = serde_json::from_str(&text).map_err(|e| failed(e.to_string()))?;
        if json["schema"].is_null() {
            let peers = json["source"].as_str().map(|peer| format!("it has times of {peer}, for `--peers`"));
            return Err(failed(peers.unwrap_or_else(|| "it has no schema".into())));
        }
        if json["schema"] != SCHEMA {
            return Err(failed(format!("it has schema {}, but this benchmark has schema {SCHEMA}", json["schema"])));
        }
        let report: Self = serde_json::from_value(json).map_err(|e| failed(e.to_string()))?;
        let untimed = |row: &&Row| !(row.us > 0.0 && row.us.is_finite());
        match report.rows.iter().find(untimed) {
            Some(row) => Err(failed(format!("the row {:?} takes {} us", row.name(), row.us))),
            None => Ok(report),
        }
    }

    /// Reads a report to compare it with another one.
    ///
    /// # Errors
    /// Returns the errors of [`Self::read`], and `Other` if there are too few runs to determine
    /// their spread.
    pub fn read_runs(path: &Path) -> Result<Self> {
        let report = Self::read(path)?;
        if report.runs == RUNS && report.rows.iter().all(|row| row.runs_us.len() == RUNS) {
            return Ok(report);
        }
        let message = format!(
            "cannot compare {}: it has {} run of each row, but {RUNS} are needed; `--json FILE` writes a file that can be compared",
            path.display(),
            report.runs
        );
        Err(Error::new(ErrorKind::Other, message))
    }

    /// Writes the report to `path`.
    pub fn write(&self, path: &Path) -> Result<()> {
        let failed = |e: std::io::Error| {
            Error::new(ErrorKind::Other, format!("{} cannot be written", path.display())).with_source(e)
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
        let text = serde_json::to_string_pretty(self).map_err(|e| failed(e.into()))?;
        std::fs::write(path, text).map_err(failed)?;
        eprintln!("wrote {}", path.display());
        Ok(())
    }

    /// Returns a line with what was measured, and with which software.
    pub fn title(&self) -> String {
        format!(
            "{} ({}), driver {}, kernels compiled by {}; {}, {}; copy rate {:.0} GB/s",
            self.device,
            self.arch,
            self.driver_version,
            self.kernel_compiler,
            self.git.as_deref().unwrap_or("no commit"),
            self.date,
            self.copy_gb_per_s
        )
    }

    /// Prints the table, with a column for each peer.
    pub fn show(&self) {
        println!("{}", self.title());
        if !self.peers.is_empty() {
            println!("beside it: {}", self.peers.join("; "));
        }
        let peers: Vec<_> = self.peers.iter().map(|peer| (peer, column(peer))).collect();
        let heads: String = peers.iter().map(|(_, head)| format!(" {head:>11}")).collect();
        println!(
            "{:<24} {:<8} {:<26} {:>11} {:>11} {:>7} {:>10}{heads}",
            "op", "dtype", "work", "us", "floor us", "ratio", "TFLOP/s"
        );
        for row in &self.rows {
            let number = |x: Option<f64>| x.map_or("-".into(), |x| format!("{x:.2}"));
            let tflops = row.flops.map(|f| f / row.us / 1e6);
            let time = |(peer, head): &(&String, String)| {
                let width = head.len().max(11);
                format!(" {:>width$}", number(row.peers_us.get(*peer).copied()))
            };
            println!(
                "{:<24} {:<8} {:<26} {:>11.2} {:>11} {:>7} {:>10}{}",
                row.op,
                row.dtype,
                row.work,
                row.us,
                number(row.floor_us),
                number(row.ratio),
                number(tflops),
                peers.iter().map(time).collect::<String>()
            );
        }
    }

    /// The rows of tests/small.json.
    #[cfg(test)]
    pub fn small() -> Self {
        Self::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/small.json"))).unwrap()
    }

    #[cfg(test)]
    pub fn example() -> Self {
        Self {
            schema: SCHEMA,
            date: "2026-01-02T03:04:05Z".into(),
            git: Some("0123456789ab".into()),
            device: "NVIDIA H200".into(),
            arch: "sm_90".into(),
            driver_version: "12.8".into(),
            kernel_compiler: "clang version 19.1.7".into(),
            launches: 20,
            runs: RUNS,
            copy_gb_per_s: 4000.0,
            peers: Vec::new(),
            rows: vec![Row { runs_us: vec![1.0; RUNS], ..Row::new("exp", "f32", "64Mi", 1.0) }],
        }
    }
}

/// Returns the head of a peer's column: its name without its version.
fn column(peer: &str) -> String {
    format!("{} us", peer.split(' ').next().unwrap_or(peer))
}

/// Asks git at run time, because a new commit alone does not cause a rebuild.
fn commit() -> Option<String> {
    let describe = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output().ok()?;
    describe.status.success().then(|| String::from_utf8_lossy(&describe.stdout).trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let (path, report) = (folder.path().join("new/bench.json"), Report::example());
        report.write(&path).unwrap();
        let read = Report::read(&path).unwrap();
        assert_eq!((read.title(), read.rows), (report.title(), report.rows));
    }

    #[test]
    fn what_cannot_be_read_or_compared_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bench.json");
        let refused = |why: &str| {
            let message = Report::read_runs(&path).unwrap_err().to_string();
            assert!(message.contains(why) && message.contains("bench.json"), "{message}");
        };
        refused("No such file");
        std::fs::write(&path, "{").unwrap();
        refused("EOF");
        std::fs::write(&path, r#"{"schema": 1}"#).unwrap();
        refused("schema 1");
        std::fs::write(&path, "[1]").unwrap();
        refused("no schema");
        std::fs::write(&path, r#"{"source": "PyTorch 2.11.0", "rows": []}"#).unwrap();
        refused("times of PyTorch 2.11.0, for `--peers`");
        std::fs::write(&path, r#"{"schema": 2}"#).unwrap();
        refused("missing field");
        Report { rows: vec![Row::new("exp", "f32", "64Mi", 0.0)], ..Report::example() }.write(&path).unwrap();
        refused("takes 0 us");
        Report { runs: 1, ..Report::example() }.write(&path).unwrap();
        refused("1 run");
        let row = Row::new("exp", "f32", "64Mi", 1.0);
        Report { rows: vec![row], ..Report::example() }.write(&path).unwrap();
        refused("5 are needed");
        assert_eq!(Report::read(&path).unwrap().rows.len(), 1, "one run is enough to show");
    }
}
