//! Errors of calls, and the boundary of every C function: it returns a code, prints a reason, and
//! stops panics.

use crate::ResultCode;
use isobit_simgpu_core::memory::OutOfMemory;
use isobit_simgpu_core::queue::QueueError;
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An error: the code that the caller gets, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error<C> {
    /// The vendor's code.
    pub code: C,
    /// The reason.
    pub why: String,
}

/// The result of a call.
pub type Result<T, C> = std::result::Result<T, Error<C>>;

impl<C> Error<C> {
    /// Creates an error.
    pub fn new(code: C, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }
}

/// Returns an error with a code of a type and a formatted reason.
#[macro_export]
macro_rules! bail {
    ($code:ty, $constant:ident, $($why:tt)*) => {
        return Err($crate::Error::new(<$code>::$constant, format!($($why)*)))
    };
}

impl<C: ResultCode> From<QueueError> for Error<C> {
    fn from(error: QueueError) -> Self {
        let code = match error {
            QueueError::Fault(ref fault) => crate::sticky::code_of(fault.kind()),
            QueueError::UnknownStream
            | QueueError::UnknownEvent
            | QueueError::OtherDevice
            | QueueError::NotRecorded => C::INVALID_HANDLE,
            QueueError::UnknownDevice => C::INVALID_DEVICE,
            QueueError::NotReady => C::NOT_READY,
            QueueError::CaptureUnsupported => C::STREAM_CAPTURE_UNSUPPORTED,
            QueueError::CaptureInvalidated => C::STREAM_CAPTURE_INVALIDATED,
            QueueError::CaptureMerge => C::STREAM_CAPTURE_MERGE,
            QueueError::CaptureUnmatched => C::STREAM_CAPTURE_UNMATCHED,
            QueueError::CaptureUnjoined => C::STREAM_CAPTURE_UNJOINED,
            QueueError::CaptureIsolation => C::STREAM_CAPTURE_ISOLATION,
            QueueError::CaptureImplicit => C::STREAM_CAPTURE_IMPLICIT,
            QueueError::CapturedEvent => C::CAPTURED_EVENT,
            QueueError::CaptureWrongThread => C::STREAM_CAPTURE_WRONG_THREAD,
            QueueError::IllegalState => C::ILLEGAL_STATE,
            QueueError::InsideWork => C::NOT_PERMITTED,
        };
        Self::new(code, error.to_string())
    }
}

impl<C: ResultCode> From<OutOfMemory> for Error<C> {
    fn from(error: OutOfMemory) -> Self {
        Self::new(C::OUT_OF_MEMORY, error.to_string())
    }
}

/// Runs a call of the interface and returns its code. A panic becomes the code for unknown errors.
/// With `log`, prints the reason of an error; `NOT_READY` is not an error.
pub fn outcome<C: ResultCode>(name: &str, log: bool, body: impl FnOnce() -> Result<(), C>) -> C {
    // Unwind safety: state that a panic may leave half changed is behind mutexes, whose users
    // ignore poisoning.
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        eprintln!("simulated GPU: {name}: internal error of the simulator, printed above");
        Err(Error::new(C::UNKNOWN, "the simulator panicked"))
    });
    let Err(Error { code, why }) = outcome else { return C::SUCCESS };
    if log && code != C::NOT_READY {
        eprintln!("simulated GPU: {name}: {}: {why}", code.name().to_string_lossy());
    }
    code
}

/// Writes a result to the caller's pointer.
///
/// # Errors
/// Fails if `to` is null.
///
/// # Safety
/// `to` must be null or writable.
pub unsafe fn put<T, C: ResultCode>(to: *mut T, value: T, what: &str) -> Result<(), C> {
    if to.is_null() {
        bail!(C, INVALID_VALUE, "the pointer to {what} is null");
    }
    // SAFETY: not null, and as the caller promises; C does not promise alignment.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Writes a result to the caller's pointer, unless it is null.
///
/// # Safety
/// `to` must be null or writable.
pub unsafe fn put_if_wanted<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: not null, and as the caller promises; C does not promise alignment.
        unsafe { to.write_unaligned(value) };
    }
}

/// Reads from the caller's pointer.
///
/// # Errors
/// Fails if `from` is null.
///
/// # Safety
/// `from` must be null or readable.
pub unsafe fn read<T: Copy, C: ResultCode>(from: *const T, what: &str) -> Result<T, C> {
    if from.is_null() {
        bail!(C, INVALID_VALUE, "the pointer to {what} is null");
    }
    // SAFETY: not null, and as the caller promises; C does not promise alignment.
    Ok(unsafe { from.read_unaligned() })
}

/// Reads a string of the caller.
///
/// # Errors
/// Fails if `text` is null or not UTF-8.
///
/// # Safety
/// `text` must be null or a NUL-terminated string that outlives the result.
pub unsafe fn text<'a, C: ResultCode>(text: *const c_char, what: &str) -> Result<&'a str, C> {
    if text.is_null() {
        bail!(C, INVALID_VALUE, "{what} is null");
    }
    // SAFETY: not null; the caller promises a NUL-terminated string that outlives the result.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Error::new(C::INVALID_VALUE, format!("{what} is not UTF-8")))
}

