//! The command line.

use clap::Parser;
use isobit_hal::{Error, ErrorKind, Result};
use std::path::PathBuf;

/// Times of every operation family against the floor: bytes over copy bandwidth, flops over the
/// vendor's matrix rate.
///
/// The exit status is 0, 1 where `--against` finds a slower row, and 2 where it could not measure
/// or compare.
#[derive(Parser, Debug)]
#[command(name = "isobit-bench", bin_name = "cargo xtask bench")]
pub struct Args {
    /// The device, such as cuda:0.
    #[arg(long, default_value = "cuda:0")]
    pub device: String,
    /// Only rows whose name contains one of these, separated by commas. `host_` names what the host
    /// pays.
    #[arg(long, value_delimiter = ',')]
    pub ops: Vec<String>,
    /// Only these dtypes, separated by commas.
    #[arg(long, value_delimiter = ',')]
    pub dtypes: Vec<String>,
    /// Elements of the elementwise rows, in Mi.
    #[arg(long, default_value_t = 64)]
    pub size: usize,
    /// Launches a timing; a run of a row is the median of five timings.
    #[arg(long, default_value_t = 20)]
    pub launches: usize,
    /// Takes five runs of each row and writes them here, for a later `--against`. Without it one
    /// run is taken and goes to target/bench/bench.json.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Takes five runs of each row and compares them with FILE, which an earlier `--json` wrote on
    /// the same device.
    ///
    /// A row is slower where the median of its five runs grew by more than 3 % and by more than
    /// three times its spread; faster, the other way round. The spread is the distance from the
    /// second fastest to the second slowest of the five runs, in FILE or now, whichever is larger.
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Times of another library to show beside, as peers/pytorch.py writes them.
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
    /// Measures only the time from the start of the process to the first result, and ends.
    #[arg(long, conflicts_with_all = ["json", "against", "simgpu"])]
    pub cold_start: bool,
    /// Measures only how fast the simulated GPU is that stands in for the device's, and ends.
    #[arg(long, conflicts_with_all = ["json", "against"])]
    pub simgpu: bool,
}

impl Args {
    /// The driver and the ordinal that `--device` names.
    pub fn device(&self) -> Result<(&str, usize)> {
        let (driver, ordinal) = self.device.split_once(':').unwrap_or((&self.device, "0"));
        let ordinal = ordinal.parse().map_err(|e| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!("`{}` is not a device name; name one like cuda:0", self.device),
            )
            .with_source(e)
        })?;
        Ok((driver, ordinal))
    }

    /// Whether a row is asked for.
    pub fn wants(&self, op: &str, dtype: &str) -> bool {
        let any = |list: &[String], fits: &dyn Fn(&str) -> bool| list.is_empty() || list.iter().any(|s| fits(s));
        any(&self.ops, &|s| op.contains(s)) && any(&self.dtypes, &|s| s == dtype)
    }

    /// Where the rows are written.
    pub fn output(&self) -> PathBuf {
        self.json.clone().unwrap_or_else(|| PathBuf::from("target/bench/bench.json"))
    }

    /// How often each row is measured.
    pub fn runs(&self) -> usize {
        if self.json.is_some() || self.against.is_some() { crate::row::RUNS } else { 1 }
    }
}
