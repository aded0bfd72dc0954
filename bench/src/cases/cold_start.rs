//! The time from the start of a process to its first result, including the creation of the driver's
//! context.

use super::Rows;
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, DType, Error, ErrorKind, Layout, Result};
use isobit_kernels::{GpuDevice, GpuRuntime};
use std::process::Command;
use std::time::Instant;

/// Starts this program again and reads what [`measure`] prints.
pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    if !["host_cold_start", "host_cold_open"].iter().any(|name| rows.wants(name, DType::F32)) {
        return Ok(());
    }
    let failed = |why: String| Error::new(ErrorKind::Other, format!("cannot measure a cold start: {why}"));
    let program = std::env::current_exe().map_err(|e| failed(e.to_string()))?;
    let child = Command::new(program).args(["--device", &rows.args.device, "--cold-start"]).output();
    let child = child.map_err(|e| failed(e.to_string()))?;
    let text = String::from_utf8_lossy(&child.stdout);
    let times: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let &[start, open] = &times[..] else {
        return Err(failed(format!(
            "the program ended with {}: {}",
            child.status,
            String::from_utf8_lossy(&child.stderr)
        )));
    };
    rows.add_host("host_cold_start", "to the first add's result", start * 1e3, None);
    rows.add_host("host_cold_open", "to the open device", open * 1e3, None);
    Ok(())
}

/// Prints the milliseconds from `started` to the result of the first add, and to the open device.
pub fn measure<R: GpuRuntime>(ordinal: usize, started: Instant) -> Result<()> {
    let device = GpuDevice::<R>::new(ordinal)?;
    let opened = started.elapsed();
    let values: Vec<f32> = (0..1024).map(|i| i as f32).collect();
    let (l, a) = (Layout::contiguous(values.len()), device.storage_from_slice(&values)?);
    let sum = a.binary(&l, &a, &l, BinaryOp::Add)?.to_vec::<f32>()?;
    assert!(sum.iter().zip(&values).all(|(s, v)| *s == 2.0 * v));
    println!("{:.3} {:.3}", started.elapsed().as_secs_f64() * 1e3, opened.as_secs_f64() * 1e3);
    Ok(())
}
