//! The simulated cards: compiles kernels for one, and launches them with fresh memory.

use anyhow::{Context, Result};
use isobit_simgpu_amd as amd;
use isobit_simgpu_core::finding::{FindingKind, Findings};
use isobit_simgpu_core::memory::{Kind, Memory};
use isobit_simgpu_nvidia as nvidia;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

#[path = "../../core/testing/clang.rs"]
mod clang;

/// A card on which programs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// NVIDIA's A100.
    Sm80,
    /// AMD's MI200, with waves of 64.
    Gfx90a,
    /// AMD's RDNA 3, with waves of 32.
    Gfx1100,
}

impl Model {
    /// Every card.
    pub const ALL: [Self; 3] = [Self::Sm80, Self::Gfx90a, Self::Gfx1100];

    /// Returns the name of the architecture.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sm80 => nvidia::arch::Arch::Sm80.name(),
            Self::Gfx90a => amd::isa::Arch::Gfx90a.name(),
            Self::Gfx1100 => amd::isa::Arch::Gfx1100.name(),
        }
    }

    /// Returns the number of threads that run in step.
    pub fn wave(self) -> u32 {
        if self == Self::Gfx90a { 64 } else { 32 }
    }

    /// Returns the bytes of which the size of shared memory is a multiple: NVIDIA's
    /// `cuda_occupancy.h`, and LLVM's AMDGPU user guide.
    pub fn shared_unit(self) -> u64 {
        if self == Self::Sm80 { 128 } else { 512 }
    }

    /// Whether a misaligned access is always an error. AMD's cards make those of global memory.
    pub fn aligned(self) -> bool {
        self == Self::Sm80
    }

    /// Compiles a source for the card.
    ///
    /// # Errors
    /// Fails without a clang that compiles it, with what clang printed.
    pub fn compile(self, source: &Path) -> Result<Vec<u8>> {
        let name = self.name();
        let (of_kind, arch) = match self {
            Self::Sm80 => (
                &["-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-S", "-std=c++20"][..],
                [format!("--cuda-gpu-arch={name}"), "--cuda-feature=+ptx78".into()],
            ),
            _ => (
                &["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc"][..],
                [format!("--offload-arch={name}"), "-fuse-ld=lld".into()],
            ),
        };
        let arch = arch.each_ref().map(String::as_str);
        let options = [of_kind, &arch, &["-O3", "-w"]].concat();
        clang::compile(source, &options).map_err(anyhow::Error::msg)
    }
}

enum Loaded {
    Nvidia(nvidia::dispatch::Gpu, nvidia::module::Module),
    Amd(amd::dispatch::Gpu, amd::loader::Module),
}

/// A card with a module.
pub struct Card {
    memory: Arc<Memory>,
    findings: Arc<Findings>,
    loaded: Loaded,
}

impl Card {
    /// Loads compiled code into a new card.
    ///
    /// # Errors
    /// Fails if the simulator refuses the code.
    pub fn new(model: Model, code: &[u8]) -> Result<Self> {
        let memory = Arc::new(Memory::new(1 << 28).context("cannot reserve memory")?);
        let findings = Arc::new(Findings::new());
        let nvidia = |arch| -> Result<Loaded> {
            let gpu = nvidia::dispatch::Gpu::new(arch, memory.clone(), findings.clone(), 1, 0)?;
            let module = gpu.load(code).map_err(|e| anyhow::anyhow!("{e}"))?;
            Ok(Loaded::Nvidia(gpu, module))
        };
        let amd = |arch| -> Result<Loaded> {
            let gpu = amd::dispatch::Gpu::new(arch, memory.clone(), findings.clone(), 1, 0)?;
            let module = gpu.load(code).map_err(|e| anyhow::anyhow!("{e}"))?;
            Ok(Loaded::Amd(gpu, module))
        };
        let loaded = match model {
            Model::Sm80 => nvidia(nvidia::arch::Arch::Sm80),
            Model::Gfx90a => amd(amd::isa::Arch::Gfx90a),
            Model::Gfx1100 => amd(amd::isa::Arch::Gfx1100),
        }?;
        Ok(Self { memory, findings, loaded })
    }

    /// Allocates memory, with contents if any are given.
    ///
    /// # Errors
    /// Fails if the card has no more memory.
    pub fn alloc(&self, bytes: usize, contents: Option<&[u8]>) -> Result<u64> {
        let at = self.memory.alloc(bytes, Kind::Device, "").map_err(|e| anyhow::anyhow!("{e}"))?;
        if let Some(contents) = contents {
            assert_eq!(contents.len(), bytes, "the contents fill the allocation");
            // SAFETY: the allocation was just made with this size, and no launch is running.
            unsafe { std::ptr::copy_nonoverlapping(contents.as_ptr(), at as *mut u8, bytes) };
            self.memory.set_initialised(at, bytes, true);
        }
        Ok(at)
    }

    /// Returns the bytes at an address.
    pub fn bytes(&self, at: u64, bytes: usize) -> Vec<u8> {
        let inside = self.memory.find(at).is_some_and(|a| a.range().contains(&(at + bytes as u64 - 1)));
        assert!(inside, "a live allocation has these bytes");
        // SAFETY: a live allocation contains the bytes, and no launch is running.
        unsafe { std::slice::from_raw_parts(at as *const u8, bytes) }.to_vec()
    }

    /// Whether anything is allocated at an address.
    pub fn is_live(&self, at: u64) -> bool {
        self.memory.find(at).is_some_and(|allocation| allocation.range().contains(&at))
    }

    /// Frees memory.
    pub fn free(&self, at: u64) {
        self.memory.free(at).expect("it was allocated here");
    }

    /// Launches a kernel along x, and returns the kinds of findings.
    ///
    /// # Errors
    /// Fails if the module has no such kernel.
    pub fn launch(&self, kernel: &str, blocks: u32, threads: u32, args: &[u64]) -> Result<BTreeSet<FindingKind>> {
        let arguments: Vec<u8> = args.iter().flat_map(|a| a.to_le_bytes()).collect();
        let (grid, block) = ([blocks, 1, 1], [threads, 1, 1]);
        let missing = || format!("the module has no kernel {kernel}");
        let done = match &self.loaded {
            Loaded::Nvidia(gpu, module) => {
                gpu.launch(&*module.kernel(kernel).with_context(missing)?, grid, block, 0, &arguments)
            }
            Loaded::Amd(gpu, module) => {
                gpu.launch(&*module.kernel(kernel).with_context(missing)?, grid, block, 0, &arguments)
            }
        };
        let mut kinds: BTreeSet<_> = self.findings.take().into_iter().map(|finding| finding.kind).collect();
        if done.is_err() && kinds.is_empty() {
            kinds.insert(FindingKind::Fault);
        }
        Ok(kinds)
    }
}
