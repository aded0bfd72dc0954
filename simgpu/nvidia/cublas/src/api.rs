//! cuBLAS's handles and its library queries:
//! <https://docs.nvidia.com/cuda/cublas/#cublas-helper-function-reference>.

use crate::modes::Settings;
use crate::types::*;
use isobit_simgpu_library_common::{CUDA, Handles, Stream, guarded, injected};
use parking_lot::Mutex;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// The cuBLAS version that this library replaces, from CUDA 13.0: major, minor and patch.
pub(crate) const VERSION: [c_int; 3] = [13, 0, 2];

static HANDLES: Handles<Context> = Handles::new();

/// The state of a handle.
#[derive(Debug, Default)]
pub(crate) struct Context(Mutex<Settings>);

impl Context {
    pub(crate) fn settings(&self) -> Settings {
        *self.0.lock()
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut Settings)) -> Status {
        change(&mut self.0.lock());
        SUCCESS
    }
}

pub(crate) fn with(handle: *mut c_void, body: impl FnOnce(Arc<Context>) -> Status) -> Status {
    guarded(INTERNAL_ERROR, || HANDLES.get(handle).map_or(NOT_INITIALIZED, body))
}

/// Writes through an out-parameter.
///
/// # Safety
/// `out` is null or can be written.
pub(crate) unsafe fn put<T>(out: *mut T, value: T) -> Status {
    if out.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: not null; the caller promises that `out` is null or can be written.
    unsafe { out.write(value) };
    SUCCESS
}

pub(crate) fn new_handle() -> *mut c_void {
    HANDLES.insert(Context::default())
}

/// Creates a handle on the default stream, with scalars in host memory.
///
/// # Safety
/// `handle` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasCreate_v2(handle: *mut *mut c_void) -> Status {
    injected!(CUDA, "cublasCreate_v2");
    guarded(INTERNAL_ERROR, || {
        if handle.is_null() {
            return INVALID_VALUE;
        }
        if let Err(why) = CUDA.runtime() {
            eprintln!("cuBLAS stand-in: {why}");
            return NOT_INITIALIZED;
        }
        // SAFETY: the caller promises that `handle` is null or can be written.
        unsafe { put(handle, new_handle()) }
    })
}

/// Destroys a handle after the work of its stream. Errors of that work are not reported here.
#[unsafe(no_mangle)]
pub extern "C" fn cublasDestroy_v2(handle: *mut c_void) -> Status {
    injected!(CUDA, "cublasDestroy_v2");
    guarded(INTERNAL_ERROR, || {
        let Some(context) = HANDLES.remove(handle) else { return NOT_INITIALIZED };
        let Ok(cuda) = CUDA.runtime() else { return INTERNAL_ERROR };
        let _reported_there = cuda.synchronize(context.settings().stream);
        SUCCESS
    })
}

/// Sets the stream of later calls. If the stream does not exist, those calls fail.
#[unsafe(no_mangle)]
pub extern "C" fn cublasSetStream_v2(handle: *mut c_void, stream: *mut c_void) -> Status {
    injected!(CUDA, "cublasSetStream_v2");
    with(handle, |context| context.set(|s| s.stream = Stream(stream)))
}

/// Returns the stream of the handle.
///
/// # Safety
/// `stream` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasGetStream_v2(handle: *mut c_void, stream: *mut *mut c_void) -> Status {
    injected!(CUDA, "cublasGetStream_v2");
    // SAFETY: the caller promises that `stream` is null or can be written.
    with(handle, |context| unsafe { put(stream, context.settings().stream.0) })
}

/// Sets the device workspace, aligned to 256 bytes. This library needs no workspace.
#[unsafe(no_mangle)]
pub extern "C" fn cublasSetWorkspace_v2(handle: *mut c_void, workspace: *mut c_void, _size: usize) -> Status {
    injected!(CUDA, "cublasSetWorkspace_v2");
    with(handle, |_| if workspace.addr().is_multiple_of(256) { SUCCESS } else { INVALID_VALUE })
}

