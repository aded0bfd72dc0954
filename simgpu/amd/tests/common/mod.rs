//! Helpers for tests of whole kernels: a compiler, a card with memory, and launches with checked
//! results.

#[path = "../../../core/testing/device.rs"]
mod device;

use device::Device;
use isobit_simgpu_amd::dispatch::Gpu;
use isobit_simgpu_amd::isa::Arch;
use isobit_simgpu_amd::loader::Module;
use isobit_simgpu_core::finding::{Fault, Finding};
use std::ops::Deref;
use std::path::Path;

/// Compiles HIP device code for a target with clang (19 or newer, or the one that `ISOBIT_CLANG`
/// names).
#[allow(dead_code, reason = "not every program of tests compiles without more options")]
pub fn compile(source: &Path, arch: Arch) -> Vec<u8> {
    compile_with(source, arch, &[])
}

/// As [`compile`], with more options.
pub fn compile_with(source: &Path, arch: Arch, more: &[&str]) -> Vec<u8> {
    let arch = format!("--offload-arch={}", arch.name());
    let options = ["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "-O3"];
    device::compile(source, &[&options[..], &["-std=c++17", "-fuse-ld=lld", &arch], more].concat())
}

/// A card with a loaded module.
pub struct Card {
    pub gpu: Gpu,
    pub device: Device,
    pub module: Module,
}

impl Deref for Card {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

impl Card {
    #[allow(dead_code, reason = "not every program of tests uses the defaults")]
    pub fn new(arch: Arch, image: &[u8]) -> Self {
        Self::with(arch, image, 2, 0)
    }

    pub fn with(arch: Arch, image: &[u8], threads: usize, approximation: i8) -> Self {
        let device = Device::new();
        let gpu =
            Gpu::new(arch, device.memory.clone(), device.findings.clone(), threads, approximation).expect("threads");
        let module = gpu.load(image).unwrap_or_else(|e| panic!("{}: {e}", arch.name()));
        Self { gpu, device, module }
    }

    /// Launches a kernel along x.
    pub fn launch(&self, kernel: &str, blocks: u32, threads: u32, args: &[u64]) -> Result<(), Fault> {
        let kernel = self.module.kernel(kernel).unwrap_or_else(|| panic!("no kernel {kernel}"));
        let segment: Vec<u8> = args.iter().flat_map(|a| a.to_le_bytes()).collect();
        self.gpu.launch(&kernel, [blocks, 1, 1], [threads, 1, 1], 0, &segment)
    }

    /// Launches a kernel and returns the findings.
    #[allow(dead_code, reason = "not every program of tests looks for findings")]
    pub fn findings(&self, kernel: &str, blocks: u32, threads: u32, args: &[u64]) -> Vec<Finding> {
        self.launch(kernel, blocks, threads, args).unwrap_or_else(|e| panic!("{e}"));
        self.findings.take()
    }
}
