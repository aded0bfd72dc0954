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

/// A handle on one stream, without atomics. It always uses a workspace of the same size that the
/// caller provides. Its results therefore repeat bit for bit: rocBLAS selects kernels by the
/// workspace size, and a workspace that it manages itself grows. A graph's replay never shares a
/// workspace with concurrent work.
#[derive(Debug)]
pub(crate) struct Blas {
    context: Arc<Context>,
    library: &'static Rocblas,
    handle: Mutex<Handle>,
}

#[derive(Debug)]
struct Handle(rocblas_handle);

// SAFETY: rocBLAS allows any thread to use a handle, one at a time, which the mutex ensures.
unsafe impl Send for Handle {}

/// The size that rocBLAS itself allocates for most cards.
pub(crate) const WORKSPACE_BYTES: usize = 32 << 20;

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

/// Returns the version of the loaded library.
pub(crate) fn version() -> Result<String> {
    let library = ROCBLAS.require()?;
    let mut size = 0;
    // SAFETY: the out-parameter is a valid pointer; the buffer has the given size.
    let text = unsafe {
        check(library, (library.rocblas_get_version_string_size)(&mut size), "querying the length of its version")?;
        let mut text = vec![0u8; size];
        check(library, (library.rocblas_get_version_string)(text.as_mut_ptr().cast(), size), "querying its version")?;
        text
    };
    Ok(String::from_utf8_lossy(&text).trim_end_matches('\0').to_string())
}

impl LibraryHandle<RocmRuntime> for Blas {
    fn new(runtime: &RocmRuntime, stream: &RocmStream) -> Result<Self> {
        let library = ROCBLAS.require()?;
        runtime.context().bind()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the out-parameter is a valid pointer.
        check(library, unsafe { (library.rocblas_create_handle)(&mut handle) }, "creating a handle")?;
        let blas = Self { context: runtime.context().clone(), library, handle: Mutex::new(Handle(handle)) };
        // SAFETY: the handle lives as long as `blas`.
        let forbidden = unsafe { (library.rocblas_set_atomics_mode)(handle, rocblas_atomics_not_allowed) };
        check(library, forbidden, "forbidding atomics")?;
        blas.move_to(stream)?;
        Ok(blas)
    }

    fn move_to(&self, stream: &RocmStream) -> Result<()> {
        self.context.bind()?;
        // SAFETY: the handle is alive; the stream does not close before its handle is moved or
        // destroyed.
        let status = unsafe { (self.library.rocblas_set_stream)(self.handle.lock().0, stream.raw()) };
        check(self.library, status, "setting the stream")
    }
}

impl Blas {
    /// # Safety
    /// See `VendorRuntime::gemm`.
    pub(crate) unsafe fn gemm(&self, problem: &Gemm, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        let (data, of_c, compute) = match problem.dtype {
            DType::F16 => (rocblas_datatype_f16_r, rocblas_datatype_f16_r, rocblas_datatype_f32_r),
            DType::BF16 => (rocblas_datatype_bf16_r, rocblas_datatype_bf16_r, rocblas_datatype_f32_r),
            DType::F32 => (rocblas_datatype_f32_r, rocblas_datatype_f32_r, rocblas_datatype_f32_r),
            DType::F64 => (rocblas_datatype_f64_r, rocblas_datatype_f64_r, rocblas_datatype_f64_r),
            DType::I8 => (rocblas_datatype_i8_r, rocblas_datatype_i32_r, rocblas_datatype_i32_r),
            other => return Ok(Vendor::Declined(format!("rocBLAS is not used for {other}"))),
        };
        let call = match BlasGemm::of(problem) {
            Ok(call) => call,
            Err(why) => return Ok(Vendor::Declined(format!("rocBLAS {why}"))),
        };
        let workspace = match scratch(WORKSPACE_BYTES) {
            Ok(workspace) => workspace.0 as *mut c_void,
            Err(e) if e.kind() == ErrorKind::OutOfMemory => {
                return Ok(Vendor::Declined(format!("rocBLAS has no memory for its workspace: {e}")));
            }
            Err(e) => return Err(e),
        };
        let [one, zero] = one_and_zero(problem.dtype);
        self.context.bind()?;
        let handle = self.handle.lock();
        // SAFETY: the workspace is ours until the call returns; afterwards only later work on this
        // stream may reuse it.
        let given = unsafe { (self.library.rocblas_set_workspace)(handle.0, workspace, WORKSPACE_BYTES) };
        check(self.library, given, "setting the workspace")?;
        // SAFETY: the caller promises valid operands; `BlasGemm` satisfies rocBLAS's own
        // conditions; the scalars are static.
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
                of_c,
                call.c.leading,
                call.c.batch_stride,
                call.c.ptr.cast_mut(),
                of_c,
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
            // rocBLAS is built for selected cards, and each build omits what its card does not
            // support.
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
            // SAFETY: the handle was created in `new` and is destroyed once; destroying it waits
            // for its work.
            let status = unsafe { (self.library.rocblas_destroy_handle)(handle.0) };
            check(self.library, status, "destroying the handle")
        });
        self.context.deferred().keep(destroyed);
    }
}
