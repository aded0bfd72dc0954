//! Matrix products by cuBLAS.

use crate::error::check as check_driver;
use crate::library::CUBLAS;
use crate::memory;
use crate::runtime::Context;
use crate::stream::CudaStream;
use cudarc::cublas::sys::cudaDataType_t as DataType;
use cudarc::cublas::sys::{
    self, cublasComputeType_t as Compute, cublasOperation_t as Operation, cublasStatus_t as Status,
};
use isobit_hal::{DType, Error, ErrorKind, Result};
use isobit_kernels::{BlasGemm, BlasOperand, DevicePtr, Gemm, Vendor, one_and_zero};
use std::ffi::{CStr, c_void};
use std::sync::{Arc, Mutex, PoisonError};

/// A handle on the device's stream with a workspace of its own, which makes its results repeat bit for bit.
#[derive(Debug)]
pub(crate) struct Blas {
    context: Arc<Context>,
    handle: Mutex<Handle>,
    workspace: DevicePtr,
}

#[derive(Debug)]
struct Handle(sys::cublasHandle_t);

// SAFETY: cuBLAS lets any thread use a handle, one at a time; the mutex sees to that.
unsafe impl Send for Handle {}

/// What cuBLAS recommends for Hopper; older cards want less.
const WORKSPACE_BYTES: usize = 32 << 20;

fn check(status: Status, doing: &str) -> Result<()> {
    if status == Status::CUBLAS_STATUS_SUCCESS {
        return Ok(());
    }
    // SAFETY: cuBLAS returns a static string for every status.
    let name = unsafe { CStr::from_ptr(sys::cublasGetStatusName(status)) }.to_string_lossy().into_owned();
    let kind = match status {
        Status::CUBLAS_STATUS_ALLOC_FAILED => ErrorKind::OutOfMemory,
        _ => ErrorKind::LibraryFailure,
    };
    Err(Error::new(kind, format!("cuBLAS, {doing}: {name}")).with_native(status as i64, name))
}

fn operation(operand: BlasOperand) -> Operation {
    if operand.transposed { Operation::CUBLAS_OP_T } else { Operation::CUBLAS_OP_N }
}

impl Blas {
    pub(crate) fn new(context: &Arc<Context>, stream: &CudaStream) -> Result<Self> {
        CUBLAS.require()?;
        context.bind()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: an out-parameter.
        check(unsafe { sys::cublasCreate_v2(&mut handle) }, "making a handle")?;
        let workspace = memory::alloc(context, WORKSPACE_BYTES)?;
        let blas = Self { context: context.clone(), handle: Mutex::new(Handle(handle)), workspace };
        // Partial sums of a split product stay in f32; without the flag cuBLAS may keep them in f16.
        let mode = sys::cublasMath_t::CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
        // SAFETY: handle, stream and workspace live as long as `blas` does, the stream by the device that owns both.
        unsafe {
            check(sys::cublasSetStream_v2(handle, stream.raw().cast()), "choosing the stream")?;
            check(
                sys::cublasSetWorkspace_v2(handle, workspace.0 as *mut c_void, WORKSPACE_BYTES),
                "giving a workspace",
            )?;
            check(sys::cublasSetMathMode(handle, mode), "choosing the precision")?;
        }
        Ok(blas)
    }

    pub(crate) fn version(&self) -> String {
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut version = 0;
        // SAFETY: the handle lives; an out-parameter.
        unsafe { sys::cublasGetVersion_v2(handle.0, &mut version) };
        format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
    }

    /// # Safety
    /// As `GpuRuntime::gemm`, with the context current.
    pub(crate) unsafe fn gemm(&self, problem: &Gemm) -> Result<Vendor> {
        let (data, compute) = match problem.dtype {
            DType::F16 => (DataType::CUDA_R_16F, Compute::CUBLAS_COMPUTE_32F),
            DType::BF16 => (DataType::CUDA_R_16BF, Compute::CUBLAS_COMPUTE_32F),
            DType::F32 => (DataType::CUDA_R_32F, Compute::CUBLAS_COMPUTE_32F),
            DType::F64 => (DataType::CUDA_R_64F, Compute::CUBLAS_COMPUTE_64F),
            other => return Ok(Vendor::Declined(format!("cuBLAS is not asked for {other}"))),
        };
        let call = match BlasGemm::of(problem) {
            Ok(call) => call,
            Err(why) => return Ok(Vendor::Declined(format!("cuBLAS {why}"))),
        };
        let [one, zero] = one_and_zero(problem.dtype);
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller's promise for the operands; `BlasGemm` holds cuBLAS's own conditions; the scalars are static.
        let status = unsafe {
            sys::cublasGemmStridedBatchedEx(
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
                call.c.ptr.cast_mut(),
                data,
                call.c.leading,
                call.c.batch_stride,
                call.batch,
                compute,
                sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        };
        check(status, "multiplying matrices")?;
        Ok(Vendor::Done)
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        let handle = self.handle.get_mut().unwrap_or_else(PoisonError::into_inner);
        let result = self.context.bind().and_then(|()| {
            // SAFETY: made in `new`, destroyed once; destroying waits for its work, so the workspace is idle then.
            unsafe {
                check(sys::cublasDestroy_v2(handle.0), "destroying the handle")?;
                check_driver(cudarc::driver::sys::cuMemFree_v2(self.workspace.0), "freeing cuBLAS's workspace")
            }
        });
        self.context.deferred().keep(result);
    }
}
