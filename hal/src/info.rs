//! What a device says of itself.

use std::fmt;

/// A library that a device has loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LibraryInfo {
    /// What it is, such as `cuBLAS`.
    pub name: String,
    /// Its version as it reports it.
    pub version: String,
    /// The file it was loaded from, where that is known.
    pub path: Option<String>,
}

impl LibraryInfo {
    /// A library of a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>, path: Option<String>) -> Self {
        Self { name: name.into(), version: version.into(), path }
    }
}

/// What a device says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The driver: `cpu`, `cuda`, `rocm`.
    pub driver: String,
    /// The product's name.
    pub name: String,
    /// The architecture, vendor's spelling: `sm_90`, `gfx90a:sramecc+:xnack-`, `x86_64+avx2+fma`.
    pub arch: String,
    /// True where the device is simulated.
    pub simulated: bool,
    /// Threads that run in lockstep; 1 on a CPU.
    pub warp_size: usize,
    /// Multiprocessors, compute units or cores.
    pub multiprocessors: usize,
    /// Bytes of memory in all; 0 where that is not known.
    pub memory_total: u64,
    /// Bytes of memory free at the time of asking; 0 where that is not known.
    pub memory_free: u64,
    /// The version of the driver.
    pub driver_version: String,
    /// The vendor libraries that are loaded.
    pub libraries: Vec<LibraryInfo>,
    /// The vendor's number for what the device can compute, where it has one.
    pub compute_capability: Option<ComputeCapability>,
    /// What launches must stay within; `None` for a device that launches nothing.
    pub limits: Option<Limits>,
    /// What the device can do beside operations.
    pub capabilities: Capabilities,
}

/// What a launch must stay within, and what a launcher tunes for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// Threads that run in lockstep: 32 or 64.
    pub warp_size: u32,
    /// Multiprocessors or compute units.
    pub multiprocessors: u32,
    /// Threads a block can have.
    pub max_threads_per_block: u32,
    /// Threads that one multiprocessor holds at a time.
    pub max_threads_per_multiprocessor: u32,
    /// Bytes of shared memory a block can have without asking for more.
    pub shared_memory_per_block: u32,
    /// Blocks along x.
    pub max_grid_x: u32,
    /// Blocks along y and z.
    pub max_grid_yz: u32,
    /// Threads in a grid along one dimension (HIP: below 2^32).
    pub max_threads_per_dim: u64,
    /// Bytes of the last-level cache.
    pub l2_bytes: u64,
}

/// A vendor's number for what its device can compute. Numbers of different vendors do not compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ComputeCapability {
    /// NVIDIA's, as in `sm_90`.
    Cuda {
        /// The generation.
        major: u32,
        /// Its variant.
        minor: u32,
    },
    /// AMD's, as in `gfx90a` (9, 0, 10).
    Gfx {
        /// The generation.
        major: u32,
        /// Its variant.
        minor: u32,
        /// Its stepping.
        stepping: u32,
    },
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ComputeCapability::Cuda { major, minor } => write!(f, "sm_{major}{minor}"),
            ComputeCapability::Gfx { major, minor, stepping } => write!(f, "gfx{major}{minor:x}{stepping:x}"),
        }
    }
}

/// What a device can do beside operations. Calls for what it cannot answer `UnsupportedOp`, or do it in plain words: at once, by a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Capabilities {
    /// Work of several streams runs side by side.
    pub concurrent_streams: bool,
    /// A captured step is replayed by one launch.
    pub graphs: bool,
    /// Copies from and to pinned memory run beside the host.
    pub async_copies: bool,
    /// Sources can be compiled at run time on this machine.
    pub runtime_compile: bool,
    /// A vendor's library computes products with vendor numerics.
    pub vendor_matmul: bool,
    /// A vendor's library computes convolutions with vendor numerics.
    pub vendor_conv: bool,
    /// A vendor's library draws random numbers with vendor numerics.
    pub vendor_random: bool,
}