/// Returns the version as one number. The version belongs to the library, so no handle is needed.
///
/// # Safety
/// `version` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasGetVersion_v2(_handle: *mut c_void, version: *mut c_int) -> Status {
    injected!(CUDA, "cublasGetVersion_v2");
    let [major, minor, patch] = VERSION;
    // SAFETY: the caller promises that `version` is null or can be written.
    unsafe { put(version, major * 10_000 + minor * 100 + patch) }
}

/// Returns a part of the version: 0 major, 1 minor, 2 patch.
///
/// # Safety
/// `value` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasGetProperty(property: c_int, value: *mut c_int) -> Status {
    injected!(CUDA, "cublasGetProperty");
    match usize::try_from(property).ok().and_then(|at| VERSION.get(at)) {
        // SAFETY: the caller promises that `value` is null or can be written.
        Some(&part) => unsafe { put(value, part) },
        None => INVALID_VALUE,
    }
}

/// Returns the name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn cublasGetStatusName(status: Status) -> *const c_char {
    texts(status)[0].as_ptr()
}

/// Returns the description of a status.
#[unsafe(no_mangle)]
pub extern "C" fn cublasGetStatusString(status: Status) -> *const c_char {
    texts(status)[1].as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{null_mut, without_provenance_mut};

    #[test]
    fn stale_handles_are_recognised() {
        let stale = new_handle();
        assert!(HANDLES.remove(stale).is_some());
        let mut stream = null_mut();
        for none in [null_mut(), stale] {
            assert_eq!(cublasDestroy_v2(none), NOT_INITIALIZED);
            assert_eq!(cublasSetStream_v2(none, null_mut()), NOT_INITIALIZED);
            assert_eq!(cublasSetWorkspace_v2(none, null_mut(), 0), NOT_INITIALIZED);
            // SAFETY: `stream` can be written.
            assert_eq!(unsafe { cublasGetStream_v2(none, &mut stream) }, NOT_INITIALIZED);
        }
        // SAFETY: the function checks for null.
        assert_eq!(unsafe { cublasCreate_v2(null_mut()) }, INVALID_VALUE);
    }

    #[test]
    fn stream_and_workspace() {
        let handle = new_handle();
        let mut stream = null_mut();
        assert_eq!(cublasSetStream_v2(handle, without_provenance_mut(48)), SUCCESS);
        // SAFETY: `stream` can be written, and the function checks for null.
        unsafe {
            assert_eq!(cublasGetStream_v2(handle, &mut stream), SUCCESS);
            assert_eq!(cublasGetStream_v2(handle, null_mut()), INVALID_VALUE);
        }
        assert_eq!(stream.addr(), 48);
        assert_eq!(cublasSetWorkspace_v2(handle, without_provenance_mut(512), 4096), SUCCESS);
        assert_eq!(cublasSetWorkspace_v2(handle, without_provenance_mut(384), 4096), INVALID_VALUE);
    }

    /// The expected values come from the real library, whose version and name queries need no card.
    #[test]
    fn version_and_names() {
        let (mut version, mut part) = (0, 0);
        // SAFETY: both can be written, and the functions check for null.
        unsafe {
            assert_eq!(cublasGetVersion_v2(null_mut(), &mut version), SUCCESS);
            assert_eq!(cublasGetVersion_v2(null_mut(), null_mut()), INVALID_VALUE);
            assert_eq!(cublasGetProperty(0, &mut part), SUCCESS);
            assert_eq!((version, part), (130_002, 13));
            assert_eq!(cublasGetProperty(2, &mut part), SUCCESS);
            assert_eq!(part, 2);
            assert_eq!(cublasGetProperty(3, &mut part), INVALID_VALUE);
            assert_eq!(cublasGetProperty(0, null_mut()), INVALID_VALUE);
        }
        assert_eq!(texts(7)[0], c"CUBLAS_STATUS_INVALID_VALUE");
        assert_eq!(texts(15)[1], c"the requested functionality is not supported");
        assert_eq!(texts(2), [c"unrecognized status"; 2]);
    }
}
