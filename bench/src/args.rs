//! The command line.

use crate::cases::cold_start::ColdStart;
use clap::Parser;
use isobit_hal::{Error, ErrorKind, Result};
use std::path::PathBuf;

/// Measures every operation family relative to its floor: bytes divided by the copy bandwidth,
/// flops divided by the vendor's matrix rate.
///
/// The exit status is 0; 1 if `--against` finds a slower row; 2 if measuring or comparing failed.
#[derive(Parser, Debug)]
#[command(name = "isobit-bench", bin_name = "cargo xtask bench")]
pub struct Args {
    /// The device, such as cuda:0.
    #[arg(long, default_value = "cuda:0")]
    pub device: String,
    /// Only rows whose name contains one of these, separated by commas, or for `=NAME` is that
    /// name. Rows with the prefix `host_` measure host time.
    #[arg(long, value_delimiter = ',')]
    pub ops: Vec<String>,
    /// Only these dtypes, separated by commas.
    #[arg(long, value_delimiter = ',')]
    pub dtypes: Vec<String>,
    /// Number of elements of the elementwise rows, in Mi.
    #[arg(long, default_value_t = 64)]
    pub size: usize,
    /// Launches per timing; a run of a row is the median of five timings.
    #[arg(long, default_value_t = 20)]
    pub launches: usize,
    /// Measures each row five times and writes the runs to FILE, for a later `--against`. By
    /// default each row is measured once and written to target/bench/bench.json.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Measures each row five times and compares the runs with FILE, which an earlier `--json`
    /// wrote on the same device.
    ///
    /// A row is slower if the median of its five runs grew by more than 3 % and by more than three
    /// times its spread, and faster if it shrank by as much. The spread is the distance from the
    /// second fastest to the second slowest of the five runs, in FILE or now, whichever is larger.
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Reads the rows from FILE, which an earlier benchmark wrote, instead of measuring them: no
    /// GPU is needed. `--ops` and `--dtypes` select among its rows, and `--against` compares FILE
    /// with an earlier one.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["device", "size", "launches", "json", "cold_start", "simgpu"])]
    pub from: Option<PathBuf>,
    /// Draws where the rows stand against the roof of the device, by family.
    #[arg(long, value_name = "FILE.svg", value_parser = svg_file, conflicts_with_all = ["cold_start", "simgpu"])]
    pub plot: Option<PathBuf>,
    /// Prints the table by family of docs/performance.md instead of all rows.
    #[arg(long, conflicts_with_all = ["against", "cold_start", "simgpu"])]
    pub markdown: bool,
    /// Also shows the times of another library, from a file written by peers/pytorch.py or
    /// peers/llama_cpp.cpp. Can be given several times.
    #[arg(long, value_name = "FILE")]
    pub peers: Vec<PathBuf>,
    /// Measures only what a process that has just started takes.
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["json", "against", "simgpu"])]
    pub cold_start: Option<ColdStart>,
    /// Measures only collectives over N ranks: the device and those after it, and the device again
    /// where there are not so many.
    #[arg(long, value_name = "N", conflicts_with_all = ["json", "against", "cold_start", "simgpu", "plot", "markdown", "from"])]
    pub collectives: Option<usize>,
    /// Measures only the speed of the simulated GPU.
    #[arg(long, conflicts_with_all = ["json", "against"])]
    pub simgpu: bool,
}

/// Takes the name of a picture. Checked before anything is measured.
fn svg_file(name: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(name);
    let is_svg = path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("svg"));
    if is_svg { Ok(path) } else { Err("the picture is SVG: give it a name that ends in .svg".into()) }
}

impl Args {
    /// Returns the driver and the ordinal that `--device` names.
    pub fn device(&self) -> Result<(&str, usize)> {
        let (driver, ordinal) = self.device.split_once(':').unwrap_or((&self.device, "0"));
        let ordinal = ordinal.parse().map_err(|e| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!("`{}` is not a device name; an example of one is cuda:0", self.device),
            )
            .with_source(e)
        })?;
        Ok((driver, ordinal))
    }

    /// Whether a row is selected.
    pub fn wants(&self, op: &str, dtype: &str) -> bool {
        let any = |list: &[String], fits: &dyn Fn(&str) -> bool| list.is_empty() || list.iter().any(|s| fits(s));
        any(&self.ops, &|s| s.strip_prefix('=').map_or_else(|| op.contains(s), |name| op == name))
            && any(&self.dtypes, &|s| s == dtype)
    }

    /// Returns the file that the rows are written to.
    pub fn output(&self) -> PathBuf {
        self.json.clone().unwrap_or_else(|| PathBuf::from("target/bench/bench.json"))
    }

    /// Returns how often each row is measured.
    pub fn runs(&self) -> usize {
        if self.json.is_some() || self.against.is_some() { crate::row::RUNS } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> std::result::Result<Args, String> {
        Args::try_parse_from([&["isobit-bench"], args].concat()).map_err(|e| e.to_string())
    }

    #[test]
    fn what_measures_is_refused_with_a_file_that_was_measured() {
        for more in [&["--json", "b.json"][..], &["--device", "cuda:1"], &["--size", "1"], &["--launches", "5"]] {
            let message = parsed(&[&["--from", "a.json"], more].concat()).unwrap_err();
            assert!(message.contains("--from") && message.contains(more[0]), "{message}");
        }
        assert!(parsed(&["--from", "a.json", "--against", "b.json", "--plot", "a.svg", "--ops", "exp"]).is_ok());
        assert!(parsed(&["--from", "a.json", "--markdown", "--against", "b.json"]).is_err(), "two outputs");
    }

    #[test]
    fn a_picture_is_svg() {
        assert!(parsed(&["--plot", "roof.SVG"]).is_ok());
        let message = parsed(&["--plot", "roof.png"]).unwrap_err();
        assert!(message.contains("ends in .svg"), "{message}");
    }
}
