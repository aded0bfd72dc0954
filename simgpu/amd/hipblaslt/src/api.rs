//! hipBLASLt's handles, its choice of an algorithm, and the product.

use crate::objects::of_preference;
use crate::product::Description;
use crate::types::*;
use isobit_simgpu_library_common::{HIP, Handles, Stream, Workspace, guarded, injected};
use isobit_simgpu_math::gemm::Scalar;
use parking_lot::Mutex;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

static HANDLES: Handles<Context> = Handles::new();

/// The streams that a handle has worked on.
#[derive(Debug, Default)]
struct Context(Mutex<Vec<Stream>>);

fn with(handle: *mut c_void, body: impl FnOnce(Arc<Context>) -> Result<(), Status>) -> Status {
    guarded(HIPBLAS_STATUS_INTERNAL_ERROR, || {
        let Some(context) = HANDLES.get(handle) else { return HIPBLAS_STATUS_NOT_INITIALIZED };
        body(context).map_or_else(|status| status, |()| HIPBLAS_STATUS_SUCCESS)
    })
}

/// `hipblasLtMatmulAlgo_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Algorithm {
    data: [u64; 2],
    max_workspace_bytes: usize,
}

/// `hipblasLtMatmulHeuristicResult_t`.
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
    /// The one algorithm, with a workspace of this size of those that it may have.
    fn new(workspace: u64, most: u64) -> Self {
        Self { data: [1, workspace], max_workspace_bytes: most as usize }
    }

    fn workspace(&self) -> Option<usize> {
        let [number, workspace] = self.data;
        (number == 1 && workspace as usize <= self.max_workspace_bytes).then_some(workspace as usize)
    }
}

/// Creates a handle.
///
/// # Safety
/// `handle` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtCreate(handle: *mut *mut c_void) -> Status {
    injected!(HIP, "hipblasLtCreate");
    guarded(HIPBLAS_STATUS_INTERNAL_ERROR, || {
        if handle.is_null() {
            return HIPBLAS_STATUS_INVALID_VALUE;
        }
        if let Err(why) = HIP.runtime() {
            eprintln!("hipBLASLt stand-in: {why}");
            return HIPBLAS_STATUS_INTERNAL_ERROR;
        }
        // SAFETY: not null; the caller promises that it can be written.
        unsafe { handle.write(HANDLES.insert(Context::default())) };
        HIPBLAS_STATUS_SUCCESS
    })
}

/// Destroys a handle after its work. Errors of that work are not reported here.
#[unsafe(no_mangle)]
pub extern "C" fn hipblasLtDestroy(handle: *mut c_void) -> Status {
    injected!(HIP, "hipblasLtDestroy");
    guarded(HIPBLAS_STATUS_INTERNAL_ERROR, || {
        let Some(context) = HANDLES.remove(handle) else { return HIPBLAS_STATUS_NOT_INITIALIZED };
        let Ok(hip) = HIP.runtime() else { return HIPBLAS_STATUS_INTERNAL_ERROR };
        for stream in context.0.lock().drain(..) {
            let _reported_there = hip.synchronize(stream);
        }
        HIPBLAS_STATUS_SUCCESS
    })
}

/// Returns the algorithms for a product, the fastest first: one for every product that is computed
/// here, and none for others.
///
/// # Safety
/// `results` has room for as many elements as are asked for, or is null; `count` is null or can be
/// written.
#[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatmulAlgoGetHeuristic(
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
    injected!(HIP, "hipblasLtMatmulAlgoGetHeuristic");
    with(handle, |_| {
        if asked < 1 || results.is_null() || count.is_null() {
            return Err(HIPBLAS_STATUS_INVALID_VALUE);
        }
        // SAFETY: the caller promises that `count` can be written.
        unsafe { count.write(0) };
        match Description::of([product, a, b, c, d]) {
            Ok(_) => {}
            Err(HIPBLAS_STATUS_NOT_SUPPORTED) => return Ok(()),
            Err(status) => return Err(status),
        }
        let most = of_preference(preference)?.bits(HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
        let workspace = if most < WORKSPACE { 0 } else { WORKSPACE };
        let result = Heuristic {
            algorithm: Algorithm::new(workspace, most),
            workspace_size: workspace as usize,
            state: HIPBLAS_STATUS_SUCCESS,
            waves_count: 1.0,
            reserved: [0; 4],
        };
        // SAFETY: the caller promises that there is room for a result and that `count` can be
        // written.
        unsafe {
            results.write(result);
            count.write(1);
        }
        Ok(())
    })
}

/// Computes D = alpha op(A) op(B) + beta C when the stream reaches it. Without an algorithm, one is
/// chosen.
///
/// # Safety
/// The scalars are null or point to numbers of the scale type; `algorithm` is null or can be read.
#[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatmul(
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
    const WHAT: &str = "hipblasLtMatmul";
    injected!(HIP, WHAT);
    // SAFETY: the caller promises that it can be read unless it is null.
    let needed = if algorithm.is_null() { Some(0) } else { unsafe { algorithm.read_unaligned() }.workspace() };
    with(handle, |context| {
        let given = needed.and_then(|needed| Workspace::new(workspace, workspace_size, needed));
        let workspace = given.ok_or(HIPBLAS_STATUS_INVALID_VALUE)?;
        let description = Description::of([product, a_layout, b_layout, c_layout, d_layout])?;
        if alpha.is_null() || beta.is_null() {
            return Err(HIPBLAS_STATUS_INVALID_VALUE);
        }
        let Some(product) = description.at([a, b, c, d.cast_const()], WHAT)? else { return Ok(()) };
        let kernel = description.kernel;
        let scalars = [alpha, beta].map(|scalar| {
            let mut bytes = Scalar::default();
            // SAFETY: not null, so the caller promises a number of the scale type, for which a
            // `Scalar` has room.
            unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(scalar.cast(), kernel.scalar_bytes) };
            bytes
        });
        let hip = HIP.runtime().map_err(|_| HIPBLAS_STATUS_INTERNAL_ERROR)?;
        let work = move || {
            let access = |at: *const u8, bytes, write, what: &str| hip.access(at, bytes, write, what);
            if workspace.is_allowed(WHAT, &access) {
                // SAFETY: a device address is a host address, and the simulator first checks each
                // access.
                unsafe { (kernel.run)(&product, scalars, &access) }
            }
        };
        let stream = Stream(stream);
        hip.enqueue(stream, work).map_err(|_| HIPBLAS_STATUS_EXECUTION_FAILED)?;
        let mut streams = context.0.lock();
        if !streams.contains(&stream) {
            streams.push(stream);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    #[test]
    fn stale_handles_are_recognised() {
        let stale = HANDLES.insert(Context::default());
        assert!(HANDLES.remove(stale).is_some());
        for none in [null_mut(), stale] {
            assert_eq!(hipblasLtDestroy(none), HIPBLAS_STATUS_NOT_INITIALIZED);
            assert_eq!(with(none, |_| Ok(())), HIPBLAS_STATUS_NOT_INITIALIZED);
        }
        // SAFETY: the function checks for null.
        assert_eq!(unsafe { hipblasLtCreate(null_mut()) }, HIPBLAS_STATUS_INVALID_VALUE);
    }

    #[test]
    fn an_algorithm_that_was_not_proposed_is_recognised() {
        let proposed = Algorithm::new(4096, 1 << 20);
        assert_eq!(proposed.workspace(), Some(4096));
        assert_eq!(Algorithm { data: [2, 4096], ..proposed }.workspace(), None);
        assert_eq!(Algorithm { max_workspace_bytes: 4095, ..proposed }.workspace(), None);
    }
}
