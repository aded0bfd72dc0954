//! Matrix products by rocBLAS.

use crate::context::Context;
use crate::error::static_text;
use crate::library::ROCBLAS;
use crate::runtime::RocmRuntime;
use crate::stream::RocmStream;
use isobit_hal::{DType, Error, ErrorKind, Result};
use isobit_kernels::{BlasGemm, BlasOperand, Gemm, LibraryHandle, Scratch, Vendor, one_and_zero};
use parking_lot::Mutex;
use rocblas_sys::*;
use std::ffi::c_void;
use std::sync::Arc;

/// A handle on one stream, without atomics. It always works in memory that it is given, and as much
/// of it: its results then repeat bit for bit (which kernel rocBLAS chooses depends on how much
/// there is, and what it manages itself grows), and a graph's replay shares none with work that
/// runs beside it.
#[derive(Debug)]
pub(crate) struct Blas {
    context: Arc<Context>,
    library: &'static Rocblas,
    handle: Mutex<Handle>,
}

#[derive(Debug)]
struct Handle(rocblas_handle);

// SAFETY: rocBLAS lets any thread use a handle, one at a time; the mutex sees to that.
unsafe impl Send for Handle {}

/// What rocBLAS takes by itself for most cards.
const WORKSPACE_BYTES: usize = 32 << 20;

fn check(library: &Rocblas, status: rocblas_status, doing: &str) -> Result<()> {
    match status {
        rocblas_status_success | rocblas_status_perf_degraded => Ok(()),
        _ => Err(failure(library, status, doing)),
    }
}

fn failure(library: &Rocblas, status: rocblas_status, doing: &str) -> Error {
    // SAFETY: rocBLAS returns a static string for every status.
    let name = unsafe { static_text((library.rocblas_status_to_string)(status), "unknown") };
    let kind = match status {
        rocblas_status_memory_error => ErrorKind::OutOfMemory,
        _ => ErrorKind::LibraryFailure,
    };
    Error::new(kind, format!("rocBLAS, {doing}: {name}")).with_native(i64::from(status), name)
}

fn operation(operand: BlasOperand) -> rocblas_operation {
    if operand.transposed { rocblas_operation_transpose } else { rocblas_operation_none }
}

/// The version of a library that is present.
pub(crate) fn version() -> Result<String> {
    let library = ROCBLAS.require()?;
    let mut size = 0;
    // SAFETY: an out-parameter; then a buffer of the size that is given.
    let text = unsafe {
        check(library, (library.rocblas_get_version_string_size)(&mut size), "asking for its version's length")?;
        let mut text = vec![0u8; size];
        check(library, (library.rocblas_get_version_string)(text.as_mut_ptr().cast(), size), "asking for its version")?;
        text
    };
    Ok(String::from_utf8_lossy(&text).trim_end_matches('\0').to_string())
}

impl LibraryHandle<RocmRuntime> for Blas {
    fn new(runtime: &RocmRuntime, stream: &RocmStream) -> Result<Self> {
        let library = ROCBLAS.require()?;
        runtime.context().bind()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: an out-parameter.
        check(library, unsafe { (library.rocblas_create_handle)(&mut handle) }, "making a handle")?;
        let blas = Self { context: runtime.context().clone(), library, handle: Mutex::new(Handle(handle)) };
        // SAFETY: the handle lives as long as `blas`.
        let forbidden = unsafe { (library.rocblas_set_atomics_mode)(handle, rocblas_atomics_not_allowed) };
        check(library, forbidden, "forbidding atomics")?;
        blas.move_to(stream)?;
        Ok(blas)
    }

    fn move_to(&self, stream: &RocmStream) -> Result<()> {
        self.context.bind()?;
        // SAFETY: the handle lives; the stream closes no earlier than its handle is moved elsewhere
        // or destroyed.
        let status = unsafe { (self.library.rocblas_set_stream)(self.handle.lock().0, stream.raw()) };
        check(self.library, status, "choosing the stream")
    }
}

impl Blas {
    /// # Safety
    /// As `VendorRuntime::gemm`.
    pub(crate) unsafe fn gemm(&self, problem: &Gemm, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        let (data, compute) = match problem.dtype {
            DType::F16 => (rocblas_datatype_f16_r, rocblas_datatype_f32_r),
            DType::BF16 => (rocblas_datatype_bf16_r, rocblas_datatype_f32_r),
            DType::F32 => (rocblas_datatype_f32_r, rocblas_datatype_f32_r),
            DType::F64 => (rocblas_datatype_f64_r, rocblas_datatype_f64_r),
            other => return Ok(Vendor::Declined(format!("rocBLAS is not asked for {other}"))),
        };
        let call = match BlasGemm::of(problem) {
            Ok(call) => call,
            Err(why) => return Ok(Vendor::Declined(format!("rocBLAS {why}"))),
        };
        let workspace = match scratch(WORKSPACE_BYTES) {
            Ok(workspace) => workspace.0 as *mut c_void,
            Err(e) if e.kind() == ErrorKind::OutOfMemory => {
                return Ok(Vendor::Declined(format!("rocBLAS has no room: {e}")));
            }
            Err(e) => return Err(e),
        };
        let [one, zero] = one_and_zero(problem.dtype);
        self.context.bind()?;
        let handle = self.handle.lock();
        // SAFETY: the memory is ours until the call returns, and later work on the stream alone may
        // have it then.
        let given = unsafe { (self.library.rocblas_set_workspace)(handle.0, workspace, WORKSPACE_BYTES) };
        check(self.library, given, "giving a workspace")?;
        // SAFETY: the caller promises valid operands; `BlasGemm` holds rocBLAS's own conditions;
        // the scalars are static.
        let status = unsafe {
            (self.library.rocblas_gemm_strided_batched_ex)(
                handle.0,
                operation(call.a),
                operation(call.b),
                call.m,
                call.n,
                call.k,
                one,
                call.a.ptr,
                data,
                call.a.leading,
                call.a.batch_stride,
                call.b.ptr,
                data,
                call.b.leading,
                call.b.batch_stride,
                zero,
                call.c.ptr,
                data,
                call.c.leading,
                call.c.batch_stride,
                call.c.ptr.cast_mut(),
                data,
                call.c.leading,
                call.c.batch_stride,
                call.batch,
                compute,
                rocblas_gemm_algo_standard,
                0,
                0,
            )
        };
        match status {
            // rocBLAS is built for chosen cards, and for each without what that card cannot do.
            rocblas_status_not_implemented | rocblas_status_excluded_from_build | rocblas_status_arch_mismatch => {
                Ok(Vendor::Declined(failure(self.library, status, "multiplying matrices").message().to_string()))
            }
            _ => check(self.library, status, "multiplying matrices").map(|()| Vendor::Done),
        }
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        let handle = self.handle.get_mut();
        let destroyed = self.context.bind().and_then(|()| {
            // SAFETY: made in `new`, destroyed once; destroying waits for its work.
            let status = unsafe { (self.library.rocblas_destroy_handle)(handle.0) };
            check(self.library, status, "destroying the handle")
        });
        self.context.deferred().keep(destroyed);
    }
}
