//! cuBLASLt's handles, its choice of an algorithm, and the product.

use super::objects::of_preference;
use super::product::Description;
use crate::api::{VERSION, cublasCreate_v2, cublasDestroy_v2, cublasGetProperty, put, with};
use crate::call::compute;
use crate::modes::Settings;
use crate::types::*;
use isobit_simgpu_library_common::{CUDA, Stream, Workspace, injected};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::without_provenance;

/// `cublasLtMatmulAlgo_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Algorithm {
    data: [u64; 8],
}

/// `cublasLtMatmulHeuristicResult_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Heuristic {
    algorithm: Algorithm,
    workspace_size: usize,
    state: Status,
    waves_count: f32,
    reserved: [c_int; 4],
}

/// The workspace that an algorithm needs if it may have one, so that programs provide it.
const WORKSPACE: u64 = 4096;

impl Algorithm {
    /// The one algorithm, with a workspace of this size.
    fn new(workspace: u64) -> Self {
        Self { data: [1, workspace, 0, 0, 0, 0, 0, 0] }
    }

    fn workspace(&self) -> Option<usize> {
        let workspace = self.data[1];
        (*self == Self::new(workspace)).then_some(workspace as usize)
    }
}

/// Creates a handle.
///
/// # Safety
/// `handle` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtCreate(handle: *mut *mut c_void) -> Status {
    injected!(CUDA, "cublasLtCreate");
    // SAFETY: the caller promises the same.
    unsafe { cublasCreate_v2(handle) }
}

/// Destroys a handle.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtDestroy(handle: *mut c_void) -> Status {
    injected!(CUDA, "cublasLtDestroy");
    cublasDestroy_v2(handle)
}

/// Returns the version as one number.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetVersion() -> usize {
    let [major, minor, patch] = VERSION.map(|part| part as usize);
    major * 10_000 + minor * 100 + patch
}

/// Returns a part of the version.
///
/// # Safety
/// `value` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtGetProperty(property: c_int, value: *mut c_int) -> Status {
    injected!(CUDA, "cublasLtGetProperty");
    // SAFETY: the caller promises the same.
    unsafe { cublasGetProperty(property, value) }
}

/// Returns the name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetStatusName(status: Status) -> *const c_char {
    texts(status)[0].as_ptr()
}

/// Returns the description of a status.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetStatusString(status: Status) -> *const c_char {
    texts(status)[1].as_ptr()
}

/// Returns the algorithms for a product, the fastest first. Here there is one for every product.
///
/// # Safety
/// `results` has room for as many elements as are asked for, or is null; `count` is null or can be
/// written.
#[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmulAlgoGetHeuristic(
    handle: *mut c_void,
    product: *mut c_void,
    a: *mut c_void,
    b: *mut c_void,
    c: *mut c_void,
    d: *mut c_void,
    preference: *mut c_void,
    asked: c_int,
    results: *mut Heuristic,
    count: *mut c_int,
) -> Status {
    injected!(CUDA, "cublasLtMatmulAlgoGetHeuristic");
    with(handle, |_| {
        if asked < 1 || results.is_null() || count.is_null() {
            return INVALID_VALUE;
        }
        // SAFETY: the caller promises that `count` can be written.
        unsafe { count.write(0) };
        // Addresses are not known yet: any that is aligned.
        let anywhere = without_provenance(256);
        let found = Description::of([product, a, b, c, d])
            .and_then(|description| description.arguments([anywhere; 4], [anywhere; 2])?.check().map(|_| ()))
            .and_then(|()| of_preference(preference));
        let most = match found {
            Ok(preference) => preference.bits(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES),
            Err(status) => return status,
        };
        let workspace = if most < WORKSPACE { 0 } else { WORKSPACE };
        let result = Heuristic {
            algorithm: Algorithm::new(workspace),
            workspace_size: workspace as usize,
            state: SUCCESS,
            waves_count: 1.0,
            reserved: [0; 4],
        };
        // SAFETY: the caller promises that there is room for a result.
        unsafe {
            results.write(result);
            put(count, 1)
        }
    })
}

/// Computes D = alpha op(A) op(B) + beta C when the stream reaches it. Without an algorithm, one is
/// chosen.
///
/// # Safety
/// In host pointer mode the scalars are null or point to numbers of the scale type; `algorithm` is
/// null or can be read.
#[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmul(
    handle: *mut c_void,
    product: *mut c_void,
    alpha: *const c_void,
    a: *const c_void,
    a_layout: *mut c_void,
    b: *const c_void,
    b_layout: *mut c_void,
    beta: *const c_void,
    c: *const c_void,
    c_layout: *mut c_void,
    d: *mut c_void,
    d_layout: *mut c_void,
    algorithm: *const Algorithm,
    workspace: *mut c_void,
    workspace_size: usize,
    stream: *mut c_void,
) -> Status {
    injected!(CUDA, "cublasLtMatmul");
    // SAFETY: the caller promises that it can be read unless it is null.
    let needed = if algorithm.is_null() { Some(0) } else { unsafe { algorithm.read_unaligned() }.workspace() };
    let given = needed.and_then(|needed| Workspace::new(workspace, workspace_size, needed));
    let Some(workspace) = given else { return INVALID_VALUE };
    with(handle, |_| {
        let done = Description::of([product, a_layout, b_layout, c_layout, d_layout]).and_then(|description| {
            let arguments = description.arguments([a, b, c, d.cast_const()], [alpha, beta])?;
            let settings = Settings::new(Stream(stream), description.pointer_mode()?);
            // SAFETY: the caller promises the same.
            unsafe { compute(&settings, &arguments, workspace, "cublasLtMatmul") }
        });
        done.map_or_else(|status| status, |()| SUCCESS)
    })
}
