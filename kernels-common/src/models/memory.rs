//! The pool alone: threads that take and give back blocks of one size, at the same time as others
//! trim it or reach its limit.

use super::explore;
use crate::memory::caching_allocator::{Memory, Pool};
use crate::runtime::DevicePtr;
use crate::sync::Mutex;
use isobit_hal::{Error, ErrorKind, Result};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The size of a block, which is a class of the pool.
const BLOCK: usize = 512;

/// A source of memory that has room for some blocks.
#[derive(Debug)]
struct Source {
    room: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    live: BTreeSet<u64>,
}

impl Memory for Source {
    fn alloc(&self, bytes: usize) -> Result<DevicePtr> {
        assert_eq!(bytes, BLOCK);
        let mut state = self.state.lock();
        if state.live.len() == self.room {
            return Err(Error::new(ErrorKind::OutOfMemory, "no block is left"));
        }
        state.next += 0x1000;
        let next = state.next;
        state.live.insert(next);
        Ok(DevicePtr(next))
    }

    unsafe fn free(&self, ptr: DevicePtr) {
        assert!(self.state.lock().live.remove(&ptr.0), "{ptr:?} is freed twice");
    }

    fn free_and_total(&self) -> Result<(u64, u64)> {
        Ok((0, self.room.saturating_mul(BLOCK) as u64))
    }
}

/// A pool with its source, and who owns which block.
struct Shared {
    pool: Pool<()>,
    source: Source,
    owned: Mutex<BTreeSet<u64>>,
}

impl Shared {
    fn new(exact: bool, room: usize) -> Arc<Self> {
        let pool = Pool::new(exact);
        Arc::new(Self { pool, source: Source { room, state: Mutex::default() }, owned: Mutex::default() })
    }

    /// Takes a block, owns it for a while, and gives it back. Returns whether there was one.
    fn use_one(&self) -> bool {
        let Ok((ptr, class, ())) = self.pool.alloc(&self.source, BLOCK, |()| true) else { return false };
        assert!(self.owned.lock().insert(ptr.0), "{ptr:?} was handed out twice");
        assert!(self.source.state.lock().live.contains(&ptr.0), "{ptr:?} was handed out after its free");
        self.owned.lock().remove(&ptr.0);
        // SAFETY: the block is from `alloc` and is freed once.
        unsafe { self.pool.free(&self.source, ptr, class, ()) };
        true
    }

    /// Checks the statistics when nothing is in use.
    fn adds_up(&self, taken: u64) {
        let (stats, live) = (self.pool.stats(), self.source.state.lock().live.len());
        assert_eq!(stats.in_use, 0);
        assert_eq!(stats.hits + stats.misses, taken, "every block was cached or new");
        assert_eq!(stats.cached, (live * BLOCK) as u64, "what the source has given is cached");
        assert!(stats.peak >= BLOCK as u64);
        self.pool.trim(&self.source, 0);
        assert!(self.source.state.lock().live.is_empty(), "a trim gives all back");
    }
}

#[test]
fn two_threads_never_own_one_block() {
    explore(|| {
        let shared = Shared::new(false, usize::MAX);
        let theirs = shared.clone();
        let thread = loom::thread::spawn(move || assert!(theirs.use_one() && theirs.use_one()));
        assert!(shared.use_one());
        thread.join().unwrap();
        shared.adds_up(3);
    });
}

#[test]
fn a_trim_takes_no_block_that_is_in_use() {
    explore(|| {
        let shared = Shared::new(false, usize::MAX);
        assert!(shared.use_one());
        let (user, trimmer) = (shared.clone(), shared.clone());
        let user = loom::thread::spawn(move || assert!(user.use_one()));
        let trimmer = loom::thread::spawn(move || trimmer.pool.trim(&trimmer.source, 0));
        assert!(shared.use_one());
        user.join().unwrap();
        trimmer.join().unwrap();
        shared.adds_up(3);
    });
}

#[test]
fn an_exact_pool_counts_what_threads_use() {
    explore(|| {
        let shared = Shared::new(true, usize::MAX);
        let theirs = shared.clone();
        let thread = loom::thread::spawn(move || assert!(theirs.use_one()));
        assert!(shared.use_one());
        thread.join().unwrap();
        let stats = shared.pool.stats();
        assert_eq!((stats.in_use, stats.cached, stats.hits, stats.misses), (0, 0, 0, 2));
        assert!(shared.source.state.lock().live.is_empty());
    });
}

/// Two threads pass the check of the limit only one after the other.
#[test]
fn a_limit_holds_for_threads_together() {
    explore(|| {
        let shared = Shared::new(false, usize::MAX);
        shared.pool.set_limit(&shared.source, BLOCK as u64);
        let theirs = shared.clone();
        let thread = loom::thread::spawn(move || u64::from(theirs.use_one()));
        let taken = u64::from(shared.use_one()) + thread.join().unwrap();
        assert!((1..=2).contains(&taken), "one of two requests fits");
        assert_eq!(shared.pool.stats().peak, BLOCK as u64);
        shared.adds_up(taken);
    });
}

/// A request that meets the end of the memory trims the cache and asks again. If it still fails,
/// nothing stays counted.
#[test]
fn a_request_at_the_end_of_memory_leaves_no_trace() {
    explore(|| {
        let shared = Shared::new(false, 1);
        let theirs = shared.clone();
        let thread = loom::thread::spawn(move || u64::from(theirs.use_one()));
        let taken = u64::from(shared.use_one()) + thread.join().unwrap();
        assert!(taken >= 1, "one of two requests fits");
        shared.adds_up(taken);
    });
}
