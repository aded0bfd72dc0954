//! Measures the simulator on one thread: `tanh` over 2^20 elements with the repository's kernel and
//! all checks, and the time of a small launch.
//!
//! `cargo run -p isobit-simgpu-nvidia --example speed`

use isobit_kernels::{IMAGES, Target};
use isobit_simgpu_core::finding::Findings;
use isobit_simgpu_core::memory::{Kind, Memory};
use isobit_simgpu_nvidia::arch::Arch;
use isobit_simgpu_nvidia::dispatch::Gpu;
use std::sync::Arc;
use std::time::Instant;

const COUNT: usize = 1 << 20;

fn main() {
    let image = IMAGES.iter().find(|image| image.name == "unary_hyperbolic_f32").expect("a module of the tree");
    let arch = image.archs(Target::Nvptx).first().expect("PTX is packed").clone();
    let code = image.code_for(Target::Nvptx, &arch).expect("the code of an architecture that it has");
    let memory = Arc::new(Memory::new(1 << 28).expect("addresses"));
    let findings = Arc::new(Findings::new());
    let gpu = Gpu::new(Arch::Sm80, memory.clone(), findings.clone(), 1, 0).expect("a card");
    let module = gpu.load(&code).unwrap_or_else(|e| panic!("{e}"));
    let kernel = module.kernel("tanh_f32").expect("the kernel");
    let [out, input] = [0, 1].map(|_| memory.alloc(4 * COUNT, Kind::Device, "").expect("memory"));
    let values: Vec<f32> = (0..COUNT).map(|i| (i as f32 / COUNT as f32 - 0.5) * 8.0).collect();
    // SAFETY: the allocation has room for all values, and no launch runs.
    unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), input as *mut f32, COUNT) };
    memory.set_initialised(input, 4 * COUNT, true);
    let arguments = |count: usize| [out, input, count as u64].iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();

    for _ in 0..5 {
        let (started, before) = (Instant::now(), gpu.instructions());
        gpu.launch(&kernel, [1024, 1, 1], [256, 1, 1], 0, &arguments(COUNT)).expect("a launch");
        let (time, done) = (started.elapsed(), gpu.instructions() - before);
        println!("tanh: {:.2} G lane-instructions/s, {time:?}", done as f64 / time.as_secs_f64() / 1e9);
    }
    // SAFETY: as above.
    let results = unsafe { std::slice::from_raw_parts(out as *const f32, COUNT) };
    let worst =
        values.iter().zip(results).map(|(x, y)| (f64::from(*y) - f64::from(*x).tanh()).abs()).fold(0.0, f64::max);
    println!("the greatest error is {worst:e}; {} findings; {} rows", findings.take().len(), kernel.registers);

    let started = Instant::now();
    const LAUNCHES: u32 = 10_000;
    for _ in 0..LAUNCHES {
        gpu.launch(&kernel, [1, 1, 1], [256, 1, 1], 0, &arguments(256)).expect("a launch");
    }
    println!("a launch of 256 threads: {:?}", started.elapsed() / LAUNCHES);
}
