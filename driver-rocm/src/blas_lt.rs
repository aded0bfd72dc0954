//! Matrix products by hipBLASLt, which alone has products of f8. rocBLAS itself asks it for the
//! products of other dtypes where it is faster.

use crate::blas::WORKSPACE_BYTES;
use crate::context::Context;
use crate::library::HIPBLASLT;
use crate::runtime::RocmRuntime;
use crate::stream::RocmStream;
use hip_sys::hipStream_t;
use hipblaslt_sys::*;
use isobit_hal::{DType, Error, ErrorKind, Result};
use isobit_kernels::{
    BlasGemm, DevicePtr, Gemm, LibraryHandle, LibraryPlan, LibraryPlans, LtProduct, Scratch, Vendor, one_and_zero,
};
use parking_lot::Mutex;
use std::ffi::c_void;
use std::ptr::{from_ref, null_mut};
use std::sync::Arc;

/// A handle on one stream, with the plans that were made with it. The handle has memory on the
/// device that its products share, so it is for one stream.
#[derive(Debug)]
pub(crate) struct BlasLt {
    context: Arc<Context>,
    library: &'static Hipblaslt,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    handle: hipblasLtHandle_t,
    stream: hipStream_t,
    plans: LibraryPlans<LtProduct, Plan>,
}

// SAFETY: hipBLASLt allows any thread to use a handle and what was made with it, one at a time,
// which the mutex ensures.
unsafe impl Send for State {}

/// Returns why the library is not asked for products of f8 on an architecture. AMD lists those of
/// the HAL's formats for gfx950 and gfx12 alone; opening the library elsewhere takes long, and it
/// is not built for every card.
pub(crate) fn refusal(arch: &str) -> Option<String> {
    let target = arch.split(':').next().unwrap_or_default();
    if target == "gfx950" || target.starts_with("gfx12") {
        return None;
    }
    let has = match target {
        "gfx940" | "gfx941" | "gfx942" => "multiplies f8 of formats with other numbers (FNUZ)",
        _ => "has no units that multiply f8",
    };
    Some(format!("hipBLASLt is not asked for products of f8: {target} {has}"))
}

/// Returns the library's name of a dtype of its operands.
fn data_type(dtype: DType) -> hipDataType {
    match dtype {
        DType::F8E4M3 => HIP_R_8F_E4M3,
        DType::F8E5M2 => HIP_R_8F_E5M2,
        DType::F16 => HIP_R_16F,
        DType::BF16 => HIP_R_16BF,
        _ => HIP_R_32F,
    }
}

fn operation(transposed: bool) -> hipblasOperation_t {
    if transposed { HIPBLAS_OP_T } else { HIPBLAS_OP_N }
}

/// Returns the name of a status; the library has no function for that.
fn name(status: hipblasStatus_t) -> &'static str {
    match status {
        HIPBLAS_STATUS_NOT_INITIALIZED => "HIPBLAS_STATUS_NOT_INITIALIZED",
        HIPBLAS_STATUS_ALLOC_FAILED => "HIPBLAS_STATUS_ALLOC_FAILED",
        HIPBLAS_STATUS_INVALID_VALUE => "HIPBLAS_STATUS_INVALID_VALUE",
        HIPBLAS_STATUS_MAPPING_ERROR => "HIPBLAS_STATUS_MAPPING_ERROR",
        HIPBLAS_STATUS_EXECUTION_FAILED => "HIPBLAS_STATUS_EXECUTION_FAILED",
        HIPBLAS_STATUS_INTERNAL_ERROR => "HIPBLAS_STATUS_INTERNAL_ERROR",
        HIPBLAS_STATUS_NOT_SUPPORTED => "HIPBLAS_STATUS_NOT_SUPPORTED",
        HIPBLAS_STATUS_ARCH_MISMATCH => "HIPBLAS_STATUS_ARCH_MISMATCH",
        HIPBLAS_STATUS_HANDLE_IS_NULLPTR => "HIPBLAS_STATUS_HANDLE_IS_NULLPTR",
        HIPBLAS_STATUS_INVALID_ENUM => "HIPBLAS_STATUS_INVALID_ENUM",
        _ => "HIPBLAS_STATUS_UNKNOWN",
    }
}

/// Returns a human-readable error of a call, to follow the library's name.
fn check(status: hipblasStatus_t, doing: &str) -> Result<(), String> {
    if status == HIPBLAS_STATUS_SUCCESS { Ok(()) } else { Err(format!("fails {doing}: {}", name(status))) }
}

/// The same as an error.
fn succeed(status: hipblasStatus_t, doing: &str) -> Result<()> {
    let kind = match status {
        HIPBLAS_STATUS_SUCCESS => return Ok(()),
        HIPBLAS_STATUS_ALLOC_FAILED => ErrorKind::OutOfMemory,
        _ => ErrorKind::LibraryFailure,
    };
    let message = format!("hipBLASLt, {doing}: {}", name(status));
    Err(Error::new(kind, message).with_native(i64::from(status), name(status)))
}

