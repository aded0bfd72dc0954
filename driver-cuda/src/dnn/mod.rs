//! Convolutions by cuDNN.

mod descriptor;
mod plan;
mod trust;

use crate::error::check as check_driver;
use crate::library::CUDNN;
use crate::memory;
use crate::runtime::Context;
use crate::stream::CudaStream;
use cudarc::cudnn::sys::{self, cudnnStatus_t as Status};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{Conv, ConvPlans, ConvProblem, DevicePtr, Vendor};
use plan::Plan;
use std::ffi::CStr;
use std::sync::{Arc, Mutex, PoisonError};

/// A handle on the device's stream, and the plans that were made with it.
#[derive(Debug)]
pub(crate) struct Dnn {
    context: Arc<Context>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    handle: sys::cudnnHandle_t,
    plans: ConvPlans<Plan>,
}

// SAFETY: cuDNN lets any thread use a handle and what was made with it, one at a time; the mutex sees to that.
unsafe impl Send for State {}

/// The oldest release whose statuses the bindings know.
const OLDEST: usize = 9_00_00;

fn text_of(status: Status) -> String {
    // SAFETY: cuDNN returns a static string for every status.
    unsafe { CStr::from_ptr(sys::cudnnGetErrorString(status)) }.to_string_lossy().into_owned()
}

fn check(status: Status, doing: &str) -> Result<()> {
    if status == Status::CUDNN_STATUS_SUCCESS {
        return Ok(());
    }
    let name = text_of(status);
    Err(Error::new(ErrorKind::LibraryFailure, format!("cuDNN, {doing}: {name}")).with_native(status as i64, name))
}

/// The version of a library that is present.
pub(crate) fn version() -> Result<String> {
    CUDNN.require()?;
    // SAFETY: the library has the function.
    let version = unsafe { sys::cudnnGetVersion() };
    Ok(format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100))
}

impl Dnn {
    pub(crate) fn new(context: &Arc<Context>, stream: &CudaStream) -> Result<Self> {
        CUDNN.require()?;
        // SAFETY: the library has the function.
        if unsafe { sys::cudnnGetVersion() } < OLDEST {
            return Err(Error::new(ErrorKind::LibraryUnavailable, "cuDNN on this machine is older than release 9"));
        }
        context.bind()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: an out-parameter.
        check(unsafe { sys::cudnnCreate(&mut handle) }, "making a handle")?;
        let dnn = Self { context: context.clone(), state: Mutex::new(State { handle, plans: ConvPlans::default() }) };
        // SAFETY: the handle lives as long as `dnn`, the stream by the device that owns both.
        check(unsafe { sys::cudnnSetStream(handle, stream.raw().cast()) }, "choosing the stream")?;
        Ok(dnn)
    }

    /// # Safety
    /// As `GpuRuntime::conv`, with the context current.
    pub(crate) unsafe fn conv(&self, stream: &CudaStream, conv: &Conv) -> Result<Vendor> {
        let declined = |why: String| Ok(Vendor::Declined(format!("cuDNN {why}")));
        let problem = match ConvProblem::of(conv) {
            Ok(problem) => problem,
            Err(why) => return declined(why),
        };
        if let Some(why) = trust::mistrust(conv) {
            return declined(why.into());
        }
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = state.handle;
        let bytes = match state.plans.plan(&problem, || Plan::new(handle, &problem)) {
            Ok(plan) => plan.workspace_bytes(),
            Err(why) => return declined(why),
        };
        let workspace = match state.plans.workspace(bytes, |old, bytes| self.exchange(stream, old, bytes)) {
            Ok(workspace) => workspace,
            Err(e) if e.kind() == ErrorKind::OutOfMemory => return declined(format!("wants {bytes} bytes: {e}")),
            Err(e) => return Err(e),
        };
        let plan = state.plans.plan(&problem, || unreachable!("it was made above"));
        let operands = [conv.src.ptr, conv.kernel.ptr, conv.dst.ptr];
        // SAFETY: the caller's promise for the operands, which the plan was made for; the workspace is as large as it asks.
        match unsafe { plan.and_then(|plan| plan.execute(handle, operands, workspace)) } {
            Ok(()) => Ok(Vendor::Done),
            Err(why) => {
                state.plans.give_up(&problem, why.clone());
                declined(why)
            }
        }
    }

    /// A larger workspace for the old one.
    fn exchange(&self, stream: &CudaStream, old: DevicePtr, bytes: usize) -> Result<DevicePtr> {
        if old != DevicePtr(0) {
            stream.synchronize()?;
            // SAFETY: the plans' own buffer, which no work uses any more.
            unsafe { memory::free(&self.context, old)? };
        }
        memory::alloc(&self.context, bytes)
    }
}

impl Drop for Dnn {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let result = self.context.bind().and_then(|()| {
            let workspace = state.plans.clear();
            // SAFETY: made in `new`, destroyed once. The device's last storage is gone, so its work is read by nobody; freeing waits for it.
            unsafe {
                check(sys::cudnnDestroy(state.handle), "destroying the handle")?;
                if workspace != DevicePtr(0) {
                    check_driver(cudarc::driver::sys::cuMemFree_v2(workspace.0), "freeing cuDNN's workspace")?;
                }
            }
            Ok(())
        });
        self.context.deferred().keep(result);
    }
}
