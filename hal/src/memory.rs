//! What a device says of the memory that its storages live in.

/// What the memory pool of a device holds, in bytes. All 0 for a device without one, such as the CPU.
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