/// Declares an object of the library that is destroyed when dropped.
macro_rules! object {
    ($name:ident, $raw:ty, $attribute:ty, $set:ident, $destroy:ident, $what:literal) => {
        #[derive(Debug)]
        struct $name(&'static Hipblaslt, $raw);

        impl $name {
            /// # Safety
            /// `T` is the type that the library's documentation specifies for the attribute.
            unsafe fn set<T>(&self, attribute: $attribute, value: T) -> Result<(), String> {
                // SAFETY: the object is alive; the caller promises the type of the value.
                let status = unsafe { (self.0.$set)(self.1, attribute, from_ref(&value).cast(), size_of::<T>()) };
                check(status, concat!("setting an attribute of ", $what))
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the object was created by the library and is destroyed once. It belongs
                // to the host, and nothing refers to it.
                unsafe { (self.0.$destroy)(self.1) };
            }
        }
    };
}

object!(
    Description,
    hipblasLtMatmulDesc_t,
    hipblasLtMatmulDescAttributes_t,
    hipblasLtMatmulDescSetAttribute,
    hipblasLtMatmulDescDestroy,
    "a product"
);
object!(
    Layout,
    hipblasLtMatrixLayout_t,
    hipblasLtMatrixLayoutAttribute_t,
    hipblasLtMatrixLayoutSetAttribute,
    hipblasLtMatrixLayoutDestroy,
    "a matrix"
);
object!(
    Wishes,
    hipblasLtMatmulPreference_t,
    hipblasLtMatmulPreferenceAttributes_t,
    hipblasLtMatmulPreferenceSetAttribute,
    hipblasLtMatmulPreferenceDestroy,
    "a preference"
);

impl Description {
    fn new(library: &'static Hipblaslt, product: &LtProduct) -> Result<Self, String> {
        let mut raw = null_mut();
        // SAFETY: the out-parameter is a valid pointer.
        let status = unsafe { (library.hipblasLtMatmulDescCreate)(&mut raw, HIPBLAS_COMPUTE_32F, HIP_R_32F) };
        check(status, "describing a product")?;
        let description = Self(library, raw);
        let [a, b, _] = product.operands;
        // SAFETY: both attributes are operations.
        unsafe {
            description.set(HIPBLASLT_MATMUL_DESC_TRANSA, operation(a.transposed))?;
            description.set(HIPBLASLT_MATMUL_DESC_TRANSB, operation(b.transposed))?;
        }
        if product.scales_by_line == Some(true) {
            let by_line: hipblasLtMatmulMatrixScale_t = HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
            // SAFETY: both attributes are modes of scales.
            unsafe {
                description.set(HIPBLASLT_MATMUL_DESC_A_SCALE_MODE, by_line)?;
                description.set(HIPBLASLT_MATMUL_DESC_B_SCALE_MODE, by_line)?;
            }
        }
        Ok(description)
    }

    /// Says where the scales are.
    fn set_scales(&self, call: &BlasGemm) -> Result<(), String> {
        let Some([a, b]) = call.scales() else { return Ok(()) };
        // SAFETY: both attributes are addresses.
        unsafe {
            self.set(HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER, a)?;
            self.set(HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER, b)
        }
    }
}

impl Layout {
    fn new(library: &'static Hipblaslt, product: &LtProduct, at: usize) -> Result<Self, String> {
        let ((dtype, rows, columns), operand) = (product.matrices()[at], product.operands[at]);
        let (dtype, mut raw) = (data_type(dtype), null_mut());
        // SAFETY: the out-parameter is a valid pointer.
        let status = unsafe { (library.hipblasLtMatrixLayoutCreate)(&mut raw, dtype, rows, columns, operand.leading) };
        check(status, "describing a matrix")?;
        let layout = Self(library, raw);
        // SAFETY: the count is an `i32`, and the offset an `i64`.
        unsafe {
            layout.set(HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT, product.batch)?;
            layout.set(HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, operand.batch_stride)?;
        }
        Ok(layout)
    }
}

impl Wishes {
    fn new(library: &'static Hipblaslt) -> Result<Self, String> {
        let mut raw = null_mut();
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { (library.hipblasLtMatmulPreferenceCreate)(&mut raw) }, "stating a preference")?;
        let wishes = Self(library, raw);
        // SAFETY: the size is a `u64`.
        unsafe { wishes.set(HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, WORKSPACE_BYTES as u64)? };
        Ok(wishes)
    }
}

/// A product with the algorithm that the library expects to be the fastest.
#[derive(Debug)]
struct Plan {
    description: Description,
    layouts: [Layout; 3],
    algorithm: hipblasLtMatmulAlgo_t,
    workspace_bytes: usize,
}

