//! The memory of the simulated devices: one arena in this process, in which device addresses are
//! host addresses.
//!
//! Allocations are separated by gaps, and freed memory is not reused for a while. So an access
//! slightly outside a buffer, or after its release, does not hit another live allocation.

mod host;
mod ranges;
mod reserve;
mod shadow;
mod table;

pub(crate) use ranges::ALIGN;
pub(crate) use shadow::{BLOCK, Shadow, written};
pub use table::{Named, Table};

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use ranges::Ranges;
use reserve::Reservation;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The purpose of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Device memory, uninitialised until something writes it.
    Device,
    /// Host memory that kernels can access. Writes by the host are not observed, so all of it
    /// counts as initialised.
    Pinned,
    /// A loaded module; initialised, and read-only for kernels.
    Code,
    /// Other data that a launch reads, such as arguments; initialised, and read-only for kernels.
    Constant,
    /// Memory through which the code of a vendor's device library talks to the host. Both write it
    /// with an order of their own, so only bounds and alignment are checked.
    Runtime,
}

/// An allocation.
#[derive(Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The address of the first byte, a multiple of 256.
    pub base: u64,
    /// The size in bytes; the next byte belongs to no allocation.
    pub bytes: u64,
    /// The purpose.
    pub kind: Kind,
    /// Its number in the order of allocation, from 1.
    pub number: u64,
    /// The name given by the caller; may be empty.
    pub name: String,
}

impl Allocation {
    /// Returns the addresses of its bytes.
    pub fn range(&self) -> Range<u64> {
        self.base..self.base + self.bytes
    }
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "allocation #{} of {} bytes", self.number, self.bytes)?;
        if self.name.is_empty() { Ok(()) } else { write!(f, " ({})", self.name) }
    }
}

/// The error of an allocation for which there is not enough memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Requested bytes.
    pub bytes: u64,
    /// The memory in use.
    pub usage: Usage,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Usage { in_use, capacity, .. } = self.usage;
        let asked = self.bytes;
        write!(
            f,
            "{asked} bytes were requested; {in_use} of the {capacity} bytes of the simulated devices are in use "
        )?;
        f.write_str("(ISOBIT_SIM_MEMORY sets the total)")
    }
}

impl std::error::Error for OutOfMemory {}

/// The error of an address at which no live allocation starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAllocated {
    /// The address.
    pub address: u64,
    /// A description of the address.
    pub place: String,
}

impl fmt::Display for NotAllocated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no allocation starts at {:#x}, which is {}", self.address, self.place)
    }
}

impl std::error::Error for NotAllocated {}

/// The amount of memory in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes of the live allocations.
    pub in_use: u64,
    /// Bytes of the arena.
    pub capacity: u64,
    /// The maximum that was ever in use.
    pub peak: u64,
}

struct Book {
    ranges: Ranges,
    live: BTreeMap<u64, Arc<Allocation>>,
    freed: BTreeMap<u64, Arc<Allocation>>,
    table: Option<Arc<Table>>,
    allocated: u64,
    usage: Usage,
    dispatches: u64,
}

/// The memory of the simulated devices of this process.
pub struct Memory {
    arena: Reservation,
    shadow: Shadow,
    book: Mutex<Book>,
    /// Held for reading by every launch, and for writing while the access shadows are cleared.
    launches: RwLock<()>,
}

/// A launch number that is unique among the launches recorded in the shadows. The launch runs while
/// this value exists.
pub(crate) struct Dispatch<'a> {
    pub(crate) number: u64,
    _running: RwLockReadGuard<'a, ()>,
}

/// Dispatch numbers are below this. When it is reached, the shadows are cleared and numbering
/// restarts.
pub(crate) const DISPATCHES: u64 = 1 << 16;

impl Memory {
    /// Creates an arena of `capacity` bytes, which use host memory only when they are needed.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot reserve the address range.
    pub fn new(capacity: u64) -> io::Result<Self> {
        let bytes = usize::try_from(capacity).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let usage = Usage { capacity, ..Usage::default() };
        let (live, freed) = Default::default();
        Ok(Self {
            arena: Reservation::new(bytes)?,
            shadow: Shadow::new(bytes)?,
            book: Mutex::new(Book {
                ranges: Ranges::new(capacity),
                live,
                freed,
                table: None,
                allocated: 0,
                usage,
                dispatches: 0,
            }),
            launches: RwLock::new(()),
        })
    }

