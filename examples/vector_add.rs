//! Adds two vectors on any device: `cargo run --example vector_add --features cuda,rocm -- rocm:0`,
//! or without an argument on the first GPU, else on the CPU.

use isobit::{AnyDevice, BackendDevice, BackendStorage, BinaryOp, Layout, Result};

fn main() -> Result<()> {
    let device = match std::env::args().nth(1) {
        Some(name) => AnyDevice::open(&name)?,
        None => match isobit::available_devices().into_iter().find(|d| d.driver != "cpu") {
            Some(gpu) => AnyDevice::open(&gpu.to_string())?,
            None => AnyDevice::cpu(),
        },
    };
    let info = device.info()?;
    println!("{}: {} ({})", device.location(), info.name, info.arch);

    let n = 1 << 20;
    let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..n).map(|i| 0.5 * i as f32).collect();
    let (a, b) = (device.storage_from_slice(&a)?, device.storage_from_slice(&b)?);

    let layout = Layout::contiguous(n);
    let sum = a.binary(&layout, &b, &layout, BinaryOp::Add)?.to_vec::<f32>()?;

    println!("{:?} ... {:?}", &sum[..4], &sum[n - 4..]);
    assert!(sum.iter().enumerate().all(|(i, &x)| x == 1.5 * i as f32));
    Ok(())
}
