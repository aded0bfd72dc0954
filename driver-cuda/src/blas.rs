//! Matrix products by cuBLAS.

use crate::blas_lt::{self, LtPlans};
use crate::context::Context;
use crate::library::CUBLAS;
use crate::runtime::CudaRuntime;
use crate::stream::CudaStream;
use cudarc::cublas::sys::cudaDataType_t as DataType;
use cudarc::cublas::sys::{
    self, cublasComputeType_t as Compute, cublasOperation_t as Operation, cublasStatus_t as Status,
    libraryPropertyType_t as Property,
};
use isobit_hal::{DType, Error, ErrorKind, Result};
use isobit_kernels::{BlasGemm, Gemm, LibraryHandle, Scratch, Vendor, one_and_zero};
use parking_lot::Mutex;
use std::ffi::{CStr, c_void};
use std::sync::Arc;

/// A handle on one stream. It always uses a workspace of the same size that the caller provides.
/// Its results therefore repeat bit for bit, and a graph's replay never shares a workspace with
/// concurrent work.
#[derive(Debug)]
pub(crate) struct Blas {
    context: Arc<Context>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    handle: sys::cublasHandle_t,
    stream: sys::cudaStream_t,
    plans: LtPlans,
}

// SAFETY: cuBLAS allows any thread to use a handle and what was made with it, one at a time, which
// the mutex ensures.
unsafe impl Send for State {}

/// The size that cuBLAS recommends for Hopper; older cards need less.
pub(crate) const WORKSPACE_BYTES: usize = 32 << 20;

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

pub(crate) fn operation(transposed: bool) -> Operation {
    if transposed { Operation::CUBLAS_OP_T } else { Operation::CUBLAS_OP_N }
}

/// Returns the version of the loaded library.
pub(crate) fn version() -> Result<String> {
    CUBLAS.require()?;
    let mut parts = [0; 3];
    for (part, property) in
        parts.iter_mut().zip([Property::MAJOR_VERSION, Property::MINOR_VERSION, Property::PATCH_LEVEL])
    {
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { sys::cublasGetProperty(property, part) }, "querying its version")?;
    }
    Ok(parts.map(|part| part.to_string()).join("."))
}

impl LibraryHandle<CudaRuntime> for Blas {
    fn new(runtime: &CudaRuntime, stream: &CudaStream) -> Result<Self> {
        CUBLAS.require()?;
        runtime.context().bind()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { sys::cublasCreate_v2(&mut handle) }, "creating a handle")?;
        let state = State { handle, stream: std::ptr::null_mut(), plans: LtPlans::default() };
        let blas = Self { context: runtime.context().clone(), state: Mutex::new(state) };
        // Partial sums of a split product stay in f32; without the flag cuBLAS may store them in
        // f16.
        let mode = sys::cublasMath_t::CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
        // SAFETY: the handle lives as long as `blas`.
        check(unsafe { sys::cublasSetMathMode(handle, mode) }, "setting the precision")?;
        blas.move_to(stream)?;
        Ok(blas)
    }

    fn move_to(&self, stream: &CudaStream) -> Result<()> {
        self.context.bind()?;
        let mut state = self.state.lock();
        state.stream = stream.raw().cast();
        // SAFETY: the handle is alive; the stream does not close before its handle is moved or
        // destroyed.
        check(unsafe { sys::cublasSetStream_v2(state.handle, state.stream) }, "setting the stream")
    }
}

impl Blas {
    /// # Safety
    /// See `VendorRuntime::gemm`.
    pub(crate) unsafe fn gemm(&self, problem: &Gemm, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        if let Some(scaled) = &problem.scaled {
            return match BlasGemm::of(problem) {
                Err(why) => Ok(Vendor::Declined(format!("cuBLASLt {why}"))),
                Ok(call) => {
                    self.context.bind()?;
                    let State { handle, stream, plans } = &mut *self.state.lock();
                    let scalars = one_and_zero(scaled.dtypes[2].compute());
                    // SAFETY: the lock is held; the caller promises valid operands.
                    unsafe { blas_lt::gemm(handle.cast(), stream.cast(), plans, &call, scalars, scratch) }
                }
            };
        }
        let (data, of_c, compute) = match problem.dtype {
            DType::F16 => (DataType::CUDA_R_16F, DataType::CUDA_R_16F, Compute::CUBLAS_COMPUTE_32F),
            DType::BF16 => (DataType::CUDA_R_16BF, DataType::CUDA_R_16BF, Compute::CUBLAS_COMPUTE_32F),
            DType::F32 => (DataType::CUDA_R_32F, DataType::CUDA_R_32F, Compute::CUBLAS_COMPUTE_32F),
            DType::F64 => (DataType::CUDA_R_64F, DataType::CUDA_R_64F, Compute::CUBLAS_COMPUTE_64F),
            DType::I8 => (DataType::CUDA_R_8I, DataType::CUDA_R_32I, Compute::CUBLAS_COMPUTE_32I),
            other => return Ok(Vendor::Declined(format!("cuBLAS is not used for {other}"))),
        };
        let call = match BlasGemm::of(problem) {
            Ok(call) => call,
            Err(why) => return Ok(Vendor::Declined(format!("cuBLAS {why}"))),
        };
        let scalars = one_and_zero(problem.dtype);
        self.context.bind()?;
        let State { handle, stream, plans } = &mut *self.state.lock();
        if problem.dtype == DType::I8 {
            // SAFETY: the lock is held; the caller promises valid operands.
            let outcome = unsafe { blas_lt::gemm(handle.cast(), stream.cast(), plans, &call, scalars, scratch)? };
            if outcome == Vendor::Done {
                return Ok(outcome);
            }
        }
        let workspace = match scratch(WORKSPACE_BYTES) {
            Ok(workspace) => workspace.0 as *mut c_void,
            Err(e) if e.kind() == ErrorKind::OutOfMemory => {
                return Ok(Vendor::Declined(format!("cuBLAS has no memory for its workspace: {e}")));
            }
            Err(e) => return Err(e),
        };
        let [one, zero] = scalars;
        // SAFETY: the workspace is ours until the call returns; afterwards only later work on this
        // stream may reuse it.
        check(unsafe { sys::cublasSetWorkspace_v2(*handle, workspace, WORKSPACE_BYTES) }, "setting the workspace")?;
        // SAFETY: the caller promises valid operands; `BlasGemm` satisfies cuBLAS's own
        // conditions; the scalars are static.
        let status = unsafe {
            sys::cublasGemmStridedBatchedEx(
                *handle,
                operation(call.a.transposed),
                operation(call.b.transposed),
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
                of_c,
                call.c.leading,
                call.c.batch_stride,
                call.batch,
                compute,
                sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        };
        match (status, check(status, "multiplying matrices")) {
            // cuBLAS does not list which layouts of integers it has a kernel for.
            (Status::CUBLAS_STATUS_NOT_SUPPORTED, Err(why)) => Ok(Vendor::Declined(why.message().to_string())),
            (_, outcome) => outcome.map(|()| Vendor::Done),
        }
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        state.plans.clear();
        let destroyed = self.context.bind().and_then(|()| {
            // SAFETY: the handle was created in `new` and is destroyed once; destroying it waits
            // for its work.
            check(unsafe { sys::cublasDestroy_v2(state.handle) }, "destroying the handle")
        });
        self.context.deferred().keep(destroyed);
    }
}
