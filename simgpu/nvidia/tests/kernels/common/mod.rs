//! What tests of whole kernels share: a compiler, a card with memory, and launches with checked results.

use isobit_simgpu_core::finding::{Fault, Finding, Findings};
use isobit_simgpu_core::memory::{Kind, Memory};
use isobit_simgpu_nvidia::arch::Arch;
use isobit_simgpu_nvidia::dispatch::Gpu;
use isobit_simgpu_nvidia::module::Module;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Compiles CUDA device code to PTX with clang (19 or newer, or what `ISOBIT_CLANG` names) for a card.
#[allow(dead_code, reason = "not every test compiles")]
pub fn compile(source: &Path, arch: Arch) -> Vec<u8> {
    let out = tempfile::Builder::new().suffix(".ptx").tempfile().expect("a temporary file");
    let flags = ["-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-S", "-O3", "-gline-tables-only"];
    let named = std::env::var("ISOBIT_CLANG").ok();
    let candidates = named.into_iter().chain((19..=30).rev().map(|v| format!("clang-{v}"))).chain(["clang".into()]);
    for clang in candidates {
        let mut command = Command::new(&clang);
        command.args(flags).args(["-std=c++20", "-ffp-contract=off", "--cuda-feature=+ptx78"]);
        command.arg(format!("--cuda-gpu-arch={}", arch.name())).arg("-o").arg(out.path()).arg(source);
        match command.output() {
            Err(_) => continue,
            Ok(done) if done.status.success() => return std::fs::read(out.path()).expect("what clang wrote"),
            Ok(done) => panic!("{clang}: {}", String::from_utf8_lossy(&done.stderr)),
        }
    }
    panic!("no clang: install clang-19, or name one in ISOBIT_CLANG");
}

/// A module of some functions, for the oldest card.
#[allow(dead_code, reason = "not every test writes PTX")]
pub fn module(functions: &str) -> String {
    format!(".version 7.8\n.target sm_75\n.address_size 64\n{functions}")
}

/// A kernel `main` whose one parameter is an array of words, of which `%out` is the address of the thread's own: `%i` counts the threads
/// of the grid, `%t` those of the block.
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
    pub memory: Arc<Memory>,
    pub findings: Arc<Findings>,
    pub module: Module,
}

impl Card {
    pub fn new(arch: Arch, image: &[u8]) -> Self {
        Self::with(arch, image, 2)
    }

    pub fn with(arch: Arch, image: &[u8], threads: usize) -> Self {
        let memory = Arc::new(Memory::new(1 << 30).expect("a gigabyte of addresses"));
        let findings = Arc::new(Findings::new());
        let gpu = Gpu::new(arch, memory.clone(), findings.clone(), threads, 0).expect("threads");
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
        let arguments: Vec<u8> = args.iter().flat_map(|a| a.to_le_bytes()).collect();
        self.gpu.launch(&kernel, [blocks, 1, 1], [threads, 1, 1], 0, &arguments)
    }

    /// Launches a kernel, and what was found.
    #[allow(dead_code, reason = "not every test looks for findings")]
    pub fn findings(&self, kernel: &str, blocks: u32, threads: u32, args: &[u64]) -> Vec<Finding> {
        self.launch(kernel, blocks, threads, args).unwrap_or_else(|e| panic!("{e}"));
        self.findings.take()
    }
}

/// Runs the kernel `main` of PTX with a word for each thread, which is zero before, and gives the words.
#[allow(dead_code, reason = "not every test writes PTX")]
pub fn words(ptx: &str, blocks: u32, threads: u32) -> Result<Vec<u32>, String> {
    let (words, found) = words_and_findings(ptx, blocks, threads)?;
    assert_eq!(found, []);
    Ok(words)
}

/// As [`words`], with what was found.
#[allow(dead_code, reason = "not every test writes PTX")]
pub fn words_and_findings(ptx: &str, blocks: u32, threads: u32) -> Result<(Vec<u32>, Vec<Finding>), String> {
    let card = Card::new(Arch::Sm75, ptx.as_bytes());
    let count = (blocks * threads) as usize;
    let out = card.upload(&vec![0u32; count]);
    card.launch("main", blocks, threads, &[out]).map_err(|fault| fault.to_string())?;
    let found = card.findings.take();
    Ok((card.download(out, count), found))
}
