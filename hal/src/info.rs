//! What a device reports about itself: its properties, its capabilities, and its memory and
//! counters.

use crate::{Error, ErrorKind, Result};
use std::fmt;

/// A library that a device has loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LibraryInfo {
    /// The name, such as `cuBLAS`.
    pub name: String,
    /// The version, as the library reports it.
    pub version: String,
    /// The file it was loaded from, if known.
    pub path: Option<String>,
}

impl LibraryInfo {
    /// Creates the entry of a library.
    pub fn new(name: impl Into<String>, version: impl Into<String>, path: Option<String>) -> Self {
        Self { name: name.into(), version: version.into(), path }
    }
}

/// The properties of a device.
///
/// ```rust
/// use isobit_hal::{BackendDevice, CpuDevice};
///
/// let info = CpuDevice.info()?;
/// assert_eq!((info.driver.as_str(), info.warp_size, info.simulated), ("cpu", 1, false));
/// assert!(info.limits.is_none() && !info.capabilities.graphs);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The driver: `cpu`, `cuda`, `rocm`.
    pub driver: String,
    /// The product name.
    pub name: String,
    /// The architecture in the vendor's spelling: `sm_90`, `gfx90a:sramecc+:xnack-`,
    /// `x86_64+avx2+fma`.
    pub arch: String,
    /// Whether the device is simulated.
    pub simulated: bool,
    /// Threads that run in lockstep; 1 on a CPU.
    pub warp_size: usize,
    /// Multiprocessors, compute units or cores.
    pub multiprocessors: usize,
    /// Total memory in bytes; 0 if unknown.
    pub memory_total: u64,
    /// Free memory in bytes at the time of the query; 0 if unknown.
    pub memory_free: u64,
    /// The version of the driver.
    pub driver_version: String,
    /// The vendor libraries that are loaded.
    pub libraries: Vec<LibraryInfo>,
    /// The vendor's compute capability, if there is one.
    pub compute_capability: Option<ComputeCapability>,
    /// The limits of launches; `None` for a device that does not launch kernels.
    pub limits: Option<Limits>,
    /// The device's capabilities besides operations.
    pub capabilities: Capabilities,
}

/// The limits of a launch, and the properties that a launcher tunes for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// Threads that run in lockstep: 32 or 64.
    pub warp_size: u32,
    /// Multiprocessors or compute units.
    pub multiprocessors: u32,
    /// Maximum threads per block.
    pub max_threads_per_block: u32,
    /// Maximum resident threads per multiprocessor.
    pub max_threads_per_multiprocessor: u32,
    /// Bytes of shared memory that a block can use without opting in to more.
    pub shared_memory_per_block: u32,
    /// Maximum blocks along x.
    pub max_grid_x: u32,
    /// Maximum blocks along y and z.
    pub max_grid_yz: u32,
    /// Exclusive upper bound of the threads of a grid along one dimension (HIP: 2^32).
    pub max_threads_per_dim: u64,
    /// Size of the last-level cache in bytes.
    pub l2_bytes: u64,
}

/// A vendor's version of a device's compute features. Versions of different vendors are not
/// comparable.
///
/// ```rust
/// use isobit_hal::ComputeCapability;
///
/// assert_eq!(ComputeCapability::Cuda { major: 9, minor: 0 }.to_string(), "sm_90");
/// assert_eq!(ComputeCapability::Gfx { major: 9, minor: 0, stepping: 10 }.to_string(), "gfx90a");
/// ```
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

/// The capabilities of a device besides operations. Unsupported calls return `UnsupportedOp` or use
/// the synchronous fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Capabilities {
    /// Work of several streams runs concurrently.
    pub concurrent_streams: bool,
    /// One launch replays a captured step.
    pub graphs: bool,
    /// Copies from and to pinned memory do not block the host.
    pub async_copies: bool,
    /// This machine can compile sources at run time.
    pub runtime_compile: bool,
    /// A vendor library computes matrix products with vendor numerics.
    pub vendor_matmul: bool,
    /// A vendor library computes convolutions with vendor numerics.
    pub vendor_conv: bool,
    /// A vendor library computes attention of f16 and bf16 with vendor numerics.
    pub vendor_attention: bool,
    /// A vendor library generates random numbers with vendor numerics.
    pub vendor_random: bool,
}

/// Whether a device implements an operation for given dtypes.
///
/// ```rust
/// use isobit_hal::{BackendDevice, CpuDevice, DType, Op};
///
/// let support = CpuDevice.supports(&Op::Softmax, &[DType::I32, DType::I32]);
/// assert!(!support.is_supported());
/// assert!(support.reason().unwrap().contains("floats"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Support {
    /// The device implements it.
    Supported,
    /// The device does not implement it.
    Unsupported {
        /// The kind of the error that the call itself would return.
        kind: ErrorKind,
        /// The reason, in one sentence.
        reason: String,
    },
}

impl Support {
    /// Whether the operation is implemented.
    pub fn is_supported(&self) -> bool {
        matches!(self, Support::Supported)
    }

    /// Returns the reason why the operation is not supported, or `None` if it is.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Support::Supported => None,
            Support::Unsupported { reason, .. } => Some(reason),
        }
    }

    /// Returns the error that the call itself would return, if the operation is not supported.
    ///
    /// # Errors
    /// Of the kind and with the reason of [`Unsupported`](Support::Unsupported).
    pub fn into_result(self) -> Result<()> {
        match self {
            Support::Supported => Ok(()),
            Support::Unsupported { kind, reason } => Err(Error::new(kind, reason)),
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

/// The state of a device's memory pool: sizes in bytes, and counts of allocations. All fields are 0
/// for a device without a pool, such as the CPU.
///
/// ```rust
/// use isobit_hal::{BackendDevice, CpuDevice, PoolStats};
///
/// assert_eq!(CpuDevice.pool_stats(), PoolStats::default());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PoolStats {
    /// Bytes in live storages and in memory that graphs keep, rounded up to the pool's size
    /// classes.
    pub in_use: u64,
    /// Bytes kept for reuse.
    pub cached: u64,
    /// The maximum of `in_use` so far.
    pub peak: u64,
    /// Allocations served from the cache.
    pub hits: u64,
    /// Allocations requested from the driver.
    pub misses: u64,
}

/// Counts since a device was opened. All fields are 0 for a device that does not count, such as the
/// CPU.
///
/// ```rust
/// use isobit_hal::{BackendDevice, CpuDevice};
///
/// assert_eq!(CpuDevice.counters().launches, 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Kernels launched, excluding those in graphs.
    pub launches: u64,
    /// Graphs replayed.
    pub graph_replays: u64,
    /// Calls to vendor libraries.
    pub vendor_calls: u64,
    /// Operations with [`Numerics::Vendor`](crate::Numerics::Vendor) that the portable kernels
    /// computed because the library could not.
    pub vendor_fallbacks: u64,
    /// Allocations served from the pool's cache.
    pub pool_hits: u64,
    /// Allocations requested from the driver.
    pub pool_misses: u64,
    /// Sources compiled at run time.
    pub compiles: u64,
    /// Sources whose compiled code was found on disk.
    pub compile_hits: u64,
}
