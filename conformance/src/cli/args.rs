//! Command-line arguments.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand};
use isobit::{DType, Numerics};
use isobit_conformance::generate::{CASES, QUICK_CASES, QUICK_VARIANT_CASES, VARIANT_CASES};
use std::path::PathBuf;

/// Checks every device against the CPU reference, bit for bit, and the reference against the true
/// values.
#[derive(Debug, Parser)]
#[command(name = "isobit-conformance", bin_name = "cargo xtask conformance", version)]
#[command(
    after_help = "Exit status: 0 if everything passed; 1 if something failed, or if --against found a difference; 2 if it could not run (bad arguments, absent device)."
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Devices to run, such as cpu,cuda:0,sim-rocm:gfx90a. Default: the CPU, every GPU found, and
    /// simulated GPUs for each vendor without a real one.
    #[arg(long, value_delimiter = ',', value_name = "ID,...")]
    pub devices: Vec<String>,

    /// Operations to run, by name, and groups of runtime tests, such as device.streams; `device.`
    /// selects all groups. Default: all.
    #[arg(long, value_delimiter = ',', value_name = "OP,...")]
    pub ops: Vec<String>,

    /// Dtypes to run: selects the cells whose value dtypes are all in this list. To select one
    /// cell, join its dtypes with a dash, as in f32-f16.
    #[arg(long, value_delimiter = ',', value_name = "DTYPE,...")]
    pub dtypes: Vec<String>,

    /// The numerics of operations that a vendor library can also compute: portable kernels or the
    /// vendor library. Default: both.
    #[arg(long, value_delimiter = ',', value_parser = numerics(), value_name = "WHO,...")]
    pub numerics: Vec<Numerics>,

    /// Cases per cell (default: 64).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub cases: Option<u64>,

    /// The seed; each case depends only on the seed, the operation, the dtypes and the index.
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,

    /// Run only the case with this index in each selected group; a failure names the index.
    #[arg(long, value_name = "INDEX", requires = "ops", conflicts_with_all = ["cases", "quick", "replay", "compare"])]
    pub case: Option<u64>,

    /// Run 24 cases per cell and the shortest checks of the reference.
    #[arg(long, conflicts_with_all = ["exhaustive", "cases"])]
    pub quick: bool,

    /// Also test unary operations on every f8, f16 and bf16 input and, on real devices, on every
    /// f32 input.
    #[arg(long)]
    pub exhaustive: bool,

    /// Run the set for real cards instead: operations on tensors beyond 4 GiB, 2^31 and 2^32
    /// elements. What does not fit the card's memory is reported as unsupported.
    #[arg(long, conflicts_with_all = ["cases", "quick", "exhaustive", "case", "replay", "compare", "against", "matrix", "submit"])]
    pub huge: bool,

    /// Make everything in that set so many times smaller, to test the set itself.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "huge", hide = true)]
    pub huge_scale: u64,

    /// Folder for report.json, report.html, junit.xml, digests.json and the saved failures.
    #[arg(long, value_name = "DIR", default_value = "target/conformance")]
    pub out: PathBuf,

    /// Run only the cases saved in a file, as each failure writes one.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cases", "quick", "exhaustive"])]
    pub replay: Option<PathBuf>,

    /// Join earlier runs, also from other machines, with each other and with the given devices, by
    /// the digests of their results. Each RUN is the folder of a run or its digests.json.
    #[arg(long, value_name = "RUN", num_args = 1.., conflicts_with = "replay")]
    pub compare: Vec<PathBuf>,

    /// Compare the digests of this run with those of an earlier run of another build and the same
    /// seed: cells added and lost, cases and results changed. With NEW, nothing runs: NEW is
    /// compared with OLD. Each is the folder of a run or its digests.json. The filters apply. The
    /// exit status is 1 if a result changed without a new numerics version, a case changed, or a
    /// cell was lost.
    #[arg(long, value_names = ["OLD", "NEW"], num_args = 1..=2, conflicts_with_all = ["replay", "compare", "matrix", "case"])]
    pub against: Vec<PathBuf>,

    /// Write docs/support.md, which lists what each device supports, and run nothing. Default
    /// devices: the CPU and a simulated GPU of each vendor.
    #[arg(long, conflicts_with_all = ["replay", "compare"])]
    pub matrix: bool,

    /// Only check that docs/support.md is what --matrix would write.
    #[arg(long, requires = "matrix")]
    pub check: bool,

    /// Also pack the report, the digests and the output of doctor into one archive for the issue
    /// template "It ran on my card", without names and paths of this machine. `cargo xtask` does
    /// it. Needs a real GPU.
    #[arg(long, conflicts_with_all = ["replay", "compare", "against", "matrix", "ops", "dtypes", "case"])]
    pub submit: bool,

    /// Show the table of every pair of devices and everything that did not pass; by default the
    /// output fits one screen.
    #[arg(long, short)]
    pub verbose: bool,

    /// End the run at the first failure, and write the report. The failing case is not shrunk, and
    /// if a worker died, the case that killed it is not looked for.
    #[arg(long, conflicts_with_all = ["against", "compare", "matrix", "submit"])]
    pub fail_fast: bool,

    /// Seconds after which a case in a worker process counts as hung.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs the cells read from standard input on one device.
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Stress-test one or two devices with many threads: the threads run mixed operations, check
    /// each result against the CPU, and check that all memory is returned.
    Stress(StressArgs),
    /// Measures matrix products: their accuracy, large ones against the CPU, and what block
    /// products cost the CPU.
    #[command(subcommand)]
    Products(ProductsCommand),
}

