//! A range of addresses that is reserved whole and given memory as it is needed.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory is added in steps of this many bytes.
const STEP: usize = 64 << 20;

/// Reserved addresses; the first part of them has memory, which reads zero until it is written.
pub(super) struct Reservation {
    base: *mut u8,
    len: usize,
    committed: AtomicUsize,
}

// SAFETY: the reservation is a range of addresses; what is done with its bytes is the affair of who
// dereferences them.
unsafe impl Send for Reservation {}
// SAFETY: as above; `committed` is atomic.
unsafe impl Sync for Reservation {}

impl Reservation {
    pub(super) fn new(len: usize) -> io::Result<Self> {
        let len = len.next_multiple_of(STEP);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new anonymous mapping at an address of the system's choice touches nothing that
        // exists.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Memory is used all over as allocations take turns in it: by small pages a tenth of a run
        // was spent in their first accesses. Where the system has no large ones, small ones serve.
        // SAFETY: the mapping just made.
        unsafe { libc::madvise(base, len, libc::MADV_HUGEPAGE) };
        Ok(Self { base: base.cast(), len, committed: AtomicUsize::new(0) })
    }

    #[inline(always)]
    pub(super) fn base(&self) -> *mut u8 {
        self.base
    }

    /// Sees to it that the first `bytes` bytes have memory.
    pub(super) fn commit(&self, bytes: usize) -> io::Result<()> {
        let have = self.committed.load(Ordering::Acquire);
        if bytes <= have {
            return Ok(());
        }
        let want = bytes.next_multiple_of(STEP).min(self.len);
        if bytes > want {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        // SAFETY: the range lies inside the mapping made by `new`; giving access to pages that had
        // none breaks no reference. Where two threads do it at once they give the same access.
        let failed =
            unsafe { libc::mprotect(self.base.add(have).cast(), want - have, libc::PROT_READ | libc::PROT_WRITE) };
        if failed != 0 {
            return Err(io::Error::last_os_error());
        }
        self.committed.fetch_max(want, Ordering::AcqRel);
        Ok(())
    }

    /// Makes `bytes` bytes from `offset` read zero: whole pages are given back to the system, the
    /// rest is written.
    ///
    /// # Safety
    ///
    /// The bytes have memory, and nothing else accesses them meanwhile.
    pub(super) unsafe fn zero(&self, offset: usize, bytes: usize) {
        const PAGE: usize = 4096;
        /// Below this, writing zeros is cheaper than a call and new pages.
        const WORTH_A_CALL: usize = 256 << 10;
        let (mut start, mut end) = (offset, offset + bytes);
        if bytes >= WORTH_A_CALL {
            (start, end) = (offset.next_multiple_of(PAGE), (offset + bytes) / PAGE * PAGE);
            // SAFETY: whole pages of the mapping, private and anonymous: they read zero afterwards.
            // The caller answers for their use.
            unsafe { libc::madvise(self.base.add(start).cast(), end - start, libc::MADV_DONTNEED) };
            // SAFETY: the caller's bytes before and after the pages.
            unsafe {
                self.base.add(offset).write_bytes(0, start - offset);
                self.base.add(end).write_bytes(0, offset + bytes - end);
            }
            return;
        }
        // SAFETY: the caller's bytes.
        unsafe { self.base.add(start).write_bytes(0, end - start) };
    }

    /// Makes everything read zero.
    ///
    /// # Safety
    ///
    /// Nothing else accesses the memory meanwhile.
    pub(super) unsafe fn clear(&self) {
        let committed = self.committed.load(Ordering::Acquire);
        // SAFETY: as the caller promises, for what has memory.
        unsafe { self.zero(0, committed) };
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the mapping made by `new`, whole; its owner goes, so that nothing uses it any
        // more.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}
