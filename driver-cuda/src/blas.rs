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
use isobit_kernels::{DevicePtr, Gemm, Matrix, Vendor};
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
        let Some(call) = Call::of(problem) else {
            return Ok(Vendor::Declined(
                "cuBLAS takes no operand with two strides above 1, nor sizes above 2^31".into(),
            ));
        };
        let (one32, zero32, one64, zero64) = (1f32, 0f32, 1f64, 0f64);
        let scalars = match problem.dtype {
            DType::F64 => [std::ptr::from_ref(&one64).cast::<c_void>(), std::ptr::from_ref(&zero64).cast()],
            _ => [std::ptr::from_ref(&one32).cast::<c_void>(), std::ptr::from_ref(&zero32).cast()],
        };
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller's promise for the operands; `Call` holds cuBLAS's own conditions; the scalars outlive the call.
        let status = unsafe {
            sys::cublasGemmStridedBatchedEx(
                handle.0,
                call.a.operation,
                call.b.operation,
                call.m,
                call.n,
                call.k,
                scalars[0],
                call.a.ptr,
                data,
                call.a.leading,
                call.a.batch_stride,
                call.b.ptr,
                data,
                call.b.leading,
                call.b.batch_stride,
                scalars[1],
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
        self.context.defer(result);
    }
}

/// One operand as cuBLAS wants it: column-major with a leading dimension, or the transpose of that.
struct Operand {
    ptr: *const c_void,
    operation: Operation,
    leading: i32,
    batch_stride: i64,
}

/// The arguments of one call, in cuBLAS's column-major terms.
struct Call {
    m: i32,
    n: i32,
    k: i32,
    batch: i32,
    a: Operand,
    b: Operand,
    c: Operand,
}

fn transposed(x: Matrix) -> Matrix {
    Matrix { row_stride: x.col_stride, col_stride: x.row_stride, ..x }
}

impl Call {
    /// `None` where strides or sizes do not fit.
    fn of(p: &Gemm) -> Option<Self> {
        // A row-major product is the column-major product of the transposes in exchanged order.
        Self::column_major(p, p.m, p.n, [p.a, p.b, p.c])
            .or_else(|| Self::column_major(p, p.n, p.m, [transposed(p.b), transposed(p.a), transposed(p.c)]))
    }

    fn column_major(p: &Gemm, m: usize, n: usize, [a, b, c]: [Matrix; 3]) -> Option<Self> {
        let c = Operand::of(c, m, n).filter(|c| c.operation == Operation::CUBLAS_OP_N)?;
        let (a, b) = (Operand::of(a, m, p.k)?, Operand::of(b, p.k, n)?);
        let size = |n: usize| i32::try_from(n).ok();
        Some(Self { m: size(m)?, n: size(n)?, k: size(p.k)?, batch: size(p.batch)?, a, b, c })
    }
}

impl Operand {
    fn of(x: Matrix, rows: usize, cols: usize) -> Option<Self> {
        // A stride along a dimension of size 1 is never used, so it may be taken for whatever fits.
        let (operation, leading) = if (x.row_stride == 1 || rows == 1) && (x.col_stride >= rows || cols == 1) {
            (Operation::CUBLAS_OP_N, if cols == 1 { rows } else { x.col_stride })
        } else if (x.col_stride == 1 || cols == 1) && (x.row_stride >= cols || rows == 1) {
            (Operation::CUBLAS_OP_T, if rows == 1 { cols } else { x.row_stride })
        } else {
            return None;
        };
        Some(Self {
            ptr: x.ptr.0 as *const c_void,
            operation,
            leading: i32::try_from(leading).ok()?,
            batch_stride: i64::try_from(x.batch_stride).ok()?,
        })
    }
}
