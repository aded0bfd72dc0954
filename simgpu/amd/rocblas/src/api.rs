//! rocBLAS's handles and helper functions:
//! <https://rocm.docs.amd.com/projects/rocBLAS/en/latest/reference/helper-functions.html>.

use crate::types::*;
use isobit_simgpu_library_common::{HIP, Handles, Stream, guarded, injected};
use parking_lot::Mutex;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

/// The version that this library stands in for, from ROCm 6.2, marked as a stand-in.
const VERSION: &CStr = c"4.2.1.standin";

static HANDLES: Handles<Context> = Handles::new();

/// The settings of a handle.
#[derive(Debug)]
pub(crate) struct Context(Mutex<Settings>);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) stream: Stream,
    pub(crate) pointer_mode: c_int,
    atomics_mode: c_int,
}

impl Context {
    pub(crate) fn settings(&self) -> Settings {
        *self.0.lock()
    }

    fn set(&self, change: impl FnOnce(&mut Settings)) -> Status {
        change(&mut self.0.lock());
        SUCCESS
    }
}

pub(crate) fn with(handle: *mut c_void, body: impl FnOnce(Arc<Context>) -> Status) -> Status {
    guarded(INTERNAL_ERROR, || HANDLES.get(handle).map_or(INVALID_HANDLE, body))
}

/// Writes through an out-parameter.
///
/// # Safety
/// `out` is null or valid for writes.
unsafe fn put<T>(out: *mut T, value: T) -> Status {
    if out.is_null() {
        return INVALID_POINTER;
    }
    // SAFETY: the pointer is not null; the caller promises that `out` is null or valid for writes.
    unsafe { out.write(value) };
    SUCCESS
}

/// Creates a handle on the default stream, with scalars in host memory.
///
/// # Safety
/// `handle` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_create_handle(handle: *mut *mut c_void) -> Status {
    injected!(HIP, "rocblas_create_handle");
    guarded(INTERNAL_ERROR, || {
        if handle.is_null() {
            return INVALID_HANDLE;
        }
        if let Err(why) = HIP.runtime() {
            eprintln!("rocBLAS stand-in: {why}");
            return INTERNAL_ERROR;
        }
        // SAFETY: the caller promises that `handle` is null or valid for writes.
        unsafe { put(handle, new_handle()) }
    })
}

pub(crate) fn new_handle() -> *mut c_void {
    HANDLES.insert(Context(Mutex::new(Settings {
        stream: Stream(std::ptr::null_mut()),
        pointer_mode: POINTER_MODE_HOST,
        atomics_mode: ATOMICS_ALLOWED,
    })))
}

/// Destroys a handle after the work of its stream is done.
#[unsafe(no_mangle)]
pub extern "C" fn rocblas_destroy_handle(handle: *mut c_void) -> Status {
    injected!(HIP, "rocblas_destroy_handle");
    guarded(INTERNAL_ERROR, || {
        let Some(context) = HANDLES.remove(handle) else { return INVALID_HANDLE };
        match HIP.runtime().map(|hip| hip.synchronize(context.settings().stream)) {
            Ok(Ok(())) => SUCCESS,
            _ => INTERNAL_ERROR,
        }
    })
}

/// Sets the stream that later calls work on.
#[unsafe(no_mangle)]
pub extern "C" fn rocblas_set_stream(handle: *mut c_void, stream: *mut c_void) -> Status {
    injected!(HIP, "rocblas_set_stream");
    with(handle, |context| {
        let stream = Stream(stream);
        match HIP.runtime().map(|hip| hip.is_capturing(stream)) {
            Ok(Ok(_)) => context.set(|s| s.stream = stream),
            Ok(Err(_)) => INVALID_VALUE,
            Err(_) => INTERNAL_ERROR,
        }
    })
}

/// Writes the stream on which calls work.
///
/// # Safety
/// `stream` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_get_stream(handle: *mut c_void, stream: *mut *mut c_void) -> Status {
    injected!(HIP, "rocblas_get_stream");
    // SAFETY: the caller promises that `stream` is null or valid for writes.
    with(handle, |context| unsafe { put(stream, context.settings().stream.0) })
}

/// Sets whether scalars lie in host or device memory.
#[unsafe(no_mangle)]
pub extern "C" fn rocblas_set_pointer_mode(handle: *mut c_void, pointer_mode: c_int) -> Status {
    injected!(HIP, "rocblas_set_pointer_mode");
    with(handle, |context| match pointer_mode {
        POINTER_MODE_HOST | POINTER_MODE_DEVICE => context.set(|s| s.pointer_mode = pointer_mode),
        _ => INVALID_VALUE,
    })
}

/// Writes whether scalars lie in host or device memory.
///
/// # Safety
/// `pointer_mode` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_get_pointer_mode(handle: *mut c_void, pointer_mode: *mut c_int) -> Status {
    injected!(HIP, "rocblas_get_pointer_mode");
    // SAFETY: the caller promises that `pointer_mode` is null or valid for writes.
    with(handle, |context| unsafe { put(pointer_mode, context.settings().pointer_mode) })
}

