//! Functions of the host in stream order.

use crate::error::Result;
use crate::handles::Handle;
use crate::payload::{Labelled, Payload};
use crate::{ResultCode, bail};
use isobit_simgpu_core::queue::Work;
use std::ffi::c_void;

/// A function of the host that a stream calls. It must not call the interface of the device.
pub type HostFn = unsafe extern "C" fn(*mut c_void);

/// A function of the host that a stream calls with the state of its work before.
pub type StreamCallback<C> = unsafe extern "C" fn(Handle, C, *mut c_void);

/// A pointer that the caller of the interface answers for.
#[derive(Debug, Clone, Copy)]
struct Data(*mut c_void);

// SAFETY: it is only handed on to the function that came with it, which vendors call from threads
// of their own.
unsafe impl Send for Data {}
// SAFETY: as above.
unsafe impl Sync for Data {}

impl Data {
    fn get(self) -> *mut c_void {
        self.0
    }
}

/// A call that a node of a graph makes.
#[derive(Debug, Clone, Copy)]
pub struct HostCall {
    /// The function.
    pub func: HostFn,
    data: Data,
}

impl HostCall {
    /// What the function is called with.
    pub fn data(&self) -> *mut c_void {
        self.data.get()
    }
}

/// The work of calling a function.
///
/// # Errors
/// There is none.
pub fn work<C: ResultCode>(func: Option<HostFn>, data: *mut c_void) -> Result<Work, C> {
    let Some(func) = func else { bail!(C, INVALID_VALUE, "the function is null") };
    let call = HostCall { func, data: Data(data) };
    let work = Work::new(move || {
        // SAFETY: whoever gave the function to the interface answers for it and its argument.
        unsafe { (call.func)(call.data()) };
        Ok(())
    });
    Ok(work.labelled(Payload::Host(Some(call))))
}

/// The work of calling a function with the stream and success; after a failure it is not called.
///
/// # Errors
/// There is none, or the flags are not 0.
pub fn callback<C: ResultCode>(
    func: Option<StreamCallback<C>>,
    stream: Handle,
    data: *mut c_void,
    flags: u32,
) -> Result<Work, C> {
    let Some(func) = func.filter(|_| flags == 0) else {
        bail!(C, INVALID_VALUE, "the function is null, or the flags are not 0: {flags:#x}");
    };
    let (stream, data) = (Data(stream), Data(data));
    let work = Work::new(move || {
        // SAFETY: whoever gave the function to the interface answers for it and its argument.
        unsafe { func(stream.get(), C::SUCCESS, data.get()) };
        Ok(())
    });
    Ok(work.labelled(Payload::Host(None)))
}
