//! The caching memory pool of a device, shared by all drivers.
//!
//! A vendor's free call stalls the device, and AMD's stream-ordered allocator is not thread-safe.
//! Freed blocks are therefore cached and reused, even while work on their old content is still
//! pending: a block keeps its record of uses in the pool, and the next user waits for those on
//! other streams.
//!
//! Exact mode disables caching: each storage is a separate allocation of exactly its size from the
//! driver, freed when the storage is dropped. Tools that check memory accesses (a simulated GPU,
//! compute-sanitizer) then know the bounds of each tensor.

use crate::runtime::{DevicePtr, MemoryRuntime};
use crate::sync::Mutex;
use isobit_hal::{Error, ErrorKind, PoolStats, Result, trace};
use std::collections::BTreeMap;
use std::ffi::OsStr;

/// Set to `exact` to disable caching; see the module documentation. Unset or empty selects the
/// caching pool.
pub const POOL_VARIABLE: &str = "ISOBIT_POOL";

/// The source of a pool's memory.
pub(crate) trait Memory {
    /// See [`MemoryRuntime::alloc`].
    fn alloc(&self, bytes: usize) -> Result<DevicePtr>;

    /// See [`MemoryRuntime::free`].
    ///
    /// # Safety
    /// See [`MemoryRuntime::free`].
    unsafe fn free(&self, ptr: DevicePtr);

    /// See [`MemoryRuntime::memory`].
    fn free_and_total(&self) -> Result<(u64, u64)>;
}

impl<R: MemoryRuntime> Memory for R {
    fn alloc(&self, bytes: usize) -> Result<DevicePtr> {
        MemoryRuntime::alloc(self, bytes)
    }

    unsafe fn free(&self, ptr: DevicePtr) {
        // SAFETY: the caller upholds the contract of `MemoryRuntime::free`, which is the same.
        unsafe { MemoryRuntime::free(self, ptr) };
    }

    fn free_and_total(&self) -> Result<(u64, u64)> {
        self.memory()
    }
}

#[derive(Debug)]
struct State<U> {
    free: BTreeMap<usize, Vec<(DevicePtr, U)>>,
    stats: PoolStats,
    /// The maximum number of bytes in use and cached together.
    limit: u64,
    /// The maximum number of cached bytes.
    cache_limit: u64,
}

impl<U> State<U> {
    /// Removes blocks from the cache, largest first, until at most `keep` bytes remain.
    fn release(&mut self, keep: u64) -> Vec<DevicePtr> {
        let mut released = Vec::new();
        while self.stats.cached > keep {
            let Some(mut entry) = self.free.last_entry() else { break };
            let class = *entry.key();
            match entry.get_mut().pop() {
                Some((ptr, _)) => {
                    self.stats.cached -= class as u64;
                    released.push(ptr);
                }
                None => {
                    entry.remove();
                }
            }
        }
        released
    }

    fn count_peak(&mut self) {
        self.stats.peak = self.stats.peak.max(self.stats.in_use);
    }
}

/// A pool whose blocks carry a record of their uses. Its owner calls [`trim`](Self::trim) before
/// the runtime is dropped.
#[derive(Debug)]
pub(crate) struct Pool<U> {
    state: Mutex<State<U>>,
    exact: bool,
}

/// Returns the size that a request is rounded up to: a multiple of an eighth of its power of two
/// (rounded down), and of at least 512 bytes. Above that minimum, at most an eighth is lost.
fn class_of(bytes: usize) -> Option<usize> {
    let step = (1usize << bytes.max(1).ilog2() >> 3).max(512);
    bytes.checked_next_multiple_of(step)
}

impl<U: Default> Pool<U> {
    pub(crate) fn new(exact: bool) -> Self {
        let state =
            State { free: BTreeMap::new(), stats: PoolStats::default(), limit: u64::MAX, cache_limit: u64::MAX };
        Self { state: Mutex::new(state), exact }
    }

    /// Creates the kind of pool that [`POOL_VARIABLE`] selects.
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

    /// Returns the size to request from the driver.
    pub(crate) fn block_of(&self, bytes: usize) -> Option<usize> {
        let block = if self.exact { Some(bytes) } else { class_of(bytes) };
        block.filter(|&b| b <= isize::MAX as usize)
    }

    /// Allocates a block of at least `bytes` bytes. Returns its address, the size to free it with,
    /// and its uses so far. Prefers a block for which `suits` returns true.
    ///
    /// # Errors
    /// Returns `OutOfMemory` or the driver's error.
    pub(crate) fn alloc<M: Memory>(
        &self,
        memory: &M,
        bytes: usize,
        suits: impl Fn(&U) -> bool,
    ) -> Result<(DevicePtr, usize, U)> {
        if bytes == 0 {
            return Ok((DevicePtr(0), 0, U::default()));
        }
        let class = self.block_of(bytes).ok_or_else(|| self.out_of_memory(memory, bytes, None))?;
        let released = {
            let mut state = self.state.lock();
            if let Some((ptr, uses)) = state.free.get_mut(&class).and_then(|blocks| take(blocks, suits)) {
                state.stats.cached -= class as u64;
                state.stats.hits += 1;
                state.stats.in_use += class as u64;
                state.count_peak();
                return Ok((ptr, class, uses));
            }
            let others = state.stats.in_use.saturating_add(class as u64);
            if others > state.limit {
                drop(state);
                return Err(self.out_of_memory(memory, bytes, None));
            }
            let room = state.limit - others;
            // Counted before the allocation, so that concurrent threads do not exceed the limit
            // together.
            state.stats.in_use += class as u64;
            state.release(room)
        };
        // SAFETY: the blocks were removed from the cache, so nothing owns them.
        unsafe { give_back(memory, released) };
        match self.ask_driver(memory, bytes, class) {
            Ok(ptr) => {
                let mut state = self.state.lock();
                state.stats.misses += 1;
                state.count_peak();
                Ok((ptr, class, U::default()))
            }
            Err(e) => {
                self.state.lock().stats.in_use -= class as u64;
                Err(e)
            }
        }
    }

