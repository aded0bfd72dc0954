//! The times of a process that has just started: to its first result, including the creation of the
//! driver's context, and of the first use of 100 operations.

use super::Rows;
use clap::ValueEnum;
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, DType, Error, ErrorKind, Layout, Op, Result, Src, UnaryOp};
use isobit_kernels::{GpuDevice, GpuRuntime, GpuStorage};
use std::process::Command;
use std::time::Instant;

/// What a new process measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColdStart {
    /// The time to the open device, and to the result of the first add.
    First,
    /// The time of 100 operations, each used for the first time.
    Each,
    /// The same, with all of them loaded together before the first.
    Preloaded,
}

/// Number of operations that are used for the first time.
const OPS: usize = 100;
const DTYPES: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// Starts this program again for each measurement and reads what [`measure`] prints.
pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    let wants = |names: &[&str]| names.iter().any(|name| rows.wants(name, DType::F32));
    if wants(&["host_cold_start", "host_cold_open"]) {
        let [start, open] = child(rows, ColdStart::First)?;
        rows.add_host("host_cold_start", "to the first add's result", start * 1e3, None);
        rows.add_host("host_cold_open", "to the open device", open * 1e3, None);
    }
    for (name, what) in [("host_cold_each", ColdStart::Each), ("host_cold_preloaded", ColdStart::Preloaded)] {
        if rows.wants(name, DType::F32) {
            let [time] = child(rows, what)?;
            rows.add_host(name, "first use of 100 operations", time * 1e3, None);
        }
    }
    Ok(())
}

fn child<R: GpuRuntime, const N: usize>(rows: &Rows<'_, R>, what: ColdStart) -> Result<[f64; N]> {
    let failed = |why: String| Error::new(ErrorKind::Other, format!("cannot measure a cold start: {why}"));
    let program = std::env::current_exe().map_err(|e| failed(e.to_string()))?;
    let what = what.to_possible_value().expect("every value has a name");
    let mut child = Command::new(program);
    // NVIDIA's driver keeps what it compiled: without this, the second run would not be cold.
    child.args(["--device", &rows.args.device, "--cold-start", what.get_name()]).env("CUDA_CACHE_DISABLE", "1");
    let child = child.output().map_err(|e| failed(e.to_string()))?;
    let text = String::from_utf8_lossy(&child.stdout);
    let times: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    times.try_into().map_err(|_| {
        failed(format!("the program ended with {}: {}", child.status, String::from_utf8_lossy(&child.stderr)))
    })
}

/// Prints the milliseconds that `what` names, since `started`.
pub fn measure<R: GpuRuntime>(ordinal: usize, started: Instant, what: ColdStart) -> Result<()> {
    let milliseconds = |since: Instant| since.elapsed().as_secs_f64() * 1e3;
    let device = GpuDevice::<R>::new(ordinal)?;
    let opened = milliseconds(started);
    let values: Vec<f32> = (0..1024).map(|i| i as f32).collect();
    let (l, a) = (Layout::contiguous(values.len()), device.storage_from_slice(&values)?);
    if what == ColdStart::First {
        let sum = a.binary(&l, &a, &l, BinaryOp::Add)?.to_vec::<f32>()?;
        assert!(sum.iter().zip(&values).all(|(s, v)| *s == 2.0 * v));
        println!("{:.3} {opened:.3}", milliseconds(started));
        return Ok(());
    }
    let ops = first_used(&device);
    let storages = DTYPES.into_iter().map(|dtype| a.to_dtype(&l, dtype)).collect::<Result<Vec<_>>>()?;
    device.synchronize()?;
    let start = Instant::now();
    if what == ColdStart::Preloaded {
        let dtypes: Vec<Vec<DType>> = ops.iter().map(|(op, dtype)| vec![*dtype; op.inputs() + 1]).collect();
        let calls: Vec<_> = ops.iter().zip(&dtypes).map(|((op, _), dtypes)| (op.clone(), &dtypes[..])).collect();
        device.preload(&calls)?;
    }
    for (op, dtype) in &ops {
        let src = storages.iter().find(|storage| storage.dtype() == *dtype).expect("one of each dtype");
        let mut dst = device.zeros(&values.len().into(), *dtype)?;
        GpuStorage::apply_into(op, &vec![Src::Storage(src, &l); op.inputs()], &mut dst, &l)?;
        device.synchronize()?;
    }
    println!("{:.3}", milliseconds(start));
    Ok(())
}

/// Returns the operations with their dtypes: functions of one and two arguments.
fn first_used<R: GpuRuntime>(device: &GpuDevice<R>) -> Vec<(Op, DType)> {
    let unary = UnaryOp::ALL.iter().map(|&op| Op::Unary(op));
    let ops: Vec<Op> = unary.chain(BinaryOp::ALL.iter().map(|&op| Op::Binary(op))).collect();
    let all = DTYPES.into_iter().flat_map(|dtype| ops.iter().map(move |op| (op.clone(), dtype)));
    let supported = |(op, dtype): &(Op, DType)| device.supports(op, &vec![*dtype; op.inputs() + 1]).is_supported();
    let used: Vec<_> = all.filter(supported).take(OPS).collect();
    assert_eq!(used.len(), OPS, "every operation has kernels for these dtypes");
    used
}
