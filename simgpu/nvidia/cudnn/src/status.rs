//! Status codes, and the message of the last failure.

use isobit_simgpu_library_common::guarded;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};

/// `cudnnStatus_t`: the thousands are the category, the remaining digits are the detail.
pub type Status = c_int;

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $c_name:literal;)*) => {
        $($(#[$doc])* pub const $name: Status = $value;)*

        fn name(status: Status) -> &'static CStr {
            match status {
                $($name => $c_name,)*
                _ => c"CUDNN_UNKNOWN_STATUS",
            }
        }
    };
}

statuses! {
    /// `CUDNN_STATUS_SUCCESS`.
    SUCCESS = 0, c"CUDNN_STATUS_SUCCESS";
    /// `CUDNN_STATUS_NOT_INITIALIZED`: there is no driver, or the program reads an attribute of a
    /// descriptor that is not finalized.
    NOT_INITIALIZED = 1001, c"CUDNN_STATUS_NOT_INITIALIZED";
    /// `CUDNN_STATUS_BAD_PARAM`: an argument that is never valid.
    BAD_PARAM = 2000, c"CUDNN_STATUS_BAD_PARAM";
    /// `CUDNN_STATUS_INVALID_VALUE`, a name from older releases.
    INVALID_VALUE = 2001, c"CUDNN_STATUS_INVALID_VALUE";
    /// `CUDNN_STATUS_BAD_PARAM_NULL_POINTER`.
    NULL_POINTER = 2002, c"CUDNN_STATUS_BAD_PARAM_NULL_POINTER";
    /// `CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER`: not aligned as the tensor's descriptor says.
    MISALIGNED_POINTER = 2003, c"CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER";
    /// `CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED`: a descriptor that refers to one that is not
    /// finalized.
    NOT_FINALIZED = 2004, c"CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
    /// `CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT`: a workspace that is too small.
    SIZE_INSUFFICIENT = 2006, c"CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT";
    /// `CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES`: two tensors with the same identifier.
    DUPLICATED_ENTRIES = 2009, c"CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES";
    /// `CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE`: an attribute has another type.
    ATTRIBUTE_TYPE = 2010, c"CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE";
    /// `CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE`: an attribute is a descriptor of another kind.
    DESCRIPTOR_TYPE = 2012, c"CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE";
    /// `CUDNN_STATUS_NOT_SUPPORTED`: not supported by this library.
    NOT_SUPPORTED = 3000, c"CUDNN_STATUS_NOT_SUPPORTED";
    /// `CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN`: a graph that is neither one
    /// convolution nor attention.
    GRAPH_PATTERN = 3001, c"CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN";
    /// `CUDNN_STATUS_NOT_SUPPORTED_SHAPE`.
    SHAPE = 3002, c"CUDNN_STATUS_NOT_SUPPORTED_SHAPE";
    /// `CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE`.
    DATA_TYPE = 3003, c"CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE";
    /// `CUDNN_STATUS_INTERNAL_ERROR`.
    INTERNAL_ERROR = 4000, c"CUDNN_STATUS_INTERNAL_ERROR";
    /// `CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER`: the driver did not accept work on the stream.
    EXECUTION_FAILED_CUDA_DRIVER = 5001, c"CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER";
}

/// A status and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) why: String,
}

/// The result of a fallible body.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Returns a failure with a status.
pub(crate) fn fail<T>(status: Status, why: impl Into<String>) -> Outcome<T> {
    Err(Failure { status, why: why.into() })
}

/// Returns a failure if the condition does not hold.
pub(crate) fn ensure(is_so: bool, status: Status, why: impl FnOnce() -> String) -> Outcome {
    if is_so { Ok(()) } else { fail(status, why()) }
}

thread_local! {
    /// The reason of the last failed call of this thread, until it is read.
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs the body of a C function.
pub(crate) fn answer(body: impl FnOnce() -> Outcome) -> Status {
    guarded(INTERNAL_ERROR, || match body() {
        Ok(()) => SUCCESS,
        Err(Failure { status, why }) => {
            LAST.set(why);
            status
        }
    })
}

/// Returns the name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetErrorString(status: Status) -> *const c_char {
    name(status).as_ptr()
}

/// Writes the reason of the last failed call of this thread, truncated to the buffer; the next read
/// gives an empty text.
///
/// # Safety
/// `message` is null or has room for `max_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetLastErrorString(message: *mut c_char, max_size: usize) {
    if message.is_null() || max_size == 0 {
        return;
    }
    let why = LAST.take();
    let length = why.len().min(max_size - 1);
    // SAFETY: not null, and the caller promises the room; one byte is reserved for the NUL.
    unsafe {
        message.copy_from_nonoverlapping(why.as_ptr().cast(), length);
        message.add(length).write(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        // SAFETY: a constant string.
        let name = |status| unsafe { CStr::from_ptr(cudnnGetErrorString(status)) };
        assert_eq!(name(2004), c"CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED");
        assert_eq!([name(7), name(-1)], [c"CUDNN_UNKNOWN_STATUS"; 2]);
    }

    #[test]
    fn the_reason_is_told_once_and_a_panic_is_a_status() {
        assert_eq!(answer(|| fail(SHAPE, "too large")), SHAPE);
        assert_eq!(answer(|| Ok(())), SUCCESS);
        let last = |room: usize| {
            let mut text = vec![0x7fu8; 16];
            // SAFETY: the buffer has at least this room.
            unsafe { cudnnGetLastErrorString(text.as_mut_ptr().cast(), room) };
            text
        };
        assert_eq!(last(0)[0], 0x7f);
        assert_eq!(last(5)[..6], *b"too \0\x7f");
        assert_eq!(last(16)[0], 0);
        assert_eq!(answer(|| panic!("this panic is part of a test")), INTERNAL_ERROR);
    }
}