/// Sets whether atomics may be used, which can make results differ between runs. Here results never
/// differ.
#[unsafe(no_mangle)]
pub extern "C" fn rocblas_set_atomics_mode(handle: *mut c_void, atomics_mode: c_int) -> Status {
    injected!(HIP, "rocblas_set_atomics_mode");
    with(handle, |context| match atomics_mode {
        ATOMICS_NOT_ALLOWED | ATOMICS_ALLOWED => context.set(|s| s.atomics_mode = atomics_mode),
        _ => INVALID_VALUE,
    })
}

/// Writes whether atomics may be used.
///
/// # Safety
/// `atomics_mode` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_get_atomics_mode(handle: *mut c_void, atomics_mode: *mut c_int) -> Status {
    injected!(HIP, "rocblas_get_atomics_mode");
    // SAFETY: the caller promises that `atomics_mode` is null or valid for writes.
    with(handle, |context| unsafe { put(atomics_mode, context.settings().atomics_mode) })
}

/// Sets the workspace in device memory. It is ignored, because nothing here needs one.
#[unsafe(no_mangle)]
pub extern "C" fn rocblas_set_workspace(handle: *mut c_void, _addr: *mut c_void, _size: usize) -> Status {
    injected!(HIP, "rocblas_set_workspace");
    with(handle, |_| SUCCESS)
}

/// Writes the length of the version's text, including its NUL.
///
/// # Safety
/// `len` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_get_version_string_size(len: *mut usize) -> Status {
    injected!(HIP, "rocblas_get_version_string_size");
    // SAFETY: the caller promises that `len` is null or valid for writes.
    unsafe { put(len, VERSION.count_bytes() + 1) }
}

/// Writes the version as text.
///
/// # Safety
/// `buf` is null or has room for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_get_version_string(buf: *mut c_char, len: usize) -> Status {
    injected!(HIP, "rocblas_get_version_string");
    let version = VERSION.to_bytes_with_nul();
    if buf.is_null() {
        return INVALID_POINTER;
    }
    if len < version.len() {
        return INVALID_SIZE;
    }
    // SAFETY: the buffer has room for the text, and does not overlap the constant.
    unsafe { buf.copy_from_nonoverlapping(version.as_ptr().cast(), version.len()) };
    SUCCESS
}

/// Returns the name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn rocblas_status_to_string(status: Status) -> *const c_char {
    name(status).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    #[test]
    fn handles_and_settings() {
        let stale = new_handle();
        assert!(HANDLES.remove(stale).is_some());
        for none in [null_mut(), stale] {
            assert_eq!(rocblas_set_pointer_mode(none, POINTER_MODE_DEVICE), INVALID_HANDLE);
            assert_eq!(rocblas_set_workspace(none, null_mut(), 0), INVALID_HANDLE);
            assert_eq!(rocblas_destroy_handle(none), INVALID_HANDLE);
        }
        let handle = new_handle();
        let mut mode = -1;
        // SAFETY: `mode` and the pointer for the handle are valid for writes.
        unsafe {
            assert_eq!(rocblas_get_atomics_mode(handle, &mut mode), SUCCESS);
            assert_eq!(mode, ATOMICS_ALLOWED);
            assert_eq!(rocblas_set_atomics_mode(handle, 2), INVALID_VALUE);
            assert_eq!(rocblas_set_pointer_mode(handle, POINTER_MODE_DEVICE), SUCCESS);
            assert_eq!(rocblas_get_pointer_mode(handle, &mut mode), SUCCESS);
            assert_eq!(mode, POINTER_MODE_DEVICE);
            assert_eq!(rocblas_get_pointer_mode(handle, null_mut()), INVALID_POINTER);
            assert_eq!(rocblas_create_handle(null_mut()), INVALID_HANDLE);
        }
    }

    #[test]
    fn version_and_names() {
        let mut len = 0;
        // SAFETY: `len` is valid for writes, and the buffers have the given length.
        unsafe {
            assert_eq!(rocblas_get_version_string_size(&mut len), SUCCESS);
            let mut text = vec![1u8; len];
            assert_eq!(rocblas_get_version_string(text.as_mut_ptr().cast(), len - 1), INVALID_SIZE);
            assert_eq!(rocblas_get_version_string(text.as_mut_ptr().cast(), len), SUCCESS);
            assert_eq!(CStr::from_bytes_with_nul(&text).unwrap(), VERSION);
            assert_eq!(rocblas_get_version_string(null_mut(), len), INVALID_POINTER);
        }
        assert_eq!(name(INVALID_SIZE), c"rocblas_status_invalid_size");
        assert_eq!(name(99), c"<undefined rocblas_status value>");
    }
}
