//! Convolutions by MIOpen.

mod plan;

use crate::error::{check as check_hip, static_text};
use crate::library::MIOPEN;
use crate::memory;
use crate::runtime::Context;
use crate::stream::RocmStream;
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{Conv, ConvPlans, ConvProblem, DevicePtr, Vendor};
use miopen_sys::*;
use plan::Plan;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

/// A handle on the device's stream, and the plans that were made with it.
#[derive(Debug)]
pub(crate) struct Dnn {
    context: Arc<Context>,
    library: &'static Miopen,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    handle: miopenHandle_t,
    plans: ConvPlans<Plan>,
}

// SAFETY: MIOpen lets any thread use a handle and what was made with it, one at a time; the mutex sees to that.
unsafe impl Send for State {}

fn text_of(library: &Miopen, status: miopenStatus_t) -> String {
    // SAFETY: MIOpen returns a static string for every status.
    unsafe { static_text((library.miopenGetErrorString)(status), "unknown") }
}

fn check(library: &Miopen, status: miopenStatus_t, doing: &str) -> Result<()> {
    if status == miopenStatusSuccess {
        return Ok(());
    }
    let kind = match status {
        miopenStatusAllocFailed => ErrorKind::OutOfMemory,
        _ => ErrorKind::LibraryFailure,
    };
    let name = text_of(library, status);
    Err(Error::new(kind, format!("MIOpen, {doing}: {name}")).with_native(i64::from(status), name))
}

/// The library's version.
pub(crate) fn version() -> Result<String> {
    let library = MIOPEN.require()?;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: plain out-parameters.
    let status = unsafe { (library.miopenGetVersion)(&mut major, &mut minor, &mut patch) };
    check(library, status, "asking for its version")?;
    Ok(format!("{major}.{minor}.{patch}"))
}

impl Dnn {
    pub(crate) fn new(context: &Arc<Context>, stream: &RocmStream) -> Result<Self> {
        let library = MIOPEN.require()?;
        context.bind()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: an out-parameter; the stream lives by the device that owns it and the handle.
        let status = unsafe { (library.miopenCreateWithStream)(&mut handle, stream.raw()) };
        check(library, status, "making a handle")?;
        let state = Mutex::new(State { handle, plans: ConvPlans::default() });
        Ok(Self { context: context.clone(), library, state })
    }

    /// # Safety
    /// As `GpuRuntime::conv`, with the device current.
    pub(crate) unsafe fn conv(&self, stream: &RocmStream, conv: &Conv) -> Result<Vendor> {
        let declined = |why: String| Ok(Vendor::Declined(format!("MIOpen {why}")));
        let problem = match ConvProblem::of(conv) {
            Ok(problem) => problem,
            Err(why) => return declined(why),
        };
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = state.handle;
        let bytes = match state.plans.plan(&problem, || Plan::new(self.library, handle, &problem)) {
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
    fn exchange(&self, stream: &RocmStream, old: DevicePtr, bytes: usize) -> Result<DevicePtr> {
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
                check(self.library, (self.library.miopenDestroy)(state.handle), "destroying the handle")?;
                if workspace != DevicePtr(0) {
                    let freed = (self.context.hip.hipFree)(workspace.0 as *mut c_void);
                    check_hip(freed, "freeing MIOpen's workspace")?;
                }
            }
            Ok(())
        });
        self.context.deferred().keep(result);
    }
}
