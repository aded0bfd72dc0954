//! Convolutions by MIOpen.

mod plan;

use crate::context::Context;
use crate::error::static_text;
use crate::library::MIOPEN;
use crate::runtime::RocmRuntime;
use crate::stream::RocmStream;
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{Conv, ConvPlans, LibraryHandle, Scratch, Vendor};
use miopen_sys::*;
use parking_lot::Mutex;
use plan::Plan;
use std::sync::Arc;

/// A handle on one stream, and the plans that were made with it.
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

// SAFETY: MIOpen lets any thread use a handle and what was made with it, one at a time; the mutex
// sees to that.
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

impl LibraryHandle<RocmRuntime> for Dnn {
    fn new(runtime: &RocmRuntime, stream: &RocmStream) -> Result<Self> {
        let library = MIOPEN.require()?;
        runtime.context().bind()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: an out-parameter; the stream closes no earlier than its handle is moved elsewhere
        // or destroyed.
        let status = unsafe { (library.miopenCreateWithStream)(&mut handle, stream.raw()) };
        check(library, status, "making a handle")?;
        let state = Mutex::new(State { handle, plans: ConvPlans::default() });
        Ok(Self { context: runtime.context().clone(), library, state })
    }

    fn move_to(&self, stream: &RocmStream) -> Result<()> {
        self.context.bind()?;
        // SAFETY: as in `new`.
        let status = unsafe { (self.library.miopenSetStream)(self.state.lock().handle, stream.raw()) };
        check(self.library, status, "choosing the stream")
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
            "MIOpen",
            conv,
            |problem| Plan::new(self.library, handle, problem),
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
            check(self.library, unsafe { (self.library.miopenDestroy)(state.handle) }, "destroying the handle")
        });
        self.context.deferred().keep(destroyed);
    }
}
