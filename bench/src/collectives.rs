//! Measures collectives over several devices: the time of each call, and the bandwidth of the
//! connection between devices that it amounts to.
//!
//! Bandwidths are those of NVIDIA's nccl-tests, so that they can be compared: bytes of a rank's
//! larger operand per second ("algorithm"), times the share of it that has to travel ("bus").

use crate::row::median;
use isobit_hal::collective::{Call, Collective};
use isobit_hal::{BackendDevice, BackendStorage, Communicator, DType, Error, ErrorKind, Layout, ReduceOp, Result, Src};
use isobit_kernels::{GpuDevice, GpuRuntime, GpuStorage};
use std::process::ExitCode;
use std::time::Instant;

const TIMINGS: usize = 7;
/// The sizes of a rank's larger operand in bytes, and the calls in a timing.
const SIZES: [(usize, usize); 5] = [(16 << 10, 200), (1 << 20, 100), (16 << 20, 50), (256 << 20, 10), (1 << 30, 5)];

/// The calls. Means of ones stay ones, however often they are taken.
const CALLS: [Collective; 5] = [
    Collective::AllReduce(ReduceOp::Mean),
    Collective::ReduceScatter(ReduceOp::Mean),
    Collective::AllGather,
    Collective::AllToAll,
    Collective::Broadcast { root: 0 },
];

/// The share of a rank's larger operand that it has to send.
fn share(call: Collective, ranks: usize) -> f64 {
    let others = (ranks - 1) as f64 / ranks as f64;
    match call {
        Collective::AllReduce(_) => 2.0 * others,
        Collective::Broadcast { .. } => 1.0,
        _ => others,
    }
}

/// The operands of a rank: as many elements as the larger operand has, and as its part has.
struct Operands<R: GpuRuntime> {
    whole: GpuStorage<R>,
    part: GpuStorage<R>,
    all: Layout,
    one: Layout,
}

impl<R: GpuRuntime> Operands<R> {
    fn new(device: &GpuDevice<R>, bytes: usize, ranks: usize) -> Result<Self> {
        let part = bytes / 4 / ranks;
        let ones = |n: usize| device.zeros(&n.into(), DType::F32)?.affine(&Layout::contiguous(n), 1.0, 1.0);
        let (all, one) = (Layout::contiguous(part * ranks), Layout::contiguous(part));
        Ok(Self { whole: ones(part * ranks)?, part: ones(part)?, all, one })
    }

    fn call(&mut self, collective: Collective) -> Call<'_, GpuStorage<R>> {
        let Self { whole, part, all, one } = self;
        match collective {
            Collective::ReduceScatter(op) => Call::reduce_scatter(Src::Storage(whole, all), part, one, op),
            Collective::AllGather => Call::all_gather(Src::Storage(part, one), whole, all),
            Collective::AllToAll => Call::all_to_all(Src::InPlace, whole, all),
            Collective::Broadcast { root } => Call::broadcast(whole, all, root),
            _ => Call::all_reduce(Src::InPlace, whole, all, ReduceOp::Mean),
        }
    }
}

/// Measures collectives over `ranks` ranks: on the given device and those after it, and on the
/// given one again where there are not so many.
pub fn run<R: GpuRuntime>(ordinal: usize, ranks: usize) -> Result<ExitCode> {
    if ranks < 2 {
        let message = format!("collectives over {ranks} ranks move nothing: measure at least 2");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    let first = GpuDevice::<R>::new(ordinal)?;
    let next = |rank: usize| GpuDevice::new(ordinal + rank).or_else(|_| GpuDevice::new(ordinal));
    let devices = std::iter::once(Ok(first)).chain((1..ranks).map(next)).collect::<Result<Vec<GpuDevice<R>>>>()?;
    let names: Vec<_> = devices.iter().map(|d| d.location().to_string()).collect();
    println!("{} ranks on {}; f32, bandwidths in GB/s", ranks, names.join(", "));
    println!("{:15} {:>10} {:>11} {:>10} {:>8}", "call", "bytes", "us", "algorithm", "bus");
    for (bytes, calls) in SIZES {
        for collective in CALLS {
            let us = time(&devices, collective, bytes, calls)?;
            let (name, rate) = (collective.name(), bytes as f64 / us / 1e3);
            println!("{name:15} {bytes:>10} {us:>11.1} {rate:>10.1} {:>8.1}", rate * share(collective, ranks));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the median microseconds of a call, until its work is done on all ranks.
fn time<R: GpuRuntime>(devices: &[GpuDevice<R>], collective: Collective, bytes: usize, calls: usize) -> Result<f64> {
    let measure = |rank: Communicator<GpuDevice<R>>| -> Result<Vec<f64>> {
        let mut operands = Operands::new(rank.device(), bytes, rank.size())?;
        let mut times = Vec::new();
        for timing in 0..=TIMINGS {
            rank.barrier()?;
            let since = Instant::now();
            for _ in 0..calls {
                Communicator::group([(&rank, operands.call(collective))])?;
            }
            rank.barrier()?;
            // The first ones load the kernels.
            if timing > 0 {
                times.push(since.elapsed().as_secs_f64() * 1e6 / calls as f64);
            }
        }
        Ok(times)
    };
    let ranks = Communicator::from_devices(devices)?;
    let all = std::thread::scope(|scope| {
        let threads: Vec<_> = ranks.into_iter().map(|rank| scope.spawn(|| measure(rank))).collect();
        let joined = threads.into_iter().map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
        joined.collect::<Result<Vec<_>>>()
    })?;
    Ok(all.iter().map(|times| median(times)).fold(0.0, f64::max))
}
