//! Runs PTX that does not come with the simulator: kernels as users write them, compiled by
//! NVIDIA's own NVRTC and launched through cudarc, which finds the simulated card in place of a
//! real one. Compares the results with a computation on the CPU.
//!
//! `ISOBIT_NVRTC` names the NVRTC library; `cargo xtask test` sets it. Without it the test reports
//! that it was skipped.

use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream, LaunchConfig};
use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};
use isobit_simgpu_library_common::report;
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod cases;

/// The device, its stream, and the module with all kernels.
struct Card {
    stream: Arc<CudaStream>,
    module: Arc<CudaModule>,
}

impl Card {
    fn kernel(&self, name: &str) -> CudaFunction {
        self.module.load_function(name).unwrap()
    }
}

/// Blocks and threads along x, with dynamic shared memory.
fn config(blocks: u32, threads: u32, shared: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: shared }
}

/// Returns pseudorandom numbers that are the same on every machine.
fn draw(n: usize, seed: u64) -> impl Iterator<Item = u64> {
    (0..n as u64).map(move |i| {
        let mut x = (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    })
}

/// Returns f32 values from -4 to 4.
fn floats(n: usize, seed: u64) -> Vec<f32> {
    draw(n, seed).map(|x| (x >> 40) as f32 / (1 << 21) as f32 - 4.0).collect()
}

#[test]
fn kernels_compiled_by_nvrtc_compute_what_the_cpu_computes() {
    let Some(nvrtc) = std::env::var_os("ISOBIT_NVRTC").map(PathBuf::from) else {
        assert!(std::env::var_os("CI").is_none(), "ISOBIT_NVRTC does not name an NVRTC");
        eprintln!("skipped: ISOBIT_NVRTC does not name an NVRTC; `cargo xtask test` sets it");
        return;
    };
    let installed = isobit_simgpu_install::cuda().expect("the simulated GPU is built");
    if isobit_simgpu_install::inside() {
        return run(&installed.lib().join("libcuda.so"));
    }
    for (card, deferred) in [("sm_80", "0"), ("sm_90", "1")] {
        let mut child = installed.child("kernels_compiled_by_nvrtc_compute_what_the_cpu_computes").unwrap();
        let folders = [installed.lib(), nvrtc.parent().unwrap().to_path_buf()];
        child.env("LD_LIBRARY_PATH", std::env::join_paths(folders).unwrap());
        let output = child.env("ISOBIT_SIM_CUDA", card).env("ISOBIT_SIM_DEFER", deferred).output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success() && said.contains("1 passed"), "on {card}:\n{said}");
    }
}

fn run(library: &Path) {
    let context = CudaContext::new(0).unwrap();
    let options = CompileOptions {
        arch: Some("compute_80"),
        options: vec!["-lineinfo".into()],
        name: Some("kernels.cu".into()),
        ..CompileOptions::default()
    };
    let ptx = compile_ptx_with_opts(include_str!("kernels.cu"), options).unwrap();
    let card = Card { stream: context.new_stream().unwrap(), module: context.load_module(ptx).unwrap() };
    for (name, case) in cases::ALL {
        eprintln!("{name}");
        case(&card);
    }
    let report = report::take(library).unwrap();
    assert!(report.contains("\"findings\":[]"), "{report}");
    // What a card does without an error is a finding of its own.
    cases::last_three(&card);
    let report = report::take(library).unwrap();
    assert_eq!((report.matches("over_read").count(), report.matches("out_of_bounds").count()), (2, 0), "{report}");
    // The report names the source line of the fault.
    cases::past_the_end(&card);
    let report = report::take(library).unwrap();
    assert!(report.contains("out_of_bounds") && report.contains("kernels.cu:"), "{report}");
}
