//! Counters of a device's activity. They use no locks and are not ordered with anything else.

use crate::sync::atomic::{AtomicU64, Ordering};
use isobit_hal::{Counters, PoolStats};

/// A counter.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Adds one.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The fields of [`Counters`] that a device counts itself; the others come from the pool.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) launches: Count,
    pub(crate) graph_replays: Count,
    pub(crate) vendor_calls: Count,
    pub(crate) vendor_fallbacks: Count,
    pub(crate) compiles: Count,
    pub(crate) compile_hits: Count,
}

impl Counts {
    /// Returns all counters, including those of the pool.
    pub(crate) fn with(&self, pool: &PoolStats) -> Counters {
        let mut all = Counters::default();
        all.launches = self.launches.get();
        all.graph_replays = self.graph_replays.get();
        all.vendor_calls = self.vendor_calls.get();
        all.vendor_fallbacks = self.vendor_fallbacks.get();
        all.pool_hits = pool.hits;
        all.pool_misses = pool.misses;
        all.compiles = self.compiles.get();
        all.compile_hits = self.compile_hits.get();
        all
    }
}
