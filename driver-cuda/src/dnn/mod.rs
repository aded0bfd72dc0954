//! Convolutions and attention by cuDNN.

mod attention;
mod convolution;
mod descriptor;
mod graph;
mod plan;
mod quirks;

use crate::context::Context;
use crate::library::CUDNN;
use crate::runtime::CudaRuntime;
use crate::stream::CudaStream;
use cudarc::cudnn::sys::{self, cudnnStatus_t as Status};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{
    AttentionProblem, Conv, ConvProblem, FusedAttention, LibraryHandle, LibraryPlans, Scratch, Vendor,
};
use parking_lot::Mutex;
use plan::Plan;
use std::ffi::CStr;
use std::sync::Arc;

/// A handle on one stream, with the plans that were made with it.
#[derive(Debug)]
pub(crate) struct Dnn {
    context: Arc<Context>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    handle: sys::cudnnHandle_t,
    convolutions: LibraryPlans<ConvProblem, Plan>,
    attentions: LibraryPlans<AttentionProblem, Plan>,
}

// SAFETY: cuDNN allows any thread to use a handle and its objects, one at a time, which the mutex
// ensures.
unsafe impl Send for State {}

pub(crate) use attention::refusal as attention_refusal;

/// The oldest release whose status codes the bindings know.
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
    let kind = match status {
        Status::CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED
        | Status::CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED => ErrorKind::OutOfMemory,
        _ => ErrorKind::LibraryFailure,
    };
    Err(Error::new(kind, format!("cuDNN, {doing}: {name}")).with_native(status as i64, name))
}

/// Returns the version of the loaded library.
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
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { sys::cudnnCreate(&mut handle) }, "creating a handle")?;
        let state =
            Mutex::new(State { handle, convolutions: LibraryPlans::default(), attentions: LibraryPlans::default() });
        let dnn = Self { context: runtime.context().clone(), state };
        dnn.move_to(stream)?;
        Ok(dnn)
    }

    fn move_to(&self, stream: &CudaStream) -> Result<()> {
        self.context.bind()?;
        // SAFETY: the handle is alive; the stream does not close before its handle is moved or
        // destroyed.
        check(unsafe { sys::cudnnSetStream(self.state.lock().handle, stream.raw().cast()) }, "setting the stream")
    }
}

impl Dnn {
    /// # Safety
    /// See `VendorRuntime::conv`.
    pub(crate) unsafe fn conv(&self, conv: &Conv, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        self.context.bind()?;
        let state = &mut *self.state.lock();
        let handle = state.handle;
        let make = |problem: &ConvProblem| match quirks::mistrust(conv) {
            Some(why) => Err(why.into()),
            None => Plan::new(handle, &convolution::graph(problem)?, problem.dtype),
        };
        let operands = [conv.src.ptr, conv.kernel.ptr, conv.dst.ptr];
        // SAFETY: the caller promises valid operands, for which the plan was made; the workspace
        // has the size that the plan requires.
        let execute = |plan: &mut Plan, workspace| unsafe { plan.execute(handle, &operands, workspace) };
        state.convolutions.run("cuDNN", ConvProblem::of(conv), make, scratch, execute)
    }

    /// # Safety
    /// See `VendorRuntime::attention`.
    pub(crate) unsafe fn attention(&self, asked: &FusedAttention, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        self.context.bind()?;
        let state = &mut *self.state.lock();
        let handle = state.handle;
        let make = |problem: &AttentionProblem| Plan::new(handle, &attention::graph(problem)?, problem.dtype);
        let operands: Vec<_> = [&asked.query, &asked.key, &asked.value, &asked.dst]
            .into_iter()
            .chain(&asked.mask)
            .map(|tensor| tensor.ptr)
            .chain(asked.lengths.into_iter().flatten())
            .collect();
        // SAFETY: as for convolutions.
        let execute = |plan: &mut Plan, workspace| unsafe { plan.execute(handle, &operands, workspace) };
        state.attentions.run("cuDNN", AttentionProblem::of(asked), make, scratch, execute)
    }
}

impl Drop for Dnn {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let destroyed = self.context.bind().and_then(|()| {
            state.convolutions.clear();
            state.attentions.clear();
            // SAFETY: the handle was created in `new` and is destroyed once, after the objects made
            // with it; destroying it waits for its work.
            check(unsafe { sys::cudnnDestroy(state.handle) }, "destroying the handle")
        });
        self.context.deferred().keep(destroyed);
    }
}
