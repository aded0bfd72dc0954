//! The caching memory pool of a device, written once for every driver.
//!
//! A vendor's free call stalls the device, and AMD's stream-ordered allocator is unsafe under threads, so freed blocks are kept and
//! handed out again. Work on a device runs in one order, that of its stream, so a block may be reused while work on its old
//! content is still pending.

use crate::runtime::{DevicePtr, GpuRuntime};
use isobit_hal::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What a pool holds, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PoolStats {
    /// In live storages, rounded up to the pool's classes.
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

#[derive(Debug, Default)]
struct State {
    free: BTreeMap<usize, Vec<DevicePtr>>,
    stats: PoolStats,
}

/// A pool; its owner calls [`release_all`](Self::release_all) before the runtime goes.
#[derive(Debug)]
pub(crate) struct Pool {
    state: Mutex<State>,
    cap: Mutex<u64>,
}

/// The size a request is rounded up to: 512 bytes at least, else an eighth of the power of two below, so that at most an eighth is lost.
fn class_of(bytes: usize) -> Option<usize> {
    let step = (1usize << bytes.max(1).ilog2() >> 3).max(512);
    bytes.checked_next_multiple_of(step)
}

impl Pool {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::default(), cap: Mutex::new(u64::MAX) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block of at least `bytes`, and the size to give it back with.
    pub(crate) fn alloc<R: GpuRuntime>(&self, runtime: &R, bytes: usize) -> Result<(DevicePtr, usize)> {
        if bytes == 0 {
            return Ok((DevicePtr(0), 0));
        }
        let class = class_of(bytes).filter(|&c| c <= isize::MAX as usize);
        let class = class.ok_or_else(|| self.out_of_memory(runtime, bytes, None))?;
        let cached = {
            let mut state = self.state();
            let ptr = state.free.get_mut(&class).and_then(Vec::pop);
            if ptr.is_some() {
                state.stats.cached -= class as u64;
                state.stats.hits += 1;
            }
            ptr
        };
        let ptr = match cached {
            Some(ptr) => ptr,
            None => {
                let ptr = self.ask_driver(runtime, bytes, class)?;
                self.state().stats.misses += 1;
                ptr
            }
        };
        let stats = &mut self.state().stats;
        stats.in_use += class as u64;
        stats.peak = stats.peak.max(stats.in_use);
        Ok((ptr, class))
    }

    fn ask_driver<R: GpuRuntime>(&self, runtime: &R, bytes: usize, class: usize) -> Result<DevicePtr> {
        match runtime.alloc(class) {
            Err(e) if e.kind() == ErrorKind::OutOfMemory => {
                self.trim(runtime, 0);
                runtime.alloc(class).map_err(|e| match e.kind() {
                    ErrorKind::OutOfMemory => self.out_of_memory(runtime, bytes, Some(e)),
                    _ => e,
                })
            }
            other => other,
        }
    }

    #[cold]
    fn out_of_memory<R: GpuRuntime>(&self, runtime: &R, bytes: usize, cause: Option<Error>) -> Error {
        let stats = self.state().stats;
        let device = match runtime.memory() {
            Ok((free, total)) => format!("{free} of {total} bytes of the device are free"),
            Err(e) => format!("the device does not say what is free: {e}"),
        };
        let message = format!(
            "cannot allocate {bytes} bytes: {} are in use by this device's storages, {} cached, and {device}",
            stats.in_use, stats.cached
        );
        let error = Error::new(ErrorKind::OutOfMemory, message);
        match cause {
            Some(cause) => error.with_source(cause),
            None => error,
        }
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// `ptr` and `class` came from [`alloc`](Self::alloc) with this runtime and are given back once.
    pub(crate) unsafe fn free<R: GpuRuntime>(&self, runtime: &R, ptr: DevicePtr, class: usize) {
        if class == 0 {
            return;
        }
        let over = {
            let mut state = self.state();
            state.stats.in_use -= class as u64;
            state.stats.cached += class as u64;
            state.free.entry(class).or_default().push(ptr);
            state.stats.cached > *self.cap.lock().unwrap_or_else(PoisonError::into_inner)
        };
        if over {
            let cap = *self.cap.lock().unwrap_or_else(PoisonError::into_inner);
            self.trim(runtime, cap);
        }
    }

    /// Returns cached blocks to the driver, largest first, until at most `keep` bytes stay cached.
    pub(crate) fn trim<R: GpuRuntime>(&self, runtime: &R, keep: u64) {
        let mut released = Vec::new();
        {
            let mut state = self.state();
            while state.stats.cached > keep {
                let Some(mut entry) = state.free.last_entry() else { break };
                let class = *entry.key();
                match entry.get_mut().pop() {
                    Some(ptr) => {
                        state.stats.cached -= class as u64;
                        released.push(ptr);
                    }
                    None => {
                        entry.remove();
                    }
                }
            }
        }
        for ptr in released {
            // SAFETY: cached blocks belong to no storage, and the driver's free waits for pending work on them.
            unsafe { runtime.free(ptr) };
        }
    }

    pub(crate) fn set_cap<R: GpuRuntime>(&self, runtime: &R, cap: u64) {
        *self.cap.lock().unwrap_or_else(PoisonError::into_inner) = cap;
        self.trim(runtime, cap);
    }

    pub(crate) fn stats(&self) -> PoolStats {
        self.state().stats
    }
}

#[cfg(test)]
mod tests {
    use super::class_of;

    #[test]
    fn classes_lose_at_most_an_eighth() {
        for bytes in [1, 511, 512, 513, 4095, 4096, 5000, 1 << 20, (1 << 20) + 1, 123_456_789] {
            let class = class_of(bytes).unwrap();
            assert!(class >= bytes && class.is_multiple_of(512), "{bytes} gives {class}");
            assert!(class - bytes < (bytes / 8).max(512), "{bytes} gives {class}");
            assert_eq!(class_of(class), Some(class));
        }
        assert_eq!(class_of(usize::MAX), None);
    }
}
