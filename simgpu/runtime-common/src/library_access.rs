//! Invalid accesses of the libraries that compute on the host in stream order. On a card a kernel
//! of the library would make them, and its launch would fail.

use crate::Machine;
use isobit_simgpu_core::finding::{Fault, FaultKind};
use std::cell::RefCell;

thread_local! {
    /// The first invalid access of the function that the thread calls for a stream.
    static INVALID: RefCell<Option<Fault>> = const { RefCell::new(None) };
}

/// Checks an access of an operation named `what`. Returns whether it may be made.
pub(crate) fn check(machine: &Machine, address: u64, bytes: usize, write: bool, what: &str) -> bool {
    if machine.memory.host_access(address, bytes, write, what, &machine.findings) {
        return true;
    }
    if machine.findings.fails_like_a_card() && !machine.memory.holds_rounded(address, bytes) {
        let fault = || Fault::found(FaultKind::Address, format!("{what} accesses {bytes} bytes at {address:#x}"));
        INVALID.with_borrow_mut(|invalid| _ = invalid.get_or_insert_with(fault));
    }
    false
}

/// Calls a function of a stream.
///
/// # Errors
/// Fails if it made an invalid access that a card would report.
pub(crate) fn during(function: impl FnOnce()) -> Result<(), Fault> {
    INVALID.take();
    function();
    INVALID.take().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_simgpu_core::memory::Kind;

    #[test]
    fn a_function_fails_if_a_card_would_report_its_access() {
        let machine = Machine::new("cuda", 0, ()).unwrap();
        let at = machine.memory.alloc(400, Kind::Device, "").unwrap();
        let fault = |address: u64, bytes: usize| {
            let called = during(|| {
                assert!(check(&machine, at, 400, true, "gemm: C"));
                assert_eq!(check(&machine, address, bytes, true, "gemm: A"), address == at);
            });
            called.err().map(|fault| (fault.kind(), fault.to_string()))
        };
        assert_eq!(fault(at, 400), None);
        assert_eq!(fault(at + 396, 8), None, "within the rounding of the allocation");
        let (kind, why) = fault(at + (64 << 20), 4).unwrap();
        assert_eq!((kind, why.contains("gemm: A accesses 4 bytes")), (FaultKind::Address, true), "{why}");
        assert_eq!(fault(at, 400), None, "a failure is not kept for the next function");
        assert_eq!(machine.findings.counts().total(), 2);
    }
}
