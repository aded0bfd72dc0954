//! What the host pays for a step of many small operations, given to the device one by one and replayed as a graph.

use crate::launch_cost::host_time;
use crate::measure::Bench;
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, DType, Layout, Result, Src};
use isobit_kernels::{GpuRuntime, GpuStorage};
use serde::Serialize;
use std::time::Instant;

/// Operations of the step.
const OPS: usize = 100;
/// Steps between two waits: what they launch fits the device's queue, so that the host never waits for it.
const STEPS: u32 = 8;

/// Host times in microseconds.
#[derive(Debug, Clone, Serialize)]
pub struct GraphCost {
    /// An add of 1,024 elements into a given output, as one of a step of 100.
    pub eager_us_per_op: f64,
    /// The same in a graph of the step that is replayed.
    pub replay_us_per_op: f64,
    /// Capturing the step and making the graph ready, by operation.
    pub capture_us_per_op: f64,
    /// Capturing it again with nothing changed.
    pub update_us_per_op: f64,
}

impl GraphCost {
    /// Prints them.
    pub fn show(&self) {
        println!(
            "host time of an add of {OPS}: eager {:.2} us, in a replayed graph {:.3} us; to capture {:.2} us, to update {:.2} us",
            self.eager_us_per_op, self.replay_us_per_op, self.capture_us_per_op, self.update_us_per_op
        );
    }
}

pub fn run<R: GpuRuntime>(bench: &Bench<R>) -> Result<GraphCost> {
    let (a, b) = (bench.random(1024, DType::F32)?, bench.random(1024, DType::F32)?);
    let mut dst = bench.output(1024, DType::F32)?;
    let mut step = move || {
        let l = &Layout::contiguous(1024);
        let add = |dst: &mut GpuStorage<R>| {
            GpuStorage::binary_into(BinaryOp::Add, Src::Storage(&a, l), Src::Storage(&b, l), dst, l)
        };
        (0..OPS).try_for_each(|_| add(&mut dst))
    };
    let by_op = |us: f64| us / OPS as f64;
    let eager_us_per_op = by_op(host_time(bench, STEPS, &mut step)?);
    let start = Instant::now();
    let mut graph = bench.device.capture(step)?;
    let capture_us_per_op = by_op(start.elapsed().as_secs_f64() * 1e6);
    let replay_us_per_op = by_op(host_time(bench, STEPS, || graph.replay())?);
    let update_us_per_op = by_op(host_time(bench, 1, || graph.update())?);
    Ok(GraphCost { eager_us_per_op, replay_us_per_op, capture_us_per_op, update_us_per_op })
}
