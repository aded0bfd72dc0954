//! Runs one kernel source on the GPUs of every vendor: `cargo run --example custom_kernel
//! --features cuda,rocm -- rocm:0`, or without an argument on the first GPU. The kernel is compiled
//! on this machine, by NVRTC or HIPRTC, and cached on disk. It gives the same bits as the same
//! computation with Isobit's operations, on this device and on the CPU.

use isobit::{
    AnyDevice, AnyStorage, BackendDevice, BackendStorage, BinaryOp, DType, Error, ErrorKind, KernelSource,
    LaunchConfig, Layout, Result, UnaryOp,
};

/// `y = x * sigmoid(x) + bias`, with the bias added to each row: two operations and a broadcast in
/// one pass over memory. The operations use the same `isobit::` functions, so the bits are the
/// same.
const SOURCE: &str = r#"
#include <isobit.cuh>

ISOBIT_KERNEL(256) silu_bias(float *y, const float *x, const float *bias, isobit::u64 rows, isobit::u64 cols) {
    for (isobit::u64 i = isobit::first_element(); i < rows * cols; i += isobit::all_threads())
        y[i] = isobit::silu(x[i]) + bias[i % cols];
}
"#;

const ROWS: usize = 300;
const COLS: usize = 257;

fn device() -> Result<AnyDevice> {
    match std::env::args().nth(1) {
        Some(name) => AnyDevice::open(&name),
        None => match isobit::available_devices().into_iter().find(|d| d.driver != "cpu") {
            Some(gpu) => AnyDevice::open(&gpu.to_string()),
            None => Err(Error::new(ErrorKind::InvalidArgument, "there is no GPU here, and the CPU cannot run kernels")),
        },
    }
}

fn inputs(device: &AnyDevice) -> Result<(AnyStorage, AnyStorage)> {
    let x: Vec<f32> = (0..ROWS * COLS).map(|i| (i as f32 * 0.37).sin() * 30.0).collect();
    let bias: Vec<f32> = (0..COLS).map(|i| 0.01 * i as f32 - 1.0).collect();
    Ok((device.storage_from_slice(&x)?, device.storage_from_slice(&bias)?))
}

/// Computes the same with operations.
fn in_operations(device: &AnyDevice) -> Result<Vec<f32>> {
    let (x, bias) = inputs(device)?;
    let layout = Layout::contiguous([ROWS, COLS]);
    let silu = x.unary(&layout, UnaryOp::Silu)?;
    silu.binary(&layout, &bias, &Layout::contiguous(COLS).broadcast_as([ROWS, COLS])?, BinaryOp::Add)?.to_vec()
}

fn main() -> Result<()> {
    let device = device()?;
    let info = device.info()?;
    println!("{}: {} ({})", device.location(), info.name, info.arch);

    let func = device.compile("silu_bias", &KernelSource::new("silu_bias.cu", SOURCE))?;
    let counters = device.counters();
    println!("compiled {}, found on disk {}; parameters of the kernel:", counters.compiles, counters.compile_hits);
    for param in func.params().unwrap_or_default() {
        println!("  {:?} of {} bytes", param.kind, param.size);
    }

    let (x, bias) = inputs(&device)?;
    let mut y = device.zeros(&[ROWS, COLS].into(), DType::F32)?;
    let launch = func.builder().arg_mut(&mut y).arg(&x).arg(&bias).value(ROWS as u64).value(COLS as u64);
    // SAFETY: the kernel takes these arguments and reads and writes only inside them.
    unsafe { launch.launch(LaunchConfig::for_num_elems(ROWS * COLS))? };
    let y = y.to_vec::<f32>()?;

    let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&y), bits(&in_operations(&device)?), "the operations of this device give different bits");
    assert_eq!(bits(&y), bits(&in_operations(&AnyDevice::cpu())?), "the operations of the CPU give different bits");
    println!("{:?} ... {:?}: the same bits as the operations, here and on the CPU", &y[..3], &y[y.len() - 3..]);
    Ok(())
}
