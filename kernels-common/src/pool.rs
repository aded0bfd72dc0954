//! The caching memory pool of a device, written once for every driver.
//!
//! A vendor's free call stalls the device, and AMD's stream-ordered allocator is unsafe under threads, so freed blocks are kept and
//! handed out again. Work on a device runs in one order, that of its stream, so a block may be reused while work on its old
//! content is still pending.
//!
//! In exact mode there is no caching: every storage is the driver's own allocation of just its bytes, returned when it is dropped. What checks
//! memory accesses (a simulated GPU, compute-sanitizer) then knows the bounds of each tensor.

use crate::runtime::{DevicePtr, GpuRuntime};
use isobit_hal::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::{Mutex, PoisonError};

/// `exact` turns caching off; see the module's text. Unset or empty for the pool.
pub const POOL_VARIABLE: &str = "ISOBIT_POOL";

/// Where a pool's memory comes from.
pub(crate) trait Memory {
    /// As [`GpuRuntime::alloc`].
    fn alloc(&self, bytes: usize) -> Result<DevicePtr>;

    /// As [`GpuRuntime::free`].
    ///
    /// # Safety
    /// As there.
    unsafe fn free(&self, ptr: DevicePtr);

    /// As [`GpuRuntime::memory`].
    fn free_and_total(&self) -> Result<(u64, u64)>;
}

impl<R: GpuRuntime> Memory for R {
    fn alloc(&self, bytes: usize) -> Result<DevicePtr> {
        GpuRuntime::alloc(self, bytes)
    }

    unsafe fn free(&self, ptr: DevicePtr) {
        // SAFETY: passed on.
        unsafe { GpuRuntime::free(self, ptr) };
    }

    fn free_and_total(&self) -> Result<(u64, u64)> {
        self.memory()
    }
}

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

/// A pool; its owner calls [`trim`](Self::trim) before the runtime goes.
#[derive(Debug)]
pub(crate) struct Pool {
    state: Mutex<State>,
    cap: Mutex<u64>,
    exact: bool,
}

/// The size a request is rounded up to: 512 bytes at least, else an eighth of the power of two below, so that at most an eighth is lost.
fn class_of(bytes: usize) -> Option<usize> {
    let step = (1usize << bytes.max(1).ilog2() >> 3).max(512);
    bytes.checked_next_multiple_of(step)
}

impl Pool {
    fn new(exact: bool) -> Self {
        Self { state: Mutex::default(), cap: Mutex::new(u64::MAX), exact }
    }

    /// A pool of the kind that [`POOL_VARIABLE`] asks for.
    pub(crate) fn of_environment() -> Result<Self> {
        Self::of_setting(std::env::var_os(POOL_VARIABLE).as_deref())
    }

