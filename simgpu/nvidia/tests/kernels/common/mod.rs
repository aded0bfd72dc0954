//! Shared code of the tests of complete kernels: a compiler, a card with memory, and launches with
//! checked results.

#[path = "../../../../core/testing/device.rs"]
mod device;

use device::Device;
use isobit_simgpu_core::finding::{Fault, Finding};
use isobit_simgpu_nvidia::arch::Arch;
use isobit_simgpu_nvidia::dispatch::Gpu;
use isobit_simgpu_nvidia::module::Module;
use std::ops::Deref;
use std::path::Path;

/// Compiles CUDA device code to PTX for a card with clang (19 or newer, or the one that
/// `ISOBIT_CLANG` names).
#[allow(dead_code, reason = "not every test compiles")]
pub fn compile(source: &Path, arch: Arch) -> Vec<u8> {
    let arch = format!("--cuda-gpu-arch={}", arch.name());
    let options = ["-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-S", "-O3", "-gline-tables-only"];
    device::compile(source, &[&options[..], &["-std=c++20", "--cuda-feature=+ptx78", &arch]].concat())
}

/// Builds a module of some functions, for the oldest card.
#[allow(dead_code, reason = "not every test writes PTX")]
pub fn module(functions: &str) -> String {
    format!(".version 7.8\n.target sm_75\n.address_size 64\n{functions}")
}

/// Builds a kernel `main` whose only parameter is an array of words. `%out` is the address of the
/// thread's word, `%i` is the index of the thread in the grid, `%t` in the block.
#[allow(dead_code, reason = "not every test writes PTX")]
pub fn main_with(variables: &str, body: &str) -> String {
    module(&format!(
        ".visible .entry main(.param .u64 words)
{{
    .reg .pred %p<32>;
    .reg .b32 %r<64>, %i, %t;
    .reg .b64 %rd<32>, %base, %out;
    {variables}
    ld.param.u64 %base, [words];
    mov.u32 %t, %tid.x;
    mov.u32 %i, %ctaid.x;
    mov.u32 %r0, %ntid.x;
    mad.lo.u32 %i, %i, %r0, %t;
    mul.wide.u32 %out, %i, 4;
    add.u64 %out, %base, %out;
{body}
}}"
    ))
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
    pub fn new(arch: Arch, image: &[u8]) -> Self {
        Self::with(arch, image, 2)
    }

    pub fn with(arch: Arch, image: &[u8], threads: usize) -> Self {
        let device = Device::new();
        let gpu = Gpu::new(arch, device.memory.clone(), device.findings.clone(), threads, 0).expect("threads");
        let module = gpu.load(image).unwrap_or_else(|e| panic!("{}: {e}", arch.name()));
        Self { gpu, device, module }
    }

    /// Launches a kernel along x.
    pub fn launch(&self, kernel: &str, blocks: u32, threads: u32, args: &[u64]) -> Result<(), Fault> {
        let kernel = self.module.kernel(kernel).unwrap_or_else(|| panic!("no kernel {kernel}"));
        let arguments: Vec<u8> = args.iter().flat_map(|a| a.to_le_bytes()).collect();
        self.gpu.launch(&kernel, [blocks, 1, 1], [threads, 1, 1], 0, &arguments)
    }

    /// Launches a kernel and returns the findings.
    #[allow(dead_code, reason = "not every test looks for findings")]
    pub fn findings(&self, kernel: &str, blocks: u32, threads: u32, args: &[u64]) -> Vec<Finding> {
        self.launch(kernel, blocks, threads, args).unwrap_or_else(|e| panic!("{e}"));
        self.findings.take()
    }
}

/// Runs the kernel `main` of PTX with one word per thread, initially zero, and returns the words.
#[allow(dead_code, reason = "not every test writes PTX")]
pub fn words(ptx: &str, blocks: u32, threads: u32) -> Result<Vec<u32>, String> {
    let (words, found) = words_and_findings(ptx, blocks, threads)?;
    assert_eq!(found, []);
    Ok(words)
}

/// Like [`words`], with the findings.
#[allow(dead_code, reason = "not every test writes PTX")]
pub fn words_and_findings(ptx: &str, blocks: u32, threads: u32) -> Result<(Vec<u32>, Vec<Finding>), String> {
    let card = Card::new(Arch::Sm75, ptx.as_bytes());
    let count = (blocks * threads) as usize;
    let out = card.upload(&vec![0u32; count]);
    card.launch("main", blocks, threads, &[out]).map_err(|fault| fault.to_string())?;
    let found = card.findings.take();
    Ok((card.download(out, count), found))
}
