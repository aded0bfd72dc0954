//! What tests of whole kernels share: a compiler, a card with memory, and launches with checked results.

use isobit_simgpu_amd::dispatch::Gpu;
use isobit_simgpu_amd::isa::Arch;
use isobit_simgpu_amd::loader::Module;
use isobit_simgpu_core::finding::{Fault, Finding, Findings};
use isobit_simgpu_core::memory::{Kind, Memory};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Compiles HIP device code with clang (19 or newer, or what `ISOBIT_CLANG` names) for a target.
pub fn compile(source: &Path, arch: Arch) -> Vec<u8> {
    let out = tempfile::Builder::new().suffix(".co").tempfile().expect("a temporary file");
    let flags =
        ["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "-O3", "-std=c++17"];
    let named = std::env::var("ISOBIT_CLANG").ok();
    let candidates = named.into_iter().chain((19..=30).rev().map(|v| format!("clang-{v}"))).chain(["clang".into()]);
    for clang in candidates {
        let mut command = Command::new(&clang);
        command.args(flags).arg("-ffp-contract=off").arg(format!("--offload-arch={}", arch.name()));
        command.arg("-fuse-ld=lld").arg("-o").arg(out.path()).arg(source);
        match command.output() {
            Err(_) => continue,
            Ok(done) if done.status.success() => return std::fs::read(out.path()).expect("what clang wrote"),
            Ok(done) => panic!("{clang}: {}", String::from_utf8_lossy(&done.stderr)),
        }
    }
    panic!("no clang: install clang-19 and lld-19, or name one in ISOBIT_CLANG");
}

/// A card with a loaded module.
pub struct Card {
    pub gpu: Gpu,
    pub memory: Arc<Memory>,
    pub findings: Arc<Findings>,
    pub module: Module,
}

impl Card {
    pub fn new(arch: Arch, image: &[u8]) -> Self {
        Self::with(arch, image, 2, 0)
    }

    pub fn with(arch: Arch, image: &[u8], threads: usize, approximation: i8) -> Self {
        let memory = Arc::new(Memory::new(1 << 30).expect("a gigabyte of addresses"));
        let findings = Arc::new(Findings::new());
        let gpu = Gpu::new(arch, memory.clone(), findings.clone(), threads, approximation).expect("threads");
        let module = gpu.load(image).unwrap_or_else(|e| panic!("{}: {e}", arch.name()));
        Self { gpu, memory, findings, module }
    }

    /// Memory that holds these values.
    pub fn upload<T: bytemuck::NoUninit>(&self, values: &[T]) -> u64 {
        let bytes = bytemuck::cast_slice::<T, u8>(values);
        let at = self.uninitialised(bytes.len());
        // SAFETY: the allocation was made just now with this size.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        self.memory.set_initialised(at, bytes.len(), true);
        at
    }

    /// Memory that holds nothing yet.
    pub fn uninitialised(&self, bytes: usize) -> u64 {
        self.memory.alloc(bytes, Kind::Device, "").expect("memory")
    }

    /// The values at an address.
    pub fn download<T: bytemuck::Pod>(&self, at: u64, count: usize) -> Vec<T> {
        let bytes = count * size_of::<T>();
        assert!(self.memory.host_bounds(at, bytes, false, "download", &self.findings));
        // SAFETY: a live allocation holds the bytes, and no launch is running.
        let bytes = unsafe { std::slice::from_raw_parts(at as *const u8, bytes) };
        bytemuck::pod_collect_to_vec(bytes)
    }

    /// Launches a kernel along x.
    pub fn launch(&self, kernel: &str, blocks: u32, threads: u32, args: &[u64]) -> Result<(), Fault> {
        let kernel = self.module.kernel(kernel).unwrap_or_else(|| panic!("no kernel {kernel}"));
        let segment: Vec<u8> = args.iter().flat_map(|a| a.to_le_bytes()).collect();
        self.gpu.launch(&kernel, [blocks, 1, 1], [threads, 1, 1], 0, &segment)
    }

    /// Launches a kernel, and what was found.
    pub fn findings(&self, kernel: &str, blocks: u32, threads: u32, args: &[u64]) -> Vec<Finding> {
        self.launch(kernel, blocks, threads, args).unwrap_or_else(|e| panic!("{e}"));
        self.findings.take()
    }
}
