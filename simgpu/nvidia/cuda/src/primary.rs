//! The primary context of each device, which all callers that retain it share.

use crate::Code;
use crate::context::check_flags;
use crate::current::{Context, Slot, current_slot, pop, push};
use crate::error::{Result, bail, call, put, put_if_wanted};
use crate::process::{Process, process};
use isobit_simgpu_runtime_common::handles::Handle;
use parking_lot::MutexGuard;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The primary context of a device: one permanent handle for a succession of contexts.
#[derive(Debug, Default)]
pub(crate) struct Primary {
    slot: Option<(u64, Arc<Slot>)>,
    retained: u32,
    flags: u32,
}

impl Primary {
    fn context(&self) -> Option<Arc<Context>> {
        self.slot.as_ref().and_then(|(_, slot)| slot.get())
    }

    /// Destroys the context, if there is one.
    fn end(&mut self, process: &Process) {
        if let Some(context) = self.slot.as_ref().and_then(|(_, slot)| slot.set(None)) {
            process.empty(&context);
        }
    }
}

fn primary(process: &Process, device: c_int) -> Result<(usize, MutexGuard<'_, Primary>)> {
    let device = process.device(device)?;
    Ok((device, process.cards[device].primary.lock()))
}

/// Calls a function while a context of the device is current for the thread: the one that is, or
/// the primary one.
pub(crate) fn on_device<T>(process: &Process, device: usize, function: impl FnOnce() -> Result<T>) -> Result<T> {
    if current_slot().is_some_and(|(_, slot)| slot.device == device) {
        return function();
    }
    let Some((handle, slot)) = process.cards[device].primary.lock().slot.clone() else {
        bail!(INVALID_CONTEXT, "device {device} has no context");
    };
    push(handle as Handle, slot);
    let result = function();
    pop();
    result
}

/// Retains the primary context of a device and creates it if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(to: *mut Handle, device: c_int) -> Code {
    call("cuDevicePrimaryCtxRetain", || {
        if to.is_null() {
            bail!(INVALID_VALUE, "the pointer to the context is null");
        }
        let process = process()?;
        let (device, mut primary) = primary(process, device)?;
        let flags = primary.flags;
        let (handle, slot) = primary
            .slot
            .get_or_insert_with(|| {
                let slot = Arc::new(Slot::new(device, true, None));
                (process.contexts.add(slot.clone()) as u64, slot)
            })
            .clone();
        if slot.get().is_none() {
            slot.set(Some(Context::new(process, device, flags)));
        }
        primary.retained += 1;
        // SAFETY: not null; a program's pointers are null, or valid as the API's documentation
        // asks.
        unsafe { put(to, handle as Handle, "the context") }
    })
}

/// Releases the primary context; the last release destroys it.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> Code {
    call("cuDevicePrimaryCtxRelease_v2", || {
        let process = process()?;
        let (_, mut primary) = primary(process, device)?;
        if primary.retained == 0 {
            bail!(INVALID_CONTEXT, "the primary context is not retained");
        }
        primary.retained -= 1;
        if primary.retained == 0 {
            primary.end(process);
        }
        Ok(())
    })
}

/// Destroys the primary context, no matter who retains it.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxReset_v2(device: c_int) -> Code {
    call("cuDevicePrimaryCtxReset_v2", || {
        let process = process()?;
        primary(process, device)?.1.end(process);
        Ok(())
    })
}

/// Sets the flags of the primary context.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) -> Code {
    call("cuDevicePrimaryCtxSetFlags_v2", || {
        let (_, mut primary) = primary(process()?, device)?;
        check_flags(flags)?;
        primary.flags = flags;
        if let Some(context) = primary.context() {
            context.flags.store(flags, Ordering::Relaxed);
        }
        Ok(())
    })
}

/// Returns the flags of the primary context, and whether it is active.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) -> Code {
    call("cuDevicePrimaryCtxGetState", || {
        let (_, primary) = primary(process()?, device)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put_if_wanted(flags, primary.flags);
            put(active, primary.context().is_some().into(), "the state")
        }
    })
}
