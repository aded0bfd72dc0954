//! Accesses of the host to device memory in stream order: copies, sets, and the work of vendor
//! libraries. No kernel runs at the same time, so races are not checked.

use super::Memory;
use crate::finding::{Finding, FindingKind, Findings};

impl Memory {
    /// Checks an access of the host to `bytes` bytes at `address`: one live allocation must contain
    /// them, and bytes that are read must have been written. Written bytes count as initialised.
    /// `what` describes the host's operation in findings. Returns false if the access must not be
    /// made; an uninitialised read is reported but may be made.
    ///
    /// Copies to the host and between buffers use [`host_bounds`](Self::host_bounds) instead,
    /// because copying uninitialised bytes is not an error.
    pub fn host_access(&self, address: u64, bytes: usize, write: bool, what: &str, findings: &Findings) -> bool {
        if !self.host_bounds(address, bytes, write, what, findings) {
            return false;
        }
        if write {
            self.set_initialised(address, bytes, true);
            return true;
        }
        let (offset, bytes) = (address - self.start(), bytes as u64);
        // SAFETY: the bytes are in a live allocation, so their shadow is committed.
        if unsafe { self.shadow.initialised(offset, bytes) } {
            return true;
        }
        // SAFETY: as above.
        if let Some(at) = unsafe { self.shadow.first_unwritten(offset, bytes) } {
            let named = self.name(self.start() + at, 1);
            let message = format!("reads {bytes} bytes, of which the byte {} is uninitialised", named.place);
            findings.push(host_finding(FindingKind::UninitialisedRead, what, named.buffer, named.offset, message));
            findings.save();
        }
        true
    }

    /// Checks that one live allocation contains all `bytes` bytes at `address`. Otherwise reports a
    /// finding and returns false. Zero bytes are always valid.
    pub fn host_bounds(&self, address: u64, bytes: usize, write: bool, what: &str, findings: &Findings) -> bool {
        let held = |a: &super::Allocation| bytes as u64 <= a.base + a.bytes - address;
        if bytes == 0 || self.find(address).is_some_and(|a| held(&a)) {
            return true;
        }
        let named = self.name(address, bytes as u64);
        let verb = if write { "writes" } else { "reads" };
        let message = format!("{verb} {bytes} bytes at {address:#x}, which is {}", named.place);
        findings.push(host_finding(FindingKind::OutOfBounds, what, named.buffer, named.offset, message));
        findings.save();
        false
    }

    /// Whether the `bytes` bytes at `address` lie in a live allocation whose size is rounded up as
    /// on a GPU.
    pub fn holds_rounded(&self, address: u64, bytes: usize) -> bool {
        self.table().rounded(address, bytes as u64)
    }

    /// Marks the `bytes` bytes at `address` as written or as uninitialised. One allocation must
    /// contain them.
    pub fn set_initialised(&self, address: u64, bytes: usize, written: bool) {
        if self.inside(address, bytes) {
            // SAFETY: a live allocation contains them, so their shadow is committed.
            unsafe { self.shadow.set_initialised(address - self.start(), bytes as u64, written) };
        }
    }

    /// Copies the initialisation state of `bytes` bytes from `from` to `to`.
    pub fn copy_initialised(&self, from: u64, to: u64, bytes: usize) {
        if self.inside(from, bytes) && self.inside(to, bytes) {
            // SAFETY: live allocations contain both ranges, so their shadows are committed.
            unsafe { self.shadow.copy_initialised(from - self.start(), to - self.start(), bytes as u64) };
        }
    }

    /// Whether all `bytes` bytes at `address` were written. Returns false if no allocation contains
    /// them.
    pub fn is_initialised(&self, address: u64, bytes: usize) -> bool {
        // SAFETY: a live allocation contains them, so their shadow is committed.
        self.inside(address, bytes) && unsafe { self.shadow.initialised(address - self.start(), bytes as u64) }
    }

    fn inside(&self, address: u64, bytes: usize) -> bool {
        bytes > 0 && self.find(address).is_some_and(|a| bytes as u64 <= a.base + a.bytes - address)
    }
}

fn host_finding(kind: FindingKind, what: &str, buffer: String, offset: i64, message: String) -> Finding {
    let (instruction, thread) = (String::new(), String::new());
    Finding { kind, kernel: what.to_owned(), instruction, thread, buffer, offset, message }
}
