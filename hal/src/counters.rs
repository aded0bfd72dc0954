//! What a device has done so far, counted.

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
    /// Operations with [`Numerics::Vendor`](crate::Numerics::Vendor) that the portable kernels did because the library could not.
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
