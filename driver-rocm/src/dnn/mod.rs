//! Convolutions by MIOpen.

mod plan;

use crate::context::Context;
use crate::error::static_text;
use crate::library::MIOPEN;
use crate::runtime::RocmRuntime;
use crate::stream::RocmStream;
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{Conv, ConvProblem, LibraryHandle, LibraryPlans, Scratch, Vendor};
use miopen_sys::*;
use parking_lot::Mutex;
use plan::Plan;
use std::sync::Arc;

/// A handle on one stream, with the plans that were made with it.
#[derive(Debug)]
pub(crate) struct Dnn {
    context: Arc<Context>,
    library: &'static Miopen,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    handle: miopenHandle_t,
    plans: LibraryPlans<ConvProblem, Plan>,
}

// SAFETY: MIOpen allows any thread to use a handle and its objects, one at a time, which the mutex
// ensures.
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

/// Returns the library's version.
pub(crate) fn version() -> Result<String> {
    let library = MIOPEN.require()?;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the out-parameters are valid pointers.
    let status = unsafe { (library.miopenGetVersion)(&mut major, &mut minor, &mut patch) };
    check(library, status, "querying its version")?;
    Ok(format!("{major}.{minor}.{patch}"))
}

impl LibraryHandle<RocmRuntime> for Dnn {
    fn new(runtime: &RocmRuntime, stream: &RocmStream) -> Result<Self> {
        let library = MIOPEN.require()?;
        runtime.context().bind()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the out-parameter is a valid pointer; the stream does not close before its handle
        // is moved or destroyed.
        let status = unsafe { (library.miopenCreateWithStream)(&mut handle, stream.raw()) };
        check(library, status, "creating a handle")?;
        let state = Mutex::new(State { handle, plans: LibraryPlans::default() });
        Ok(Self { context: runtime.context().clone(), library, state })
    }

    fn move_to(&self, stream: &RocmStream) -> Result<()> {
        self.context.bind()?;
        // SAFETY: as in `new`.
        let status = unsafe { (self.library.miopenSetStream)(self.state.lock().handle, stream.raw()) };
        check(self.library, status, "setting the stream")
    }
}

impl Dnn {
    /// # Safety
    /// See `VendorRuntime::conv`.
    pub(crate) unsafe fn conv(&self, conv: &Conv, scratch: &mut Scratch<'_>) -> Result<Vendor> {
        self.context.bind()?;
        let state = &mut *self.state.lock();
        let handle = state.handle;
        let operands = [conv.src.ptr, conv.kernel.ptr, conv.dst.ptr];
        state.plans.run(
            "MIOpen",
            ConvProblem::of(conv),
            |problem| Plan::new(self.library, handle, problem),
            scratch,
            // SAFETY: the caller promises valid operands, for which the plan was made; the
            // workspace has the size that the plan requires.
            |plan, workspace| unsafe { plan.execute(handle, operands, workspace) },
        )
    }
}

impl Drop for Dnn {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let destroyed = self.context.bind().and_then(|()| {
            state.plans.clear();
            // SAFETY: the handle was created in `new` and is destroyed once, after the objects made
            // with it; destroying it waits for its work.
            check(self.library, unsafe { (self.library.miopenDestroy)(state.handle) }, "destroying the handle")
        });
        self.context.deferred().keep(destroyed);
    }
}