#[derive(Debug, Subcommand)]
pub enum ProductsCommand {
    /// Prints the tables of docs/numerics/products.md: the errors of portable, block and vendor
    /// products against the exact value, in Markdown. The exit status is 1 if an error exceeds its
    /// bound.
    Accuracy(AccuracyArgs),
    /// Compares large products on a device with the CPU, bit for bit: all of each product that the
    /// CPU can compute in the time, and otherwise rows and columns of it that are drawn.
    Large(LargeArgs),
    /// Times the CPU's block products against its chains, and prints the table in Markdown.
    Cost(CostArgs),
}

#[derive(Debug, ClapArgs)]
pub struct AccuracyArgs {
    /// The device, such as cpu, cuda:0 or sim-rocm:gfx90a.
    #[arg(long, default_value = "cpu")]
    pub device: String,

    /// The number of products of each dtype and distribution.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub products: u16,

    /// The dtypes.
    #[arg(long, value_delimiter = ',', default_value = "f8e4m3,bf16,f16,f32", value_name = "DTYPE,...")]
    pub dtypes: Vec<DType>,

    /// Also write the tables to a page, such as docs/numerics/products.md, between its markers.
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,

    /// This process already has the simulated device's libraries.
    #[arg(long, hide = true)]
    pub inside: bool,
}

#[derive(Debug, ClapArgs)]
pub struct LargeArgs {
    /// The device, such as cuda:0 or sim-rocm:gfx90a.
    #[arg(long)]
    pub device: String,

    /// The number of products.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub products: u64,

    /// The largest side.
    #[arg(long, default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1..=32_768))]
    pub max_side: u32,

    /// The dtypes, in turns.
    #[arg(long, value_delimiter = ',', default_value = "f8e4m3,bf16,f16,f32", value_name = "DTYPE,...")]
    pub dtypes: Vec<DType>,

    /// The numerics of the products, portable or block.
    #[arg(long, default_value = "block", value_parser = portable())]
    pub numerics: Numerics,

    /// The seed; a product depends on the seed, its index, the dtypes and the largest side.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,

    /// Only the product with this index; a failure names the index.
    #[arg(long, value_name = "INDEX", conflicts_with = "products")]
    pub product: Option<u64>,

    /// The seconds for everything. The less time, the fewer results of each product are compared.
    /// The exit status is 1 if products are left when the time is up.
    #[arg(long, default_value_t = 480, value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: u64,

    /// This process already has the simulated device's libraries.
    #[arg(long, hide = true)]
    pub inside: bool,
}

#[derive(Debug, ClapArgs)]
pub struct CostArgs {
    /// The number of threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: u16,

    /// Also write the table to a page, such as docs/numerics/products.md, between its markers.
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct StressArgs {
    /// The device, such as cuda:0 or sim-rocm:gfx90a.
    #[arg(long)]
    pub device: String,

    /// A second device of the same driver, which half of the threads use; the same name opens
    /// another instance of the same device.
    #[arg(long)]
    pub second: Option<String>,

    /// The number of threads.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: u16,

    /// The number of operations of all threads together.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub ops: u64,

    /// The seed from which the operations are drawn.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,

    /// This process already has the simulated device's libraries.
    #[arg(long, hide = true)]
    pub inside: bool,
}

#[derive(Debug, ClapArgs)]
pub struct WorkerArgs {
    /// The device.
    #[arg(long)]
    pub device: String,
}

/// A parser that accepts the names of all numerics.
fn numerics() -> impl TypedValueParser<Value = Numerics> {
    PossibleValuesParser::new(Numerics::ALL.iter().map(|n| n.name())).try_map(|name| name.parse::<Numerics>())
}

/// A parser that accepts the numerics that give the same bits on every device.
fn portable() -> impl TypedValueParser<Value = Numerics> {
    PossibleValuesParser::new([Numerics::Portable, Numerics::Block].map(Numerics::name))
        .try_map(|name| name.parse::<Numerics>())
}

impl Args {
    /// Whether everything runs with the default number of cases at least, so that the cases take
    /// every path of launch code.
    pub fn is_complete(&self) -> bool {
        let filtered = [&self.ops, &self.dtypes].iter().any(|names| !names.is_empty()) || !self.numerics.is_empty();
        !filtered && self.replay.is_none() && self.case.is_none() && self.case_count() >= CASES
    }

    /// Returns the number of cases per cell; 0 for sets of huge tensors, whose sizes are given.
    pub fn case_count(&self) -> u64 {
        if self.huge {
            return 0;
        }
        self.cases.unwrap_or(if self.quick { QUICK_CASES } else { CASES })
    }

    /// Returns the number of cases of a variant of another cell, which are fewer unless the number
    /// was given.
    pub fn variant_count(&self) -> u64 {
        self.cases.unwrap_or(if self.quick { QUICK_VARIANT_CASES } else { VARIANT_CASES })
    }
}
