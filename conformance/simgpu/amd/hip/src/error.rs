//! What goes wrong in a call, and the border that every call crosses: a code for C, a reason for people, no panic.

use crate::Code;
use isobit_simgpu_core::memory::OutOfMemory;
use isobit_simgpu_core::queue::QueueError;
use std::cell::Cell;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// A refusal: the code that the caller gets, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Error {
    pub(crate) code: Code,
    pub(crate) why: String,
}

pub(crate) type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(code: Code, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }
}

/// An error with a formatted reason.
macro_rules! bail {
    ($code:ident, $($why:tt)*) => {
        return Err($crate::error::Error::new($crate::Code::$code, format!($($why)*)))
    };
}
pub(crate) use bail;

impl From<QueueError> for Error {
    fn from(error: QueueError) -> Self {
        let code = match error {
            QueueError::Fault(_) => Code::LAUNCH_FAILURE,
            QueueError::UnknownStream
            | QueueError::UnknownEvent
            | QueueError::OtherDevice
            | QueueError::NotRecorded => Code::INVALID_HANDLE,
            QueueError::UnknownDevice => Code::INVALID_DEVICE,
            QueueError::NotReady => Code::NOT_READY,
            QueueError::CaptureUnsupported => Code::STREAM_CAPTURE_UNSUPPORTED,
            QueueError::CaptureInvalidated => Code::STREAM_CAPTURE_INVALIDATED,
            QueueError::CaptureMerge => Code::STREAM_CAPTURE_MERGE,
            QueueError::CaptureUnmatched => Code::STREAM_CAPTURE_UNMATCHED,
            QueueError::CaptureUnjoined => Code::STREAM_CAPTURE_UNJOINED,
            QueueError::CaptureIsolation => Code::STREAM_CAPTURE_ISOLATION,
            QueueError::CaptureImplicit => Code::STREAM_CAPTURE_IMPLICIT,
            QueueError::CapturedEvent => Code::CAPTURED_EVENT,
            QueueError::CaptureWrongThread => Code::STREAM_CAPTURE_WRONG_THREAD,
            QueueError::IllegalState => Code::ILLEGAL_STATE,
            QueueError::InsideWork => Code::NOT_SUPPORTED,
        };
        Self::new(code, error.to_string())
    }
}

impl From<OutOfMemory> for Error {
    fn from(error: OutOfMemory) -> Self {
        Self::new(Code::OUT_OF_MEMORY, error.to_string())
    }
}

thread_local! {
    static LAST: Cell<Code> = const { Cell::new(Code::SUCCESS) };
}

/// The last error of the calling thread.
pub(crate) fn last() -> Code {
    LAST.get()
}

/// Forgets the last error of the calling thread, and gives it.
pub(crate) fn take_last() -> Code {
    LAST.replace(Code::SUCCESS)
}

/// Makes a call of the interface: an error becomes its code and the thread's last error; a panic becomes `hipErrorUnknown`.
pub(crate) fn call(name: &str, body: impl FnOnce() -> Result) -> Code {
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        eprintln!("simulated GPU: {name}: an error of the simulator, told above");
        Err(Error::new(Code::UNKNOWN, "the simulator panicked"))
    });
    match outcome {
        Ok(()) => Code::SUCCESS,
        Err(Error { code: Code::NOT_READY, .. }) => Code::NOT_READY,
        Err(Error { code, why }) => {
            LAST.set(code);
            if log_errors() {
                eprintln!("simulated GPU: {name}: {}: {why}", code.name().to_string_lossy());
            }
            code
        }
    }
}

/// Whether reasons are printed, by the variable that ROCm has for it.
fn log_errors() -> bool {
    static LEVEL: OnceLock<bool> = OnceLock::new();
    *LEVEL.get_or_init(|| std::env::var("AMD_LOG_LEVEL").is_ok_and(|level| level.parse::<u32>().is_ok_and(|l| l > 0)))
}

/// Writes a result where the caller wants it.
///
/// # Safety
/// `to` is null or may be written.
pub(crate) unsafe fn put<T>(to: *mut T, value: T, what: &str) -> Result {
    if to.is_null() {
        bail!(INVALID_VALUE, "the pointer to {what} is null");
    }
    // SAFETY: not null, and the caller's promise; C does not promise alignment.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Reads a name that the caller gives.
///
/// # Safety
/// `text` is null or a string that ends in NUL and outlives the result.
pub(crate) unsafe fn text<'a>(text: *const std::ffi::c_char, what: &str) -> Result<&'a str> {
    if text.is_null() {
        bail!(INVALID_VALUE, "{what} is null");
    }
    // SAFETY: not null, and the caller's promise.
    unsafe { CStr::from_ptr(text) }
        .to_str()
        .map_err(|_| Error::new(Code::INVALID_VALUE, format!("{what} is not UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stay_until_they_are_taken_and_panics_do_not_cross() {
        assert_eq!(call("a", || bail!(NOT_FOUND, "none")), Code::NOT_FOUND);
        assert_eq!(call("b", || Ok(())), Code::SUCCESS);
        assert_eq!(call("c", || bail!(NOT_READY, "yet")), Code::NOT_READY);
        assert_eq!(last(), Code::NOT_FOUND, "neither success nor hipErrorNotReady replaces it");
        assert_eq!(take_last(), Code::NOT_FOUND);
        assert_eq!(last(), Code::SUCCESS);
        assert_eq!(call("d", || panic!("on purpose")), Code::UNKNOWN);
        assert_eq!(take_last(), Code::UNKNOWN);
        // SAFETY: null is what is tested; the other pointer is to a local.
        unsafe {
            assert_eq!(put(std::ptr::null_mut::<i32>(), 1, "it").unwrap_err().code, Code::INVALID_VALUE);
            assert_eq!(text(std::ptr::null(), "it").unwrap_err().code, Code::INVALID_VALUE);
            assert_eq!(text(c"name".as_ptr(), "it"), Ok("name"));
        }
    }
}
