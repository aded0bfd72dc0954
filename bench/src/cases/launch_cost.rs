//! Host time of a launch without waiting, and of an allocation.

use super::Rows;
use crate::measure::Bench;
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, DType, Layout, Result, Src, UnaryOp};
use isobit_kernels::{Family, GpuRuntime, GpuStorage, Key, LaunchConfig, args};

/// Number of calls between two waits. Their launches fit into the device's queue.
const CALLS: u32 = 500;

pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    let names = ["host_launch", "host_add_into", "host_add", "host_exp_strided", "host_alloc"];
    if !names.iter().any(|name| rows.wants(name, DType::F32)) {
        return Ok(());
    }
    let bench = rows.bench;
    let l = &Layout::contiguous(1024);
    let (a, b) = (bench.random(1024, DType::F32)?, bench.random(1024, DType::F32)?);
    let dst = &mut bench.output(1024, DType::F32)?;
    let square = &Layout::contiguous([32, 32]).transpose(0, 1)?;
    let launch = driver_launch(bench, &a, &b, dst)?;
    rows.add_host("host_launch", "1024", launch, None);
    let add_into = bench.host_time(CALLS, || {
        GpuStorage::binary_into(BinaryOp::Add, Src::Storage(&a, l), Src::Storage(&b, l), dst, l)
    })?;
    rows.add_host("host_add_into", "1024", add_into, Some(launch));
    let add = bench.host_time(CALLS, || a.binary(l, &b, l, BinaryOp::Add).map(drop))?;
    rows.add_host("host_add", "1024", add, Some(launch));
    let exp = bench.host_time(CALLS, || a.unary(square, UnaryOp::Exp).map(drop))?;
    rows.add_host("host_exp_strided", "32x32^T", exp, Some(launch));
    // SAFETY: nothing is read from the storage.
    let allocate = || unsafe { bench.device.alloc_uninit(&256.into(), DType::F32) }.map(drop);
    rows.add_host("host_alloc", "1 KiB", bench.host_time(CALLS, allocate)?, None);
    Ok(())
}

/// Measures the driver's launch call for the contiguous f32 add, with prepared arguments. This is
/// the lower bound for any host code.
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
    // SAFETY: the arguments match the parameters of the contiguous binary kernels, and all
    // buffers have 1,024 elements.
    bench.host_time(CALLS, || unsafe { runtime.launch(stream, function, &config, args![dst, a, b, n]) })
}
