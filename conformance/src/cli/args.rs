//! Arguments.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand};
use isobit::Numerics;
use std::path::PathBuf;

/// Holds every device to the CPU reference, bit for bit, and the reference to the truth.
#[derive(Debug, Parser)]
#[command(name = "isobit-conformance", bin_name = "cargo xtask conformance", version)]
#[command(
    after_help = "Exit status: 0 all passed; 1 something failed, or with --against differs; 2 it could not run (bad arguments, absent device)."
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Devices, such as cpu,cuda:0,sim-rocm:gfx90a. Without this: the CPU, every GPU found, and
    /// simulated ones for a vendor without.
    #[arg(long, value_delimiter = ',', value_name = "ID,...")]
    pub devices: Vec<String>,

    /// Operations, by name, and groups of what surrounds them, such as device.streams; `device.` is
    /// all groups. Without this: all.
    #[arg(long, value_delimiter = ',', value_name = "OP,...")]
    pub ops: Vec<String>,

    /// Dtypes: cells all of whose values have one of these run. One cell is named by its dtypes
    /// joined with a dash, as in f32-f16.
    #[arg(long, value_delimiter = ',', value_name = "DTYPE,...")]
    pub dtypes: Vec<String>,

    /// Who computes what a vendor's library could do. Without this: both.
    #[arg(long, value_delimiter = ',', value_parser = numerics(), value_name = "WHO,...")]
    pub numerics: Vec<Numerics>,

    /// Cases a cell (64 unless given).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub cases: Option<u64>,

    /// The seed that, with operation, dtypes and index, determines every case.
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,

    /// Of each group the case of this index alone, as a failure names it.
    #[arg(long, value_name = "INDEX", requires = "ops", conflicts_with_all = ["cases", "quick", "replay", "compare"])]
    pub case: Option<u64>,

    /// 32 cases a cell, and the shortest checks of the reference.
    #[arg(long, conflicts_with_all = ["exhaustive", "cases"])]
    pub quick: bool,

    /// Also test unary operations on every f8, f16 and bf16 argument and, on real devices, on every
    /// f32 argument.
    #[arg(long)]
    pub exhaustive: bool,

    /// Where report.json, report.html, junit.xml, digests.json and failures go.
    #[arg(long, value_name = "DIR", default_value = "target/conformance")]
    pub out: PathBuf,

    /// Run the cases of a file alone, as a failure saved it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cases", "quick", "exhaustive"])]
    pub replay: Option<PathBuf>,

    /// Join earlier runs, also from other machines, with each other and with the devices named, by
    /// the digests of their results: each the folder of a run, or its digests.json.
    #[arg(long, value_name = "RUN", num_args = 1.., conflicts_with = "replay")]
    pub compare: Vec<PathBuf>,

    /// Compare the digests of this run with those of an earlier one of another build, of the same
    /// seed: cells added and lost, cases and results changed. With NEW nothing runs, and NEW is
    /// compared with OLD. Each is the folder of a run, or its digests.json. The filters hold.
    /// Status 1 where a result changed that no numerics version announces, a case changed or a cell
    /// was lost.
    #[arg(long, value_names = ["OLD", "NEW"], num_args = 1..=2, conflicts_with_all = ["replay", "compare", "matrix", "case"])]
    pub against: Vec<PathBuf>,

    /// Write which device supports what to docs/support.md, and run nothing. Without --devices, of
    /// the CPU and of a simulated GPU of each vendor.
    #[arg(long, conflicts_with_all = ["replay", "compare"])]
    pub matrix: bool,

    /// Only compare docs/support.md with what --matrix would write.
    #[arg(long, requires = "matrix")]
    pub check: bool,

    /// Show the table of every pair of devices, and everything that did not pass; without this,
    /// what fits a screen.
    #[arg(long, short)]
    pub verbose: bool,

    /// Seconds after which a case of a worker counts as hung.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs the cells that come on standard input on one device.
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Many threads at one or two devices: mixed operations, each result held to the CPU's, all
    /// memory given back.
    Stress(StressArgs),
}

#[derive(Debug, ClapArgs)]
pub struct StressArgs {
    /// The device, as in cuda:0 or sim-rocm:gfx90a.
    #[arg(long)]
    pub device: String,

    /// A second one of the same driver, on which half of the threads work; the same name is another
    /// instance of the same device.
    #[arg(long)]
    pub second: Option<String>,

    /// Threads.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: u16,

    /// Operations of all threads together.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub ops: u64,

    /// What they are drawn from.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,

    /// This process has the simulated device's libraries.
    #[arg(long, hide = true)]
    pub inside: bool,
}

#[derive(Debug, ClapArgs)]
pub struct WorkerArgs {
    /// The device.
    #[arg(long)]
    pub device: String,
}

/// The numerics there are, offered by name.
fn numerics() -> impl TypedValueParser<Value = Numerics> {
    PossibleValuesParser::new(Numerics::ALL.iter().map(|n| n.name())).try_map(|name| name.parse::<Numerics>())
}

impl Args {
    /// Cases a cell.
    pub fn case_count(&self) -> u64 {
        self.cases.unwrap_or(if self.quick { 32 } else { 64 })
    }
}
