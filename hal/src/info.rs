//! What a device says of itself: what it is, what it can do, and what it holds and has done so far.

use crate::{ErrorKind, Result};
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

/// What a device can do beside operations. A call for what it cannot do returns `UnsupportedOp`, or
/// works synchronously and by a copy.
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

/// Whether a device implements an operation for given dtypes and layouts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Support {
    /// It does.
    Supported,
    /// It does not, and why.
    Unsupported {
        /// The kind of the error that the call itself would give.
        kind: ErrorKind,
        /// One sentence for a person.
        reason: String,
    },
}

impl Support {
    /// True where the operation is implemented.
    pub fn is_supported(&self) -> bool {
        matches!(self, Support::Supported)
    }

    /// The reason why not, if there is one.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Support::Supported => None,
            Support::Unsupported { reason, .. } => Some(reason),
        }
    }
}

impl From<Result<()>> for Support {
    fn from(result: Result<()>) -> Self {
        match result {
            Ok(()) => Support::Supported,
            Err(e) => Support::Unsupported { kind: e.kind(), reason: e.message().to_string() },
        }
    }
}

/// What the memory pool of a device holds, in bytes. All 0 for a device without one, such as the
/// CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PoolStats {
    /// In live storages and in what graphs keep, rounded up to the pool's classes.
    pub in_use: u64,
    /// Kept for reuse.
    pub cached: u64,
    /// The most that was ever in use.
    pub peak: u64,
    /// Allocations answered from the cache.
    pub hits: u64,
    /// Allocations the driver was asked for.
    pub misses: u64,
}

/// Numbers since a device was opened; all 0 for a device that counts nothing, such as the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Kernels launched, those of graphs left out.
    pub launches: u64,
    /// Graphs replayed.
    pub graph_replays: u64,
    /// Calls of vendor libraries.
    pub vendor_calls: u64,
    /// Operations with [`Numerics::Vendor`](crate::Numerics::Vendor) that the portable kernels did
    /// because the library could not.
    pub vendor_fallbacks: u64,
    /// Allocations answered from the pool's cache.
    pub pool_hits: u64,
    /// Allocations the driver was asked for.
    pub pool_misses: u64,
    /// Sources compiled at run time.
    pub compiles: u64,
    /// Sources whose code was found on disk instead.
    pub compile_hits: u64,
}
