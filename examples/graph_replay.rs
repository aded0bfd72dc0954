//! Captures a step of 20 operations once and replays it at the cost of one launch: `cargo run
//! --release --example graph_replay --features cuda,rocm -- cuda:0 1000`. The default device is the
//! CPU; the second argument is the number of timed steps. The same program runs on a simulated GPU
//! if `LD_LIBRARY_PATH` (and `ROCM_PATH`) are set as in `docs/simulated-gpus.md`. On a device
//! without graphs, a replay calls the step again, so the program works there too but saves no time.

use isobit::{
    Activation, AnyDevice, AnyStorage, BackendDevice, BackendStorage, DType, Layout, Matmul, Op, Result, Shape, Src,
};
use std::sync::{Arc, Mutex};
use std::time::Instant;

const LAYERS: usize = 10;
const ROWS: usize = 16;
const WIDTH: usize = 64;

/// A small network with fixed buffers, so that a step does not allocate.
struct Network {
    input: AnyStorage,
    product: AnyStorage,
    output: AnyStorage,
    layers: Vec<(AnyStorage, AnyStorage)>,
    data: Layout,
    weight: Layout,
    bias: Layout,
}

impl Network {
    fn new(device: &AnyDevice) -> Result<Self> {
        let data = Layout::contiguous([ROWS, WIDTH]);
        let buffer = || device.zeros(data.shape(), DType::F32);
        // Scaled so that activations neither vanish nor explode.
        let spread = (1.0 / WIDTH as f64).sqrt();
        let layer = |_| {
            let weight = device.rand_normal(&Shape::from([WIDTH, WIDTH]), DType::F32, 0.0, spread)?;
            Ok((weight, device.rand_normal(&Shape::from(WIDTH), DType::F32, 0.0, 0.1)?))
        };
        Ok(Self {
            input: buffer()?,
            product: buffer()?,
            output: buffer()?,
            layers: (0..LAYERS).map(layer).collect::<Result<_>>()?,
            weight: Layout::contiguous([WIDTH, WIDTH]),
            bias: Layout::contiguous([1, WIDTH]).broadcast_as([ROWS, WIDTH])?,
            data,
        })
    }

    /// Runs a matrix product and a fused addition and activation per layer.
    fn step(&mut self) -> Result<()> {
        let Self { input, product, output, layers, data, weight, bias } = self;
        for (i, (w, b)) in layers.iter().enumerate() {
            let x: &AnyStorage = if i == 0 { input } else { output };
            BackendStorage::matmul_into(Matmul::default(), x, data, w, weight, product, data)?;
            let operands = [Src::Storage(&*product, &*data), Src::Storage(b, bias)];
            BackendStorage::apply_into(&Op::AddActivation(Activation::Gelu), &operands, output, data)?;
        }
        Ok(())
    }
}

/// Returns the microseconds per run over `count` runs, including all work.
fn time(device: &AnyDevice, count: u32, mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    device.synchronize()?;
    let start = Instant::now();
    for _ in 0..count {
        run()?;
    }
    device.synchronize()?;
    Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(count))
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let device = AnyDevice::open(args.next().as_deref().unwrap_or("cpu"))?;
    let info = device.info()?;
    // A simulated GPU interprets each instruction, so it gets fewer runs.
    let count = args.next().and_then(|n| n.parse().ok()).unwrap_or(if info.simulated { 5 } else { 1000 });
    let graphs = if info.capabilities.graphs { "with graphs" } else { "without graphs" };
    println!("{}: {} ({}), {graphs}", device.location(), info.name, info.arch);

    let network = Arc::new(Mutex::new(Network::new(&device)?));
    let locked = || network.lock().expect("no thread died at work");
    // Run once before the capture: loads kernels and initialises libraries.
    locked().step()?;
    let captured = network.clone();
    let mut graph = device.capture(move || captured.lock().expect("no thread died at work").step())?;

    for input in 0..3 {
        // New inputs are written to the captured buffer.
        let values: Vec<f32> = (0..ROWS * WIDTH).map(|i| ((i * 7 + input * 13) % 31) as f32 / 16.0 - 1.0).collect();
        locked().input.write_slice(0, &values)?;
        locked().step()?;
        let eager = locked().output.to_vec::<f32>()?;
        locked().output.const_set(f32::NAN.into(), &Layout::contiguous([ROWS, WIDTH]))?;
        graph.replay()?;
        let replayed = locked().output.to_vec::<f32>()?;
        let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(bits(&eager) == bits(&replayed), "a replay gives the same bits as the step");
        println!("input {input}: {:?} ...", &replayed[..4]);
    }

    let eager = time(&device, count, || locked().step())?;
    let replayed = time(&device, count, || graph.replay())?;
    println!("a step of {} operations, {count} times: {eager:.1} us eager, {replayed:.1} us replayed", 2 * LAYERS);
    Ok(())
}
