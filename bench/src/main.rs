//! Measures every operation family on a GPU: time, bytes or flops, the floor from a device copy and a vendor matrix product
//! of the same run, and the ratio of the two. Writes a table and JSON.

mod cases;
mod graph_cost;
mod launch_cost;
mod measure;
mod report;
mod simgpu;

use clap::Parser;
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::GpuRuntime;
use std::path::PathBuf;
use std::process::ExitCode;

/// Times of every operation family against the floor: bytes over copy bandwidth, flops over the vendor's matrix rate.
#[derive(Parser, Debug)]
#[command(name = "isobit-bench", bin_name = "cargo xtask bench")]
struct Args {
    /// The device, such as cuda:0.
    #[arg(long, default_value = "cuda:0")]
    device: String,
    /// Only rows whose name contains one of these, separated by commas.
    #[arg(long, value_delimiter = ',')]
    ops: Vec<String>,
    /// Only these dtypes, separated by commas.
    #[arg(long, value_delimiter = ',')]
    dtypes: Vec<String>,
    /// Elements of the elementwise rows, in Mi.
    #[arg(long, default_value_t = 64)]
    size: usize,
    /// Launches a timing; the row is the median of five timings.
    #[arg(long, default_value_t = 20)]
    launches: usize,
    /// Where bench.json is written.
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
    /// Times of another library to show beside, as peers/pytorch.py writes them.
    #[arg(long)]
    peers: Option<PathBuf>,
    /// Measures only the time from the start of the process to the first result, and ends.
    #[arg(long)]
    cold_start: bool,
    /// Measures only what the host pays for graphs, and ends.
    #[arg(long)]
    graphs: bool,
    /// Measures only how fast the simulated GPU is that stands in for the device's, and ends.
    #[arg(long)]
    simgpu: bool,
}

fn main() -> ExitCode {
    let started = std::time::Instant::now();
    let args = Args::parse();
    match run(&args, started) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            2.into()
        }
    }
}

fn run(args: &Args, started: std::time::Instant) -> Result<()> {
    let (driver, ordinal) = args.device.split_once(':').unwrap_or((&args.device, "0"));
    let ordinal: usize = ordinal.parse().map_err(|e| {
        Error::new(ErrorKind::InvalidArgument, format!("`{}` is no device, as in cuda:0", args.device)).with_source(e)
    })?;
    match driver {
        "cuda" if args.simgpu => simgpu::run::<isobit_cuda::CudaRuntime>("libcuda.so"),
        "rocm" if args.simgpu => simgpu::run::<isobit_rocm::RocmRuntime>("libamdhip64.so"),
        "cuda" => run_on::<isobit_cuda::CudaRuntime>(args, ordinal, started),
        "rocm" => run_on::<isobit_rocm::RocmRuntime>(args, ordinal, started),
        _ => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("this build measures no `{driver}` device (ordinal {ordinal}): GPUs alone, such as cuda:0"),
        )),
    }
}

fn run_on<R: GpuRuntime>(args: &Args, ordinal: usize, started: std::time::Instant) -> Result<()> {
    if args.cold_start {
        return launch_cost::cold_start::<R>(ordinal, started);
    }
    let bench = measure::Bench::<R>::new(ordinal, args.launches)?;
    if args.graphs {
        graph_cost::run(&bench)?.show();
        return Ok(());
    }
    let mut rows = cases::run(&bench, args)?;
    let host = launch_cost::run(&bench, args)?;
    let peers = args.peers.as_deref().map(report::Peers::read).transpose()?;
    peers.iter().for_each(|p| p.fill(&mut rows));
    rows.iter_mut().for_each(|row| row.round());
    report::write(&bench, &rows, peers.as_ref(), &host, &args.out)
}
