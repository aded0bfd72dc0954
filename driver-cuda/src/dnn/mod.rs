//! Convolutions by cuDNN.

mod descriptor;
mod plan;
mod quirks;

use crate::context::Context;
use crate::library::CUDNN;
use crate::runtime::CudaRuntime;
use crate::stream::CudaStream;
use cudarc::cudnn::sys::{self, cudnnStatus_t as Status};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{Conv, ConvPlans, LibraryHandle, Scratch, Vendor};
use parking_lot::Mutex;
use plan::Plan;
use std::ffi::CStr;
use std::sync::Arc;

/// A handle on one stream, and the plans that were made with it.
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

// SAFETY: cuDNN lets any thread use a handle and what was made with it, one at a time; the mutex
// sees to that.
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

impl LibraryHandle<CudaRuntime> for Dnn {
    fn new(runtime: &CudaRuntime, stream: &CudaStream) -> Result<Self> {
        CUDNN.require()?;
        // SAFETY: the library has the function.
        if unsafe { sys::cudnnGetVersion() } < OLDEST {
            return Err(Error::new(ErrorKind::LibraryUnavailable, "cuDNN on this machine is older than release 9"));
        }
        runtime.context().bind()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: an out-parameter.
        check(unsafe { sys::cudnnCreate(&mut handle) }, "making a handle")?;
        let state = Mutex::new(State { handle, plans: ConvPlans::default() });
        let dnn = Self { context: runtime.context().clone(), state };
        dnn.move_to(stream)?;
        Ok(dnn)
    }

    fn move_to(&self, stream: &CudaStream) -> Result<()> {
        self.context.bind()?;
        // SAFETY: the handle lives; the stream closes no earlier than its handle is moved elsewhere
        // or destroyed.
        check(unsafe { sys::cudnnSetStream(self.state.lock().handle, stream.raw().cast()) }, "choosing the stream")
    }
}

impl Dnn {
    /// # Safety
    /// As `VendorRuntime::conv`.
    pub(crate) unsafe fn conv(&self, conv: &Conv, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        self.context.bind()?;
        let state = &mut *self.state.lock();
        let handle = state.handle;
        state.plans.convolve(
            "cuDNN",
            conv,
            |problem| quirks::mistrust(conv).map_or_else(|| Plan::new(handle, problem), |why| Err(why.into())),
            scratch,
            // SAFETY: the caller promises valid operands, which the plan was made for; the
            // workspace is as large as it asks.
            |plan, operands, workspace| unsafe { plan.execute(handle, operands, workspace) },
        )
    }
}

impl Drop for Dnn {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let destroyed = self.context.bind().and_then(|()| {
            state.plans.clear();
            // SAFETY: made in `new`, destroyed once, after what was made with it; destroying waits
            // for its work.
            check(unsafe { sys::cudnnDestroy(state.handle) }, "destroying the handle")
        });
        self.context.deferred().keep(destroyed);
    }
}
