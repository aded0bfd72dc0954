//! Watches what one turn of a work group does to global memory.
//!
//! A group that waits repeats itself: it returns to an earlier state without having changed a byte.
//! Whether it did is only asked of groups that may be waiting, so ordinary accesses must not pay
//! for it. A watched turn therefore forgets the caches of allocations ([`SiteCache`]) before each
//! instruction. Every access then takes the path of a cache miss, and that path looks here.
//!
//! The alternative, a hash of all memory before and after, would cost more the more memory a
//! program has, and would miss a byte that changes and changes back.
//!
//! [`SiteCache`]: crate::check::SiteCache

use crate::check::part::Part;
use crate::check::{Access, Place, lanes_of};
use crate::memory::{Kind, Table};
use std::cell::{Cell, RefCell};

/// Number of polled places that are remembered for the finding.
const POLLS: usize = 4;

/// A place in memory that threads read while they wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Poll {
    pub(crate) who: Place,
    pub(crate) lane: u32,
    pub(crate) site: u32,
    pub(crate) address: u64,
    pub(crate) bytes: u32,
}

/// What a turn did.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// A byte of global memory got another value.
    pub(crate) changed: bool,
    /// It read a clock, so that it may end by itself.
    pub(crate) clock: bool,
    /// It read memory that the host can write at any time.
    pub(crate) host: bool,
    /// The first places that it read.
    pub(crate) polls: Vec<Poll>,
}

#[derive(Default)]
struct Watch {
    seen: Seen,
    /// Written bytes, with their values before the first write that was not compared yet.
    before: Vec<(u64, Vec<u8>)>,
}

thread_local! {
    static ON: Cell<bool> = const { Cell::new(false) };
    static WATCH: RefCell<Watch> = RefCell::default();
}

/// Whether the turn that runs on this thread is watched.
#[inline]
pub(crate) fn on() -> bool {
    ON.get()
}

/// Calls `turn`, which runs one group on this thread, and returns what it did.
pub(crate) fn during<T>(turn: impl FnOnce() -> T) -> (T, Seen) {
    /// Ends the watch, also if the turn panics.
    struct Off;
    impl Drop for Off {
        fn drop(&mut self) {
            ON.set(false);
        }
    }
    WATCH.set(Watch::default());
    ON.set(true);
    let off = Off;
    let result = turn();
    drop(off);
    let Watch { mut seen, before } = WATCH.take();
    seen.changed |= before.iter().any(|(address, bytes)| differs(*address, bytes));
    (result, seen)
}

/// Records that the running turn read a clock. Kernels that read one can stop waiting by
/// themselves.
pub fn clock_was_read() {
    if on() {
        WATCH.with_borrow_mut(|watch| watch.seen.clock = true);
    }
}

/// Records an effect of the running turn that is not a write to memory, such as printed text. A
/// group with effects does not wait.
pub fn has_effect() {
    if on() {
        WATCH.with_borrow_mut(|watch| watch.seen.changed = true);
    }
}

/// Records an access that an instruction is about to make in the lanes of a mask.
#[cold]
pub(crate) fn access(table: &Table, who: &Place, site: u32, access: Access, mask: u64, addresses: &[u64], bytes: u32) {
    WATCH.with_borrow_mut(|watch| {
        for lane in lanes_of(mask) {
            let address = addresses[lane as usize];
            // What lies outside is not accessed.
            let Some(found) = table.reached(address, bytes.into()) else { continue };
            let Some(Part { address, bytes, .. }) = Part::of(found.range(), address, bytes.into()) else { continue };
            if access.reads() && found.kind.writable() {
                watch.seen.host |= found.kind == Kind::Pinned;
                let polls = &mut watch.seen.polls;
                if polls.len() < POLLS && !polls.iter().any(|poll| (poll.site, poll.address) == (site, address)) {
                    polls.push(Poll { who: *who, lane, site, address, bytes: bytes as u32 });
                }
            }
            if access.writes() && found.kind.writable() {
                watch.writes(address, bytes);
            }
        }
    });
}

impl Watch {
    /// Compares what was written to these bytes before, and remembers their values.
    fn writes(&mut self, address: u64, bytes: usize) {
        let overlaps = |(at, was): &(u64, Vec<u8>)| *at < address + bytes as u64 && address < at + was.len() as u64;
        let mut known = false;
        for earlier in self.before.iter().filter(|earlier| overlaps(earlier)) {
            self.seen.changed |= differs(earlier.0, &earlier.1);
            known |= earlier.0 == address && earlier.1.len() == bytes;
        }
        if !known && !self.seen.changed {
            let was = (0..bytes as u64).map(|i| read(address + i)).collect();
            self.before.push((address, was));
        }
    }
}

fn differs(address: u64, was: &[u8]) -> bool {
    was.iter().enumerate().any(|(i, byte)| read(address + i as u64) != *byte)
}

/// Reads a byte of an allocation of the launch.
fn read(address: u64) -> u8 {
    // SAFETY: `access` found the byte in an allocation that was live when the launch began, and the
    // arena stays mapped. Other threads may write it at the same time, as for every access of a
    // simulated kernel; a volatile read takes whichever value is there.
    unsafe { (address as *const u8).read_volatile() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;

    #[test]
    fn an_access_that_lies_partly_in_memory_counts() {
        let memory = Memory::new(64 << 20).unwrap();
        let table = memory.table();
        for kind in [Kind::Device, Kind::Pinned] {
            let at = memory.alloc(400, kind, "").unwrap();
            let table = memory.table();
            let seen = |made: Access, value: Option<u8>| {
                let make = || {
                    access(&table, &Place::default(), 0, made, 1, &[at + 392], 16);
                    // SAFETY: the byte lies in the allocation.
                    value.inspect(|value| unsafe { ((at + 399) as *mut u8).write_volatile(*value) });
                };
                during(make).1
            };
            assert!(seen(Access::Store, Some(1)).changed);
            assert!(!seen(Access::Store, Some(1)).changed);
            let read = seen(Access::Load, None);
            assert_eq!((read.changed, read.host), (false, kind == Kind::Pinned));
            assert_eq!(read.polls.iter().map(|poll| (poll.address, poll.bytes)).collect::<Vec<_>>(), [(at + 392, 8)]);
        }
        let ((), seen) = during(|| access(&table, &Place::default(), 0, Access::Store, 1, &[64], 16));
        assert!(!seen.changed && seen.polls.is_empty());
    }
}
