//! Handles: <https://rocm.docs.amd.com/projects/MIOpen/en/latest/doxygen/html/group__handle.html>

use crate::{BAD_PARAMETER, INTERNAL_ERROR, SUCCESS, Status};
use isobit_simgpu_library_common::{HIP, Handles, Stream, guarded, injected};
use parking_lot::Mutex;
use std::ffi::c_void;

static HANDLES: Handles<Mutex<Stream>> = Handles::new();

/// Creates a handle on the default stream.
///
/// # Safety
/// `handle` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenCreate(handle: *mut *mut c_void) -> Status {
    injected!(HIP, "miopenCreate");
    // SAFETY: the caller promises that `handle` is null or valid for writes.
    unsafe { miopenCreateWithStream(handle, std::ptr::null_mut()) }
}

/// Creates a handle on a stream.
///
/// # Safety
/// `handle` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenCreateWithStream(handle: *mut *mut c_void, stream: *mut c_void) -> Status {
    injected!(HIP, "miopenCreateWithStream");
    guarded(INTERNAL_ERROR, || {
        if handle.is_null() {
            return BAD_PARAMETER;
        }
        match known(Stream(stream)) {
            SUCCESS => {
                // SAFETY: the pointer is not null; the caller promises that `handle` is null or
                // valid for writes.
                unsafe { handle.write(HANDLES.insert(Mutex::new(Stream(stream)))) };
                SUCCESS
            }
            refused => refused,
        }
    })
}

/// Destroys a handle.
#[unsafe(no_mangle)]
pub extern "C" fn miopenDestroy(handle: *mut c_void) -> Status {
    injected!(HIP, "miopenDestroy");
    guarded(INTERNAL_ERROR, || if HANDLES.remove(handle).is_some() { SUCCESS } else { BAD_PARAMETER })
}

/// Sets the stream that later calls work on.
#[unsafe(no_mangle)]
pub extern "C" fn miopenSetStream(handle: *mut c_void, stream: *mut c_void) -> Status {
    injected!(HIP, "miopenSetStream");
    guarded(INTERNAL_ERROR, || {
        let Some(context) = HANDLES.get(handle) else { return BAD_PARAMETER };
        let status = known(Stream(stream));
        if status == SUCCESS {
            *context.lock() = Stream(stream);
        }
        status
    })
}

/// Writes the stream on which calls work.
///
/// # Safety
/// `stream` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenGetStream(handle: *mut c_void, stream: *mut *mut c_void) -> Status {
    injected!(HIP, "miopenGetStream");
    guarded(INTERNAL_ERROR, || match HANDLES.get(handle) {
        Some(context) if !stream.is_null() => {
            // SAFETY: the pointer is not null; the caller promises that `stream` is null or valid
            // for writes.
            unsafe { stream.write(context.lock().0) };
            SUCCESS
        }
        _ => BAD_PARAMETER,
    })
}

/// Returns the stream of a handle.
pub(crate) fn stream_of(handle: *mut c_void) -> Result<Stream, Status> {
    let context = HANDLES.get(handle).ok_or(BAD_PARAMETER)?;
    Ok(*context.lock())
}

fn known(stream: Stream) -> Status {
    match HIP.runtime() {
        Ok(hip) if hip.is_capturing(stream).is_ok() => SUCCESS,
        Ok(_) => BAD_PARAMETER,
        Err(why) => {
            eprintln!("MIOpen stand-in: {why}");
            INTERNAL_ERROR
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    #[test]
    fn what_is_no_handle_is_refused() {
        let stale = HANDLES.insert(Mutex::new(Stream(null_mut())));
        let mut stream = std::ptr::dangling_mut();
        // SAFETY: `stream` is valid for writes, and null is allowed.
        unsafe {
            assert_eq!(miopenGetStream(stale, &mut stream), SUCCESS);
            assert!(stream.is_null());
            assert_eq!(miopenGetStream(stale, null_mut()), BAD_PARAMETER);
            assert_eq!(miopenDestroy(stale), SUCCESS);
            for none in [null_mut(), stale] {
                assert_eq!(miopenGetStream(none, &mut stream), BAD_PARAMETER);
                assert_eq!(miopenSetStream(none, null_mut()), BAD_PARAMETER);
                assert_eq!(miopenDestroy(none), BAD_PARAMETER);
            }
            assert_eq!(miopenCreateWithStream(null_mut(), null_mut()), BAD_PARAMETER);
        }
    }
}
