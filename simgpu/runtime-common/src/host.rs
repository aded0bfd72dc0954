//! Host functions in stream order. The program's own run on a thread of the stream, because they
//! may wait for any other thread. Those of the libraries that replace the vendor's stand for work
//! of the device, so they run like it.

use crate::error::Result;
use crate::handles::Handle;
use crate::payload::{Labelled, Payload};
use crate::{ResultCode, bail, library_access};
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::queue::Work;
use std::ffi::c_void;

/// A host function that a stream calls. It must not call the interface of the device.
pub type HostFn = unsafe extern "C" fn(*mut c_void);

/// A host function that a stream calls with the status of its earlier work.
pub type StreamCallback<C> = unsafe extern "C" fn(Handle, C, *mut c_void);

/// The same functions, which an exception may leave, although the interface does not allow it. The
/// frame above the call catches it: a panic of Rust is then a fault of the stream, and an exception
/// of another language ends the process, as on a real card.
type ThrowingFn = unsafe extern "C-unwind" fn(*mut c_void);
type ThrowingCallback<C> = unsafe extern "C-unwind" fn(Handle, C, *mut c_void);

/// A pointer for which the caller of the interface is responsible.
#[derive(Debug, Clone, Copy)]
struct Data(*mut c_void);

// SAFETY: it is only passed to the function that came with it, which real drivers also call from
// their own threads.
unsafe impl Send for Data {}
// SAFETY: as above.
unsafe impl Sync for Data {}

impl Data {
    fn get(self) -> *mut c_void {
        self.0
    }
}

/// The call of a host node of a graph.
#[derive(Debug, Clone, Copy)]
pub struct HostCall {
    /// The function.
    pub func: HostFn,
    data: Data,
}

impl HostCall {
    /// Returns the argument of the function.
    pub fn data(&self) -> *mut c_void {
        self.data.get()
    }

    fn new<C: ResultCode>(func: Option<HostFn>, data: *mut c_void) -> Result<Self, C> {
        let Some(func) = func else { bail!(C, INVALID_VALUE, "the function is null") };
        Ok(Self { func, data: Data(data) })
    }

    fn make(self) -> std::result::Result<(), Fault> {
        // SAFETY: the types differ only in whether an exception may leave the function.
        let func = unsafe { std::mem::transmute::<HostFn, ThrowingFn>(self.func) };
        // SAFETY: the caller of the interface is responsible for the function and its argument.
        library_access::during(|| unsafe { func(self.data()) })
    }
}

/// Returns work that calls a function of the program.
///
/// # Errors
/// Fails if the function is null.
pub fn work<C: ResultCode>(func: Option<HostFn>, data: *mut c_void) -> Result<Work, C> {
    let call = HostCall::new(func, data)?;
    Ok(Work::host(move || call.make()).labelled(Payload::Host(Some(call))))
}

/// Returns work that calls a function of a library that replaces one of the vendor's.
///
/// # Errors
/// Fails if the function is null.
pub fn device_work<C: ResultCode>(func: Option<HostFn>, data: *mut c_void) -> Result<Work, C> {
    let call = HostCall::new(func, data)?;
    Ok(Work::new(move || call.make()).labelled(Payload::Host(Some(call))))
}

/// Returns work that calls a function of such a library, which waits for work of other devices.
///
/// # Errors
/// Fails if the function is null.
pub fn meeting_work<C: ResultCode>(func: Option<HostFn>, data: *mut c_void) -> Result<Work, C> {
    let call = HostCall::new(func, data)?;
    Ok(Work::meeting(move || call.make()).labelled(Payload::Host(Some(call))))
}

/// Returns work that calls a function with the stream and the success code. After a failure it is
/// not called.
///
/// # Errors
/// Fails if the function is null or the flags are not 0.
pub fn callback<C: ResultCode>(
    func: Option<StreamCallback<C>>,
    stream: Handle,
    data: *mut c_void,
    flags: u32,
) -> Result<Work, C> {
    let Some(func) = func.filter(|_| flags == 0) else {
        bail!(C, INVALID_VALUE, "the function is null, or the flags are not 0: {flags:#x}");
    };
    // SAFETY: the types differ only in whether an exception may leave the function.
    let func = unsafe { std::mem::transmute::<StreamCallback<C>, ThrowingCallback<C>>(func) };
    let (stream, data) = (Data(stream), Data(data));
    let work = Work::host(move || {
        // SAFETY: the caller of the interface is responsible for the function and its argument.
        unsafe { func(stream.get(), C::SUCCESS, data.get()) };
        Ok(())
    });
    Ok(work.labelled(Payload::Host(None)))
}