impl LibraryPlan for Plan {
    fn workspace_bytes(&self) -> usize {
        self.workspace_bytes
    }
}

impl Plan {
    fn new(
        library: &'static Hipblaslt,
        handle: hipblasLtHandle_t,
        product: &LtProduct,
        call: &BlasGemm,
    ) -> Result<Self, String> {
        let description = Description::new(library, product)?;
        // The library chooses among kernels that scale only if there are scales.
        description.set_scales(call)?;
        let layout = |at| Layout::new(library, product, at);
        let layouts = [layout(0)?, layout(1)?, layout(2)?];
        let [a, b, c] = layouts.each_ref().map(|layout| layout.1);
        let wishes = Wishes::new(library)?;
        let mut found = hipblasLtMatmulHeuristicResult_t {
            algo: hipblasLtMatmulAlgo_t { data: [0; 16], max_workspace_bytes: 0 },
            workspaceSize: 0,
            state: HIPBLAS_STATUS_NOT_SUPPORTED,
            wavesCount: 0.0,
            reserved: [0; 4],
        };
        let (choose, mut count) = (library.hipblasLtMatmulAlgoGetHeuristic, 0);
        // SAFETY: all objects are alive, and there is room for the one result that is asked for.
        let status = unsafe { choose(handle, description.1, a, b, c, c, wishes.1, 1, &mut found, &mut count) };
        check(status, "choosing an algorithm")?;
        if count == 0 {
            return Err("has no algorithm for it".into());
        }
        check(found.state, "choosing an algorithm")?;
        Ok(Self { description, layouts, algorithm: found.algo, workspace_bytes: found.workspaceSize })
    }

    /// # Safety
    /// The matrices are those of the plan's product, and the workspace has its size.
    unsafe fn execute(
        &self,
        handle: hipblasLtHandle_t,
        stream: hipStream_t,
        call: &BlasGemm,
        workspace: DevicePtr,
    ) -> Result<(), String> {
        let (library, [a, b, c]) = (self.description.0, self.layouts.each_ref().map(|layout| layout.1));
        let ([one, zero], result) = (one_and_zero(DType::F32), call.c.ptr.cast_mut());
        self.description.set_scales(call)?;
        // SAFETY: the caller promises valid matrices and the workspace; the scalars are static.
        let status = unsafe {
            (library.hipblasLtMatmul)(
                handle,
                self.description.1,
                one,
                call.a.ptr,
                a,
                call.b.ptr,
                b,
                zero,
                result,
                c,
                result,
                c,
                &self.algorithm,
                workspace.0 as *mut c_void,
                self.workspace_bytes,
                stream,
            )
        };
        check(status, "multiplying matrices")
    }
}

impl LibraryHandle<RocmRuntime> for BlasLt {
    fn new(runtime: &RocmRuntime, stream: &RocmStream) -> Result<Self> {
        let library = HIPBLASLT.require()?;
        runtime.context().bind()?;
        let mut handle = null_mut();
        // SAFETY: the out-parameter is a valid pointer.
        succeed(unsafe { (library.hipblasLtCreate)(&mut handle) }, "creating a handle")?;
        let state = State { handle, stream: stream.raw(), plans: LibraryPlans::default() };
        Ok(Self { context: runtime.context().clone(), library, state: Mutex::new(state) })
    }

    fn move_to(&self, stream: &RocmStream) -> Result<()> {
        self.state.lock().stream = stream.raw();
        Ok(())
    }
}

impl BlasLt {
    /// Computes a product of f8 with scales.
    ///
    /// # Safety
    /// See `VendorRuntime::gemm`.
    pub(crate) unsafe fn gemm(&self, problem: &Gemm, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        let call = match BlasGemm::of(problem) {
            Ok(call) => call,
            Err(why) => return Ok(Vendor::Declined(format!("hipBLASLt {why}"))),
        };
        self.context.bind()?;
        let State { handle, stream, plans } = &mut *self.state.lock();
        let make = |product: &LtProduct| Plan::new(self.library, *handle, product, &call);
        plans.run("hipBLASLt", Ok(LtProduct::of(&call)), make, scratch, |plan, workspace| {
            // SAFETY: the lock is held; the caller promises valid matrices, from which the plan was
            // made; the workspace has the size that the plan requires.
            unsafe { plan.execute(*handle, *stream, &call, workspace) }
        })
    }
}

impl Drop for BlasLt {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        state.plans.clear();
        let destroyed = self.context.bind().and_then(|()| {
            // SAFETY: the handle was created in `new` and is destroyed once; destroying it waits
            // for its work.
            succeed(unsafe { (self.library.hipblasLtDestroy)(state.handle) }, "destroying the handle")
        });
        self.context.deferred().keep(destroyed);
    }
}

#[cfg(test)]
mod tests;