    fn ask_driver<M: Memory>(&self, memory: &M, bytes: usize, class: usize) -> Result<DevicePtr> {
        tracing::debug!(target: trace::TARGET, bytes = class, "the pool grows");
        match memory.alloc(class) {
            Err(e) if e.kind() == ErrorKind::OutOfMemory => {
                self.trim(memory, 0);
                memory.alloc(class).map_err(|e| match e.kind() {
                    ErrorKind::OutOfMemory => self.out_of_memory(memory, bytes, Some((class, e))),
                    _ => e,
                })
            }
            other => other,
        }
    }

    /// Returns the error for a failed request. `cause` is set if the driver failed: the class,
    /// which already counts as in use, and the driver's error.
    #[cold]
    fn out_of_memory<M: Memory>(&self, memory: &M, bytes: usize, cause: Option<(usize, Error)>) -> Error {
        let (stats, limit) = {
            let state = self.state.lock();
            (state.stats, state.limit)
        };
        let in_use = stats.in_use - cause.as_ref().map_or(0, |(class, _)| *class as u64);
        let device = match memory.free_and_total() {
            Ok((free, total)) => format!("{free} of {total} bytes of the device are free"),
            Err(e) => format!("the free memory of the device is unknown: {e}"),
        };
        let limit = match limit {
            u64::MAX => String::new(),
            limit => format!("; the limit set for this device's storages and cache is {limit} bytes"),
        };
        let message = format!(
            "cannot allocate {bytes} bytes: {in_use} are in use by this device's storages, {} cached, and {device}{limit}",
            stats.cached
        );
        let error = Error::new(ErrorKind::OutOfMemory, message);
        match cause {
            Some((_, cause)) => error.with_source(cause),
            None => error,
        }
    }

    /// Takes a block back, with its uses.
    ///
    /// # Safety
    /// `ptr` and `class` were returned by [`alloc`](Self::alloc) with this runtime and are freed
    /// once.
    pub(crate) unsafe fn free<M: Memory>(&self, memory: &M, ptr: DevicePtr, class: usize, uses: U) {
        if class == 0 {
            return;
        }
        if self.exact {
            self.state.lock().stats.in_use -= class as u64;
            // SAFETY: the owner gives up the block here, and the driver's free waits for pending
            // work on it.
            unsafe { memory.free(ptr) };
            return;
        }
        let released = {
            let mut state = self.state.lock();
            state.stats.in_use -= class as u64;
            state.stats.cached += class as u64;
            state.free.entry(class).or_default().push((ptr, uses));
            let keep = state.cache_limit.min(state.limit.saturating_sub(state.stats.in_use));
            if state.stats.cached > keep { state.release(keep) } else { Vec::new() }
        };
        // SAFETY: the blocks were removed from the cache, so nothing owns them.
        unsafe { give_back(memory, released) };
    }

    /// Returns cached blocks to the driver, largest first, until at most `keep` bytes remain
    /// cached.
    pub(crate) fn trim<M: Memory>(&self, memory: &M, keep: u64) {
        let released = self.state.lock().release(keep);
        // SAFETY: the blocks were removed from the cache, so nothing owns them.
        unsafe { give_back(memory, released) };
    }

    pub(crate) fn set_cache_limit<M: Memory>(&self, memory: &M, bytes: u64) {
        self.state.lock().cache_limit = bytes;
        self.trim(memory, bytes);
    }

    pub(crate) fn set_limit<M: Memory>(&self, memory: &M, bytes: u64) {
        let keep = {
            let mut state = self.state.lock();
            state.limit = bytes;
            bytes.saturating_sub(state.stats.in_use)
        };
        self.trim(memory, keep);
    }

    pub(crate) fn stats(&self) -> PoolStats {
        self.state.lock().stats
    }
}

/// Takes a suitable block from those of one class, preferring the ones freed last; otherwise the
/// one freed last.
fn take<U>(blocks: &mut Vec<(DevicePtr, U)>, suits: impl Fn(&U) -> bool) -> Option<(DevicePtr, U)> {
    const LOOKED_AT: usize = 8;
    let last = blocks.len().checked_sub(1)?;
    let from = blocks.len().saturating_sub(LOOKED_AT);
    let suitable = (from..blocks.len()).rev().find(|&i| suits(&blocks[i].1));
    Some(blocks.swap_remove(suitable.unwrap_or(last)))
}

/// # Safety
/// The blocks came from this memory, and nothing owns them.
unsafe fn give_back<M: Memory>(memory: &M, blocks: Vec<DevicePtr>) {
    if !blocks.is_empty() {
        tracing::debug!(target: trace::TARGET, blocks = blocks.len(), "the pool returns memory to the driver");
    }
    for ptr in blocks {
        // SAFETY: the caller promises it; the driver's free waits for pending work.
        unsafe { memory.free(ptr) };
    }
}

#[cfg(test)]
mod tests;
