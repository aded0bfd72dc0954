//! What the host does with device memory in stream order: copies, sets, and the work of vendor
//! libraries. No thread of a kernel runs meanwhile, so that there are no races to look for.

use super::Memory;
use crate::finding::{Finding, FindingKind, Findings};

impl Memory {
    /// Checks an access of the host to `bytes` bytes at `address`: that one live allocation holds
    /// them and, where they are read, that they were written. What is written counts as
    /// initialised. `what` says in findings what the host was doing. False where the access must
    /// not be made; an uninitialised read is told, and may be made.
    ///
    /// Copies out and between buffers use [`host_bounds`](Self::host_bounds) instead: copying bytes
    /// that nothing wrote is no error.
    pub fn host_access(&self, address: u64, bytes: usize, write: bool, what: &str, findings: &Findings) -> bool {
        if !self.host_bounds(address, bytes, write, what, findings) {
            return false;
        }
        if write {
            self.set_initialised(address, bytes, true);
            return true;
        }
        let (offset, bytes) = (address - self.start(), bytes as u64);
        // SAFETY: the bytes lie in a live allocation, whose shadow has memory.
        if unsafe { self.shadow.initialised(offset, bytes) } {
            return true;
        }
        // SAFETY: as above.
        if let Some(at) = unsafe { self.shadow.first_unwritten(offset, bytes) } {
            let named = self.name(self.start() + at, 1);
            let message = format!("reads {bytes} bytes, of which the one {} was never written", named.place);
            findings.push(host_finding(FindingKind::UninitialisedRead, what, named.buffer, named.offset, message));
        }
        true
    }

    /// Checks that one live allocation holds all `bytes` bytes at `address`; tells a finding and
    /// answers false where not. No bytes are held by anything.
    pub fn host_bounds(&self, address: u64, bytes: usize, write: bool, what: &str, findings: &Findings) -> bool {
        let held = |a: &super::Allocation| bytes as u64 <= a.base + a.bytes - address;
        if bytes == 0 || self.find(address).is_some_and(|a| held(&a)) {
            return true;
        }
        let named = self.name(address, bytes as u64);
        let verb = if write { "writes" } else { "reads" };
        let message = format!("{verb} {bytes} bytes at {address:#x}, which is {}", named.place);
        findings.push(host_finding(FindingKind::OutOfBounds, what, named.buffer, named.offset, message));
        false
    }

    /// Notes that the `bytes` bytes at `address`, which one allocation holds, were written, or that
    /// they hold nothing any more.
    pub fn set_initialised(&self, address: u64, bytes: usize, written: bool) {
        if self.inside(address, bytes) {
            // SAFETY: a live allocation holds them, so that their shadow has memory.
            unsafe { self.shadow.set_initialised(address - self.start(), bytes as u64, written) };
        }
    }

    /// Copies what is known of written bytes from `from` to `to`, as a copy of `bytes` bytes does.
    pub fn copy_initialised(&self, from: u64, to: u64, bytes: usize) {
        if self.inside(from, bytes) && self.inside(to, bytes) {
            // SAFETY: live allocations hold both ranges, so that their shadows have memory.
            unsafe { self.shadow.copy_initialised(from - self.start(), to - self.start(), bytes as u64) };
        }
    }

    /// True where every one of the `bytes` bytes at `address` was written; false also where no
    /// allocation holds them.
    pub fn is_initialised(&self, address: u64, bytes: usize) -> bool {
        // SAFETY: a live allocation holds them, so that their shadow has memory.
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
