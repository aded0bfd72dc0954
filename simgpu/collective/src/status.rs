//! What calls return, and the texts about failures: `ncclResult_t`.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};

/// `ncclResult_t`.
pub type Status = c_int;
/// Done.
pub const SUCCESS: Status = 0;
/// A call of the runtime failed, or work of the library on the device.
pub const UNHANDLED_CUDA_ERROR: Status = 1;
/// A call of the system failed.
pub const SYSTEM_ERROR: Status = 2;
/// The library failed.
pub const INTERNAL_ERROR: Status = 3;
/// An argument is null or out of range.
pub const INVALID_ARGUMENT: Status = 4;
/// The calls do not fit together.
pub const INVALID_USAGE: Status = 5;
/// Another rank has ended or does not come.
pub const REMOTE_ERROR: Status = 6;
/// The communicator does not block, and the call is not done.
pub const IN_PROGRESS: Status = 7;

/// Why a call or a communicator failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What the call returns.
    pub status: Status,
    /// The reason, a sentence without its full stop.
    pub why: String,
}

impl Failure {
    pub(crate) fn new(status: Status, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }

    pub(crate) fn argument(why: impl Into<String>) -> Self {
        Self::new(INVALID_ARGUMENT, why)
    }

    pub(crate) fn usage(why: impl Into<String>) -> Self {
        Self::new(INVALID_USAGE, why)
    }

    pub(crate) fn remote(why: impl Into<String>) -> Self {
        Self::new(REMOTE_ERROR, why)
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Returns the status of a call, and keeps the reason of a failure for the thread.
pub(crate) fn settle(outcome: Result<Status, Failure>) -> Status {
    outcome.unwrap_or_else(|failure| {
        keep(&failure);
        failure.status
    })
}

/// Keeps the reason of a failure for the thread.
pub(crate) fn keep(failure: &Failure) {
    LAST.set(CString::new(failure.why.replace('\0', " ")).unwrap_or_default());
}

/// Returns the reason of the thread's last failure. The text is valid until the next one.
pub(crate) fn last() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}

/// Returns NCCL's text of a status.
pub(crate) fn text(status: Status) -> &'static CStr {
    match status {
        SUCCESS => c"no error",
        UNHANDLED_CUDA_ERROR => c"unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        SYSTEM_ERROR => c"unhandled system error (run with NCCL_DEBUG=INFO for details)",
        INTERNAL_ERROR => c"internal error - please report this issue to the NCCL developers",
        INVALID_ARGUMENT => c"invalid argument (run with NCCL_DEBUG=WARN for details)",
        INVALID_USAGE => c"invalid usage (run with NCCL_DEBUG=WARN for details)",
        REMOTE_ERROR => c"remote process exited or there was a network error",
        IN_PROGRESS => c"NCCL operation in progress",
        _ => c"unknown result code",
    }
}
