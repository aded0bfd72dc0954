//! Matrix products by rocBLAS.

use crate::error::{check as check_driver, static_text};
use crate::library::ROCBLAS;
use crate::memory;
use crate::runtime::Context;
use crate::stream::RocmStream;
use isobit_hal::{DType, Error, ErrorKind, Result};
use isobit_kernels::{BlasGemm, BlasOperand, DevicePtr, Gemm, Vendor, one_and_zero};
use rocblas_sys::*;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

/// A handle on the device's stream with a workspace of its own and no atomics, which makes its results repeat bit for bit: which kernel rocBLAS
/// chooses depends on how much workspace there is, and what it manages itself grows.
#[derive(Debug)]
pub(crate) struct Blas {
    context: Arc<Context>,
    library: &'static Rocblas,
    handle: Mutex<Handle>,
    workspace: DevicePtr,
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

impl Blas {
    pub(crate) fn new(context: &Arc<Context>, stream: &RocmStream) -> Result<Self> {
        let library = ROCBLAS.require()?;
        context.bind()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: an out-parameter.
        check(library, unsafe { (library.rocblas_create_handle)(&mut handle) }, "making a handle")?;
        let workspace = match memory::alloc(context, WORKSPACE_BYTES) {
            Ok(workspace) => workspace,
            Err(e) => {
                // SAFETY: made above, destroyed once.
                unsafe { (library.rocblas_destroy_handle)(handle) };
                return Err(e);
            }
        };
        let blas = Self { context: context.clone(), library, handle: Mutex::new(Handle(handle)), workspace };
        // SAFETY: handle, stream and workspace live as long as `blas` does, the stream by the device that owns both.
        unsafe {
            check(library, (library.rocblas_set_stream)(handle, stream.raw()), "choosing the stream")?;
            let given = (library.rocblas_set_workspace)(handle, workspace.0 as *mut c_void, WORKSPACE_BYTES);
            check(library, given, "giving a workspace")?;
            let forbidden = (library.rocblas_set_atomics_mode)(handle, rocblas_atomics_not_allowed);
            check(library, forbidden, "forbidding atomics")?;
        }
        Ok(blas)
    }

    pub(crate) fn version(&self) -> String {
        let mut size = 0;
        // SAFETY: an out-parameter; then a buffer of the size that is given.
        unsafe {
            if (self.library.rocblas_get_version_string_size)(&mut size) != rocblas_status_success {
                return "unknown".into();
            }
            let mut text = vec![0u8; size];
            (self.library.rocblas_get_version_string)(text.as_mut_ptr().cast(), size);
            String::from_utf8_lossy(&text).trim_end_matches('\0').to_string()
        }
    }

    /// # Safety
    /// As `GpuRuntime::gemm`, with the device current.
    pub(crate) unsafe fn gemm(&self, problem: &Gemm) -> Result<Vendor> {
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
        let [one, zero] = one_and_zero(problem.dtype);
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller's promise for the operands; `BlasGemm` holds rocBLAS's own conditions; the scalars are static.
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
        let handle = self.handle.get_mut().unwrap_or_else(PoisonError::into_inner);
        let result = self.context.bind().and_then(|()| {
            // SAFETY: made in `new`, destroyed once; freeing waits for the device, so no work is left in the workspace.
            unsafe {
                let destroyed = (self.library.rocblas_destroy_handle)(handle.0);
                check(self.library, destroyed, "destroying the handle")?;
                let freed = (self.context.hip.hipFree)(self.workspace.0 as *mut c_void);
                check_driver(freed, "freeing rocBLAS's workspace")
            }
        });
        self.context.deferred().keep(result);
    }
}
