//! Handles:
//! <https://docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html#cudnncreate>

use crate::status::{BAD_PARAM, INTERNAL_ERROR, NOT_INITIALIZED, Outcome, Status, answer, ensure, fail};
use isobit_simgpu_library_common::{CUDA, Handles, Runtime, Stream, injected};
use parking_lot::Mutex;
use std::ffi::c_void;

static HANDLES: Handles<Mutex<Stream>> = Handles::new();

/// Returns the driver, which is the simulator.
pub(crate) fn driver(without: Status) -> Outcome<&'static Runtime> {
    CUDA.runtime().or_else(|why| fail(without, why))
}

/// Creates a handle on the default stream.
///
/// # Safety
/// `handle` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnCreate(handle: *mut *mut c_void) -> Status {
    injected!(CUDA, "cudnnCreate");
    answer(|| {
        ensure(!handle.is_null(), BAD_PARAM, || "cudnnCreate: the pointer to the handle is null".into())?;
        driver(NOT_INITIALIZED)?;
        // SAFETY: not null; the caller promises that `handle` is null or can be written.
        unsafe { handle.write(HANDLES.insert(Mutex::new(Stream(std::ptr::null_mut())))) };
        Ok(())
    })
}

/// Destroys a handle when the work of its stream is done. A null handle is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroy(handle: *mut c_void) -> Status {
    injected!(CUDA, "cudnnDestroy");
    answer(|| {
        if handle.is_null() {
            return Ok(());
        }
        let Some(stream) = HANDLES.remove(handle) else { return fail(BAD_PARAM, "cudnnDestroy: not a handle") };
        let stream = *stream.lock();
        if let Ok(cuda) = CUDA.runtime()
            && cuda.is_capturing(stream) == Ok(false)
        {
            // The driver reports failures of the work, and a destroyed stream has no work.
            let _ = cuda.synchronize(stream);
        }
        Ok(())
    })
}

/// Sets the stream of later calls.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetStream(handle: *mut c_void, stream: *mut c_void) -> Status {
    injected!(CUDA, "cudnnSetStream");
    answer(|| {
        let Some(context) = HANDLES.get(handle) else { return fail(BAD_PARAM, "cudnnSetStream: not a handle") };
        // The default stream always exists, whatever the driver reports about it at this moment.
        if !stream.is_null() && driver(INTERNAL_ERROR)?.is_capturing(Stream(stream)).is_err() {
            return fail(BAD_PARAM, "cudnnSetStream: not a stream");
        }
        *context.lock() = Stream(stream);
        Ok(())
    })
}

/// Returns the stream of the handle.
///
/// # Safety
/// `stream` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetStream(handle: *mut c_void, stream: *mut *mut c_void) -> Status {
    injected!(CUDA, "cudnnGetStream");
    answer(|| {
        let current = stream_of(handle)?;
        ensure(!stream.is_null(), BAD_PARAM, || "cudnnGetStream: the pointer to the stream is null".into())?;
        // SAFETY: not null; the caller promises that `stream` is null or can be written.
        unsafe { stream.write(current.0) };
        Ok(())
    })
}

/// Returns the stream of a handle.
pub(crate) fn stream_of(handle: *mut c_void) -> Outcome<Stream> {
    let Some(context) = HANDLES.get(handle) else { return fail(BAD_PARAM, "no handle") };
    Ok(*context.lock())
}

/// Creates a handle on the default stream without a driver.
#[cfg(test)]
pub(crate) fn test_handle() -> *mut c_void {
    HANDLES.insert(Mutex::new(Stream(std::ptr::null_mut())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::SUCCESS;
    use std::ptr::null_mut;

    #[test]
    fn what_is_no_handle_is_refused() {
        let stale = test_handle();
        let mut stream = std::ptr::dangling_mut();
        // SAFETY: `stream` can be written, and null is allowed.
        unsafe {
            assert_eq!(cudnnSetStream(stale, null_mut()), SUCCESS);
            assert_eq!(cudnnGetStream(stale, &mut stream), SUCCESS);
            assert!(stream.is_null());
            assert_eq!(cudnnGetStream(stale, null_mut()), BAD_PARAM);
            assert_eq!(cudnnDestroy(stale), SUCCESS);
            assert_eq!((cudnnDestroy(null_mut()), cudnnDestroy(stale)), (SUCCESS, BAD_PARAM));
            for none in [null_mut(), stale] {
                assert_eq!(cudnnGetStream(none, &mut stream), BAD_PARAM);
                assert_eq!(cudnnSetStream(none, null_mut()), BAD_PARAM);
            }
            assert_eq!(cudnnCreate(null_mut()), BAD_PARAM);
            // There is no simulator next to a test program.
            assert_eq!(cudnnCreate(&mut stream), NOT_INITIALIZED);
        }
    }
}
