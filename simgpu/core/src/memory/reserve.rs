//! An address range that is reserved as a whole and committed as needed.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory is committed in steps of this many bytes.
const STEP: usize = 64 << 20;

/// Reserved addresses. The first part is committed and reads as zero until it is written.
pub(super) struct Reservation {
    base: *mut u8,
    len: usize,
    committed: AtomicUsize,
}

// SAFETY: the reservation is only a range of addresses; whoever dereferences them is responsible
// for the accesses.
unsafe impl Send for Reservation {}
// SAFETY: as above; `committed` is atomic.
unsafe impl Sync for Reservation {}

impl Reservation {
    pub(super) fn new(len: usize) -> io::Result<Self> {
        let len = len.next_multiple_of(STEP);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new anonymous mapping at an address chosen by the system does not affect
        // existing memory.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Successive allocations use memory all over the range: with small pages, a tenth of a run
        // was spent on first accesses. If the system has no large pages, small ones are used.
        // SAFETY: this is the mapping that was just made.
        unsafe { libc::madvise(base, len, libc::MADV_HUGEPAGE) };
        Ok(Self { base: base.cast(), len, committed: AtomicUsize::new(0) })
    }

    #[inline(always)]
    pub(super) fn base(&self) -> *mut u8 {
        self.base
    }

    /// Commits the first `bytes` bytes.
    pub(super) fn commit(&self, bytes: usize) -> io::Result<()> {
        let have = self.committed.load(Ordering::Acquire);
        if bytes <= have {
            return Ok(());
        }
        let want = bytes.next_multiple_of(STEP).min(self.len);
        if bytes > want {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        // SAFETY: the range is inside the mapping made by `new`, and making inaccessible pages
        // accessible does not invalidate references. Two threads that do this at once set the same
        // protection.
        let failed =
            unsafe { libc::mprotect(self.base.add(have).cast(), want - have, libc::PROT_READ | libc::PROT_WRITE) };
        if failed != 0 {
            return Err(io::Error::last_os_error());
        }
        self.committed.fetch_max(want, Ordering::AcqRel);
        Ok(())
    }

    /// Sets `bytes` bytes from `offset` to zero. Whole pages are returned to the system; the rest
    /// is written.
    ///
    /// # Safety
    ///
    /// The bytes must be committed, and nothing else may access them meanwhile.
    pub(super) unsafe fn zero(&self, offset: usize, bytes: usize) {
        const PAGE: usize = 4096;
        /// Below this size, writing zeros is cheaper than a system call and new pages.
        const WORTH_A_CALL: usize = 256 << 10;
        let (mut start, mut end) = (offset, offset + bytes);
        if bytes >= WORTH_A_CALL {
            (start, end) = (offset.next_multiple_of(PAGE), (offset + bytes) / PAGE * PAGE);
            // SAFETY: these are whole pages of the private anonymous mapping, so they read as zero
            // afterwards. The caller promises that nothing uses them.
            unsafe { libc::madvise(self.base.add(start).cast(), end - start, libc::MADV_DONTNEED) };
            // SAFETY: these are the caller's bytes before and after the pages.
            unsafe {
                self.base.add(offset).write_bytes(0, start - offset);
                self.base.add(end).write_bytes(0, offset + bytes - end);
            }
            return;
        }
        // SAFETY: these are the caller's bytes.
        unsafe { self.base.add(start).write_bytes(0, end - start) };
    }

    /// Sets everything to zero.
    ///
    /// # Safety
    ///
    /// Nothing else may access the memory meanwhile.
    pub(super) unsafe fn clear(&self) {
        let committed = self.committed.load(Ordering::Acquire);
        // SAFETY: guaranteed by the caller, for the committed part.
        unsafe { self.zero(0, committed) };
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: this is the whole mapping made by `new`, and its owner is being dropped, so
        // nothing uses it any more.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}
