//! What the host pays: a launch without waiting, and a process from its start to its first result.

use crate::Args;
use crate::graph_cost::{self, GraphCost};
use crate::measure::Bench;
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, DType, Layout, Result, Src, UnaryOp};
use isobit_kernels::{Family, GpuDevice, GpuRuntime, GpuStorage, Key, LaunchConfig, args};
use serde::Serialize;
use std::time::Instant;

/// Host times in microseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Host {
    /// The driver's own call for the kernel of the next row: what no host code can go below.
    pub driver_launch_us: f64,
    /// An add of 1,024 elements into a given output.
    pub add_into_us: f64,
    /// The same, with a new output.
    pub add_us: f64,
    /// An exp of 1,024 elements of a transposed layout, with a new output.
    pub exp_strided_us: f64,
    /// An allocation of 1 KiB and its release.
    pub alloc_us: f64,
    /// From the start of a process to the first add's result on the host, in milliseconds; that of the driver's own
    /// context included.
    pub cold_start_ms: Option<f64>,
    /// Of that, opening the device.
    pub cold_open_ms: Option<f64>,
    /// A step of many operations as a graph.
    pub graph: GraphCost,
}

pub fn run<R: GpuRuntime>(bench: &Bench<R>, args: &Args) -> Result<Host> {
    let l = &Layout::contiguous(1024);
    let (a, b) = (bench.random(1024, DType::F32)?, bench.random(1024, DType::F32)?);
    let dst = &mut bench.output(1024, DType::F32)?;
    let square = &Layout::contiguous([32, 32]).transpose(0, 1)?;
    let driver_launch_us = driver_launch(bench, &a, &b, dst)?;
    let add_into_us = host_time(bench, CALLS, || {
        GpuStorage::binary_into(BinaryOp::Add, Src::Storage(&a, l), Src::Storage(&b, l), dst, l)
    })?;
    let add_us = host_time(bench, CALLS, || a.binary(l, &b, l, BinaryOp::Add).map(drop))?;
    let exp_strided_us = host_time(bench, CALLS, || a.unary(square, UnaryOp::Exp).map(drop))?;
    // SAFETY: nothing is read from the storage.
    let alloc_us = host_time(bench, CALLS, || unsafe { bench.device.alloc_uninit(&256.into(), DType::F32) }.map(drop))?;
    let cold = cold_start_of_child(args);
    Ok(Host {
        driver_launch_us,
        add_into_us,
        add_us,
        exp_strided_us,
        alloc_us,
        cold_start_ms: cold.map(|c| c.0),
        cold_open_ms: cold.map(|c| c.1),
        graph: graph_cost::run(bench)?,
    })
}

/// The contiguous add of f32, launched through the runtime with arguments made beforehand.
fn driver_launch<R: GpuRuntime>(
    bench: &Bench<R>,
    a: &GpuStorage<R>,
    b: &GpuStorage<R>,
    dst: &GpuStorage<R>,
) -> Result<f64> {
    let key = Key::new(Family::Binary, BinaryOp::Add.index(), &[DType::F32], Key::CONTIGUOUS);
    let (function, _) = bench.device.function(key)?;
    let (runtime, stream) = (bench.device.runtime(), &bench.device.stream());
    let (dst, n, a, b) = (dst.ptr(), dst.len() as u64, a.ptr(), b.ptr());
    let config = LaunchConfig::linear(1, 256);
    // SAFETY: the parameters are those of the contiguous kernels of two operands, all of 1,024 elements.
    host_time(bench, CALLS, || unsafe { runtime.launch(stream, function, &config, args![dst, a, b, n]) })
}

/// Calls between two waits: what they launch fits the device's queue.
const CALLS: u32 = 500;

/// Median microseconds of host time for one of so many calls, between which the device is drained.
pub fn host_time<R: GpuRuntime>(bench: &Bench<R>, calls: u32, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..21 {
        bench.device.synchronize()?;
        let start = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(calls));
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn cold_start_of_child(args: &Args) -> Option<(f64, f64)> {
    let output = std::process::Command::new(std::env::current_exe().ok()?)
        .args(["--device", &args.device, "--cold-start"])
        .output()
        .ok()
        .filter(|o| o.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut numbers = text.split_whitespace().filter_map(|w| w.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// Prints the milliseconds from `started` to the first add's result, and those of opening the device.
pub fn cold_start<R: GpuRuntime>(ordinal: usize, started: Instant) -> Result<()> {
    let device = GpuDevice::<R>::new(ordinal)?;
    let opened = started.elapsed();
    let values: Vec<f32> = (0..1024).map(|i| i as f32).collect();
    let (l, a) = (Layout::contiguous(values.len()), device.storage_from_slice(&values)?);
    let sum = a.binary(&l, &a, &l, BinaryOp::Add)?.to_vec::<f32>()?;
    assert!(sum.iter().zip(&values).all(|(s, v)| *s == 2.0 * v));
    println!("{:.3} {:.3}", started.elapsed().as_secs_f64() * 1e3, opened.as_secs_f64() * 1e3);
    Ok(())
}