/// Writes a text, truncated to `len` bytes including its NUL.
///
/// # Errors
/// Fails if `to` is null or has no room.
///
/// # Safety
/// `to` must be null or have room for `len` bytes.
pub unsafe fn put_text<C: ResultCode>(to: *mut c_char, len: c_int, text: &str) -> Result<(), C> {
    let room = usize::try_from(len).ok().filter(|&room| room > 0 && !to.is_null());
    let Some(room) = room else { bail!(C, INVALID_VALUE, "the buffer is null or has no room: {len} bytes") };
    let bytes = &text.as_bytes()[..text.len().min(room - 1)];
    // SAFETY: the bytes and the NUL fit into the room that the caller promises.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len());
        to.add(bytes.len()).write(0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::codes! {
        /// A small vendor's code.
        Code, unknown "none" "no code", forbidden NOT_SUPPORTED;
        SUCCESS vOk 0 "fine";
        INVALID_VALUE vBad 1 "bad argument";
        OUT_OF_MEMORY vFull 2 "full";
        NOT_READY vLater 3 "later";
        INVALID_DEVICE vDevice 4 "";
        INVALID_HANDLE vHandle 5 "";
        ILLEGAL_STATE vState 6 "";
        LAUNCH_FAILURE vLaunch 7 "";
        NOT_SUPPORTED vNo 8 "";
        STREAM_CAPTURE_UNSUPPORTED v9 9 "";
        STREAM_CAPTURE_INVALIDATED v10 10 "";
        STREAM_CAPTURE_MERGE v11 11 "";
        STREAM_CAPTURE_UNMATCHED v12 12 "";
        STREAM_CAPTURE_UNJOINED v13 13 "";
        STREAM_CAPTURE_ISOLATION v14 14 "";
        STREAM_CAPTURE_IMPLICIT v15 15 "";
        CAPTURED_EVENT v16 16 "";
        STREAM_CAPTURE_WRONG_THREAD v17 17 "";
        ILLEGAL_ADDRESS v19 19 "";
        MISALIGNED_ADDRESS v20 20 "";
        ILLEGAL_INSTRUCTION v21 21 "";
        ASSERT v22 22 "";
        LAUNCH_TIMEOUT v23 23 "";
        HARDWARE_STACK_ERROR v24 24 "";
        INVALID_PC v25 25 "";
        UNKNOWN vUnknown 99 "unknown";
    }

    #[test]
    fn codes_have_names_and_meanings() {
        assert_eq!((Code(2).name(), Code(2).meaning()), (c"vFull", c"full"));
        assert_eq!((Code(50).name(), Code(50).meaning()), (c"none", c"no code"));
        assert!(Code(99).is_known() && !Code(50).is_known() && Code::ALL.len() == 26);
    }

    #[test]
    fn a_panic_does_not_cross_and_a_refusal_is_its_code() {
        assert_eq!(outcome("a", false, || Err(Error::new(Code::NOT_READY, "yet"))), Code::NOT_READY);
        assert_eq!(outcome::<Code>("b", false, || Ok(())), Code::SUCCESS);
        assert_eq!(outcome::<Code>("c", false, || panic!("on purpose")), Code::UNKNOWN);
        assert_eq!(Error::<Code>::from(QueueError::CaptureImplicit).code, Code::STREAM_CAPTURE_IMPLICIT);
        let wild = isobit_simgpu_core::finding::Fault::of(isobit_simgpu_core::finding::FaultKind::Address, "wild");
        assert_eq!(Error::<Code>::from(QueueError::Fault(wild)).code, Code::ILLEGAL_ADDRESS);
    }

    #[test]
    fn pointers_of_the_caller_are_looked_at_first() {
        let mut room = [1; 4];
        // SAFETY: null pointers are checked; the other pointers are to locals of the given size.
        unsafe {
            assert_eq!(put::<_, Code>(std::ptr::null_mut::<i32>(), 1, "it").unwrap_err().code, Code::INVALID_VALUE);
            assert_eq!(text::<Code>(std::ptr::null(), "it").unwrap_err().code, Code::INVALID_VALUE);
            assert_eq!(text::<Code>(c"name".as_ptr(), "it"), Ok("name"));
            assert_eq!(read::<i32, Code>(std::ptr::null(), "it").unwrap_err().code, Code::INVALID_VALUE);
            assert_eq!(put_text::<Code>(room.as_mut_ptr(), 0, "abc").unwrap_err().code, Code::INVALID_VALUE);
            assert_eq!(put_text::<Code>(room.as_mut_ptr(), 3, "abc"), Ok(()));
        }
        assert_eq!(room, [b'a' as c_char, b'b' as c_char, 0, 1]);
    }
}