    /// Allocates `bytes` bytes at a multiple of 256. An allocation of zero bytes is valid, but no
    /// byte of it may be accessed.
    ///
    /// # Errors
    ///
    /// Fails if the arena has no free range of this size, or the host has no memory for it.
    pub fn alloc(&self, bytes: usize, kind: Kind, name: &str) -> Result<u64, OutOfMemory> {
        let bytes = bytes as u64;
        let mut book = self.book.lock();
        let book = &mut *book;
        let error = OutOfMemory { bytes, usage: book.usage };
        let mut forgotten = Vec::new();
        let taken = book.ranges.take(bytes, &mut forgotten);
        for start in forgotten {
            book.freed.remove(&(self.start() + start));
        }
        let offset = taken.ok_or_else(|| error.clone())?;
        let top = book.ranges.top() as usize;
        if self.arena.commit(top).and_then(|()| self.shadow.commit(top)).is_err() {
            book.ranges.give_back(offset, bytes, &mut Vec::new());
            return Err(error);
        }
        // SAFETY: the memory was just committed, and nothing else knows of the allocation yet.
        unsafe { self.shadow.set_initialised(offset, bytes, kind.initialised()) };
        book.allocated += 1;
        let base = self.start() + offset;
        book.live
            .insert(base, Arc::new(Allocation { base, bytes, kind, number: book.allocated, name: name.to_owned() }));
        book.table = None;
        book.usage.in_use += bytes;
        book.usage.peak = book.usage.peak.max(book.usage.in_use);
        Ok(base)
    }

    /// Frees the allocation that starts at `base`. The caller must ensure that no work uses it any
    /// more.
    ///
    /// # Errors
    ///
    /// Fails if no live allocation starts there.
    pub fn free(&self, base: u64) -> Result<(), NotAllocated> {
        let mut book = self.book.lock();
        let Some(gone) = book.live.remove(&base) else {
            let place = self.name_in(&mut book, base, 0).place;
            return Err(NotAllocated { address: base, place });
        };
        book.usage.in_use -= gone.bytes;
        // Returns the memory to the host if it is large. SAFETY: these are the allocation's own
        // bytes, and the caller promises that nothing uses them any more.
        unsafe { self.arena.zero((base - self.start()) as usize, gone.bytes as usize) };
        let mut forgotten = Vec::new();
        book.ranges.give_back(base - self.start(), gone.bytes, &mut forgotten);
        book.freed.insert(base, gone);
        for start in forgotten {
            book.freed.remove(&(self.start() + start));
        }
        book.table = None;
        Ok(())
    }

    /// Returns the live allocation that contains `address`.
    pub fn find(&self, address: u64) -> Option<Arc<Allocation>> {
        let book = self.book.lock();
        let (_, last) = book.live.range(..=address).next_back()?;
        (address < last.base + last.bytes).then(|| last.clone())
    }

    /// Returns the current allocations. Costs nothing if they have not changed.
    pub fn table(&self) -> Arc<Table> {
        self.table_of(&mut self.book.lock())
    }

    fn table_of(&self, book: &mut Book) -> Arc<Table> {
        let Book { table, live, .. } = book;
        table.get_or_insert_with(|| Arc::new(Table::new(live.values().cloned().collect()))).clone()
    }

    /// Returns the description of the `bytes` bytes at `address` for findings, even if they were
    /// freed or are outside every allocation.
    pub fn name(&self, address: u64, bytes: u64) -> Named {
        self.name_in(&mut self.book.lock(), address, bytes)
    }

    fn name_in(&self, book: &mut Book, address: u64, bytes: u64) -> Named {
        let freed = book.freed.range(..=address).next_back().map(|(_, freed)| freed);
        let Some(freed) = freed.filter(|freed| address < freed.base + freed.bytes) else {
            return self.table_of(book).name(address, bytes);
        };
        let offset = (address - freed.base) as i64;
        Named { buffer: format!("freed {freed}"), offset, place: format!("in the freed {freed}, at byte {offset}") }
    }

    /// Returns the amount of memory in use.
    pub fn usage(&self) -> Usage {
        self.book.lock().usage
    }

    /// Whether the arena contains the address, allocated or not.
    pub fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.start()) < self.book.lock().usage.capacity
    }

    /// Returns the address of the arena's first byte.
    #[inline(always)]
    pub(crate) fn start(&self) -> u64 {
        self.arena.base() as u64
    }

    #[inline(always)]
    pub(crate) fn shadow(&self) -> &Shadow {
        &self.shadow
    }

    /// Starts a launch.
    pub(crate) fn dispatch(&self) -> Dispatch<'_> {
        let next = |book: &mut Book| {
            book.dispatches += 1;
            (book.dispatches < DISPATCHES).then_some(book.dispatches)
        };
        let running = self.launches.read();
        if let Some(number) = next(&mut self.book.lock()) {
            return Dispatch { number, _running: running };
        }
        drop(running);
        let alone = self.launches.write();
        if self.book.lock().dispatches >= DISPATCHES {
            // SAFETY: the lock is held for writing, so no launch runs.
            unsafe { self.shadow.forget_accesses() };
            self.book.lock().dispatches = 0;
        }
        drop(alone);
        self.dispatch()
    }
}