    fn of_setting(setting: Option<&OsStr>) -> Result<Self> {
        match setting.and_then(OsStr::to_str) {
            Some("exact") => Ok(Self::new(true)),
            Some("") => Ok(Self::new(false)),
            None if setting.is_none() => Ok(Self::new(false)),
            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "{POOL_VARIABLE} is {:?}: set it to `exact`, or unset it for the caching pool",
                    setting.unwrap_or_default()
                ),
            )),
        }
    }

    /// The size that is asked of the driver for a request.
    fn block_of(&self, bytes: usize) -> Option<usize> {
        let block = if self.exact { Some(bytes) } else { class_of(bytes) };
        block.filter(|&b| b <= isize::MAX as usize)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block of at least `bytes`, and the size to give it back with.
    pub(crate) fn alloc<M: Memory>(&self, memory: &M, bytes: usize) -> Result<(DevicePtr, usize)> {
        if bytes == 0 {
            return Ok((DevicePtr(0), 0));
        }
        let class = self.block_of(bytes).ok_or_else(|| self.out_of_memory(memory, bytes, None))?;
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
                let ptr = self.ask_driver(memory, bytes, class)?;
                self.state().stats.misses += 1;
                ptr
            }
        };
        let stats = &mut self.state().stats;
        stats.in_use += class as u64;
        stats.peak = stats.peak.max(stats.in_use);
        Ok((ptr, class))
    }

    fn ask_driver<M: Memory>(&self, memory: &M, bytes: usize, class: usize) -> Result<DevicePtr> {
        match memory.alloc(class) {
            Err(e) if e.kind() == ErrorKind::OutOfMemory => {
                self.trim(memory, 0);
                memory.alloc(class).map_err(|e| match e.kind() {
                    ErrorKind::OutOfMemory => self.out_of_memory(memory, bytes, Some(e)),
                    _ => e,
                })
            }
            other => other,
        }
    }

    #[cold]
    fn out_of_memory<M: Memory>(&self, memory: &M, bytes: usize, cause: Option<Error>) -> Error {
        let stats = self.state().stats;
        let device = match memory.free_and_total() {
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
    pub(crate) unsafe fn free<M: Memory>(&self, memory: &M, ptr: DevicePtr, class: usize) {
        if class == 0 {
            return;
        }
        if self.exact {
            self.state().stats.in_use -= class as u64;
            // SAFETY: the block's owner gives it up here, and the driver's free waits for pending work on it.
            unsafe { memory.free(ptr) };
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
            self.trim(memory, cap);
        }
    }

    /// Returns cached blocks to the driver, largest first, until at most `keep` bytes stay cached.
    pub(crate) fn trim<M: Memory>(&self, memory: &M, keep: u64) {
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
            unsafe { memory.free(ptr) };
        }
    }

    pub(crate) fn set_cap<M: Memory>(&self, memory: &M, cap: u64) {
        *self.cap.lock().unwrap_or_else(PoisonError::into_inner) = cap;
        self.trim(memory, cap);
    }

    pub(crate) fn stats(&self) -> PoolStats {
        self.state().stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out addresses, and remembers which blocks are live with their sizes.
    #[derive(Debug, Default)]
    struct Books(Mutex<BTreeMap<u64, usize>>);

    impl Memory for Books {
        fn alloc(&self, bytes: usize) -> Result<DevicePtr> {
            if bytes > 1 << 30 {
                return Err(Error::new(ErrorKind::OutOfMemory, "the books are full"));
            }
            let mut live = self.0.lock().unwrap();
            let ptr = live.last_key_value().map_or(4096, |(ptr, size)| (ptr + *size as u64).next_multiple_of(256));
            live.insert(ptr, bytes);
            Ok(DevicePtr(ptr))
        }

        unsafe fn free(&self, ptr: DevicePtr) {
            self.0.lock().unwrap().remove(&ptr.0).expect("a block is freed once");
        }

        fn free_and_total(&self) -> Result<(u64, u64)> {
            Ok((0, 1 << 30))
        }
    }

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

    #[test]
    fn the_pool_keeps_what_is_given_back() {
        let (pool, books) = (Pool::new(false), Books::default());
        for _ in 0..3 {
            let (ptr, class) = pool.alloc(&books, 1000).unwrap();
            // SAFETY: from `alloc`, given back once.
            unsafe { pool.free(&books, ptr, class) };
        }
        assert_eq!((pool.stats().misses, pool.stats().hits, pool.stats().cached), (1, 2, 1024));
        pool.trim(&books, 0);
        assert!(books.0.lock().unwrap().is_empty());
    }

    #[test]
    fn in_exact_mode_each_block_is_its_own_and_goes_back_at_once() {
        let (pool, books) = (Pool::new(true), Books::default());
        for bytes in [1, 1000, 12_345] {
            let (ptr, class) = pool.alloc(&books, bytes).unwrap();
            assert_eq!(books.0.lock().unwrap().get(&ptr.0), Some(&bytes));
            assert_eq!(pool.stats().in_use, bytes as u64);
            // SAFETY: from `alloc`, given back once.
            unsafe { pool.free(&books, ptr, class) };
            assert!(books.0.lock().unwrap().is_empty());
        }
        assert_eq!((pool.stats().in_use, pool.stats().cached, pool.stats().hits), (0, 0, 0));
        assert_eq!(pool.alloc(&books, 0).unwrap(), (DevicePtr(0), 0), "an empty buffer has no block");
        assert_eq!(pool.alloc(&books, usize::MAX).unwrap_err().kind(), ErrorKind::OutOfMemory);
        assert_eq!(pool.alloc(&books, 1 << 31).unwrap_err().kind(), ErrorKind::OutOfMemory);
    }

    #[test]
    fn the_variable_knows_one_word() {
        assert!(Pool::of_setting(Some("exact".as_ref())).unwrap().exact);
        assert!(!Pool::of_setting(Some("".as_ref())).unwrap().exact);
        assert!(!Pool::of_setting(None).unwrap().exact);
        let error = Pool::of_setting(Some("exakt".as_ref())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("exakt"), "{error}");
    }
}
