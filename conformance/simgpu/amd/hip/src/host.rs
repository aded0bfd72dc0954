//! Functions of the host in stream order.

use crate::Code;
use crate::error::{Result, bail, call};
use crate::graph_node::{Labelled, Payload};
use crate::handles::Handle;
use crate::process::process;
use isobit_simgpu_core::queue::Work;
use std::ffi::{c_uint, c_void};

/// A function of the host that a stream calls. It must not call HIP.
pub type HostFn = unsafe extern "C" fn(*mut c_void);

/// A function of the host that a stream calls with the state of its work before.
pub type StreamCallback = unsafe extern "C" fn(Handle, Code, *mut c_void);

/// A pointer that the caller of HIP answers for.
#[derive(Clone, Copy)]
struct Data(*mut c_void);

// SAFETY: it is only handed on to the function that came with it, which HIP calls from threads of its own.
unsafe impl Send for Data {}
// SAFETY: as above.
unsafe impl Sync for Data {}

impl Data {
    fn get(self) -> *mut c_void {
        self.0
    }
}

/// The work of calling a function.
pub(crate) fn work(func: Option<HostFn>, data: *mut c_void) -> Result<Work> {
    let Some(func) = func else { bail!(INVALID_VALUE, "the function is null") };
    let data = Data(data);
    let work = Work::new(move || {
        // SAFETY: whoever gave the function to HIP answers for it and its argument.
        unsafe { func(data.get()) };
        Ok(())
    });
    Ok(work.labelled(Payload::Host))
}

/// Calls a function when the work before it is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipLaunchHostFunc(stream: Handle, func: Option<HostFn>, data: *mut c_void) -> Code {
    call("hipLaunchHostFunc", || {
        let process = process()?;
        Ok(process.queues.enqueue(process.stream(stream)?, work(func, data)?)?)
    })
}

/// Calls a function with the stream and success when the work before it is done; after a failure it is not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamAddCallback(
    stream: Handle,
    func: Option<StreamCallback>,
    data: *mut c_void,
    flags: c_uint,
) -> Code {
    call("hipStreamAddCallback", || {
        let Some(func) = func.filter(|_| flags == 0) else {
            bail!(INVALID_VALUE, "the function is null, or the flags are not 0: {flags:#x}");
        };
        let process = process()?;
        let (stream_data, data) = (Data(stream), Data(data));
        let work = Work::new(move || {
            // SAFETY: whoever gave the function to HIP answers for it and its argument.
            unsafe { func(stream_data.get(), Code::SUCCESS, data.get()) };
            Ok(())
        });
        Ok(process.queues.enqueue(process.stream(stream)?, work.labelled(Payload::Host))?)
    })
}
