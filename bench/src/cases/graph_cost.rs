//! Host time of a step of many small operations, submitted one by one and replayed as a graph.

use super::Rows;
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, DType, Layout, Result, Src};
use isobit_kernels::{GpuRuntime, GpuStorage};
use std::time::Instant;

/// Number of operations in the step; each adds 1,024 elements into a given output.
const OPS: usize = 100;
const WORK: &str = "1024, one of 100";
/// Number of steps between two waits. Their launches fit into the device's queue, so the host never
/// waits for it.
const STEPS: u32 = 8;

/// Measures the host time per operation: eager; capturing the step and preparing the graph; in a
/// replay; and capturing it again without changes.
pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    let names = ["host_graph_eager", "host_graph_capture", "host_graph_replay", "host_graph_update"];
    if !names.iter().any(|name| rows.wants(name, DType::F32)) {
        return Ok(());
    }
    let bench = rows.bench;
    let (a, b) = (bench.random(1024, DType::F32)?, bench.random(1024, DType::F32)?);
    let mut dst = bench.output(1024, DType::F32)?;
    let mut step = move || {
        let l = &Layout::contiguous(1024);
        let add = |dst: &mut GpuStorage<R>| {
            GpuStorage::binary_into(BinaryOp::Add, Src::Storage(&a, l), Src::Storage(&b, l), dst, l)
        };
        (0..OPS).try_for_each(|_| add(&mut dst))
    };
    let eager = bench.host_time(STEPS, &mut step)?;
    let start = Instant::now();
    let mut graph = bench.device.capture(step)?;
    let capture = start.elapsed().as_secs_f64() * 1e6;
    let replay = bench.host_time(STEPS, || graph.replay())?;
    let update = bench.host_time(1, || graph.update())?;
    for (name, us) in names.into_iter().zip([eager, capture, replay, update]) {
        rows.add_host(name, WORK, us / OPS as f64, None);
    }
    Ok(())
}
