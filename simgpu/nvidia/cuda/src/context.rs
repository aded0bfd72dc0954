//! Contexts: creation and destruction, the stack of each thread, limits and flags.

use crate::Code;
use crate::current::{Context, Slot, current, current_slot, must_slot, pop, push, replace};
use crate::error::{Error, Result, bail, call, put, put_if_wanted};
use crate::process::{Process, process};
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// `CU_CTX_MAP_HOST`, `LMEM_RESIZE_TO_MAX`, `COREDUMP_ENABLE`, `USER_COREDUMP_ENABLE`,
/// `SYNC_MEMOPS`.
const FLAGS: c_uint = 0x8 | 0x10 | 0x20 | 0x40 | 0x80;

/// How threads wait: one of `CU_CTX_SCHED_AUTO`, `SPIN`, `YIELD`, `BLOCKING_SYNC`.
const SCHEDULING: c_uint = 0x7;

pub(crate) fn check_flags(flags: c_uint) -> Result {
    if flags & !(FLAGS | SCHEDULING) != 0 || !matches!(flags & SCHEDULING, 0 | 1 | 2 | 4) {
        bail!(INVALID_VALUE, "unknown or contradicting flags {flags:#x}");
    }
    Ok(())
}

/// Returns the slot that a handle names, whether its context is destroyed or not; null names the
/// current context.
pub(crate) fn slot(process: &Process, handle: Handle) -> Result<Arc<Slot>> {
    if handle.is_null() {
        return Ok(must_slot()?.1);
    }
    let unknown = || Error::new(Code::INVALID_CONTEXT, format!("{handle:p} is not a context"));
    process.contexts.get(handle).ok_or_else(unknown)
}

fn create(to: *mut Handle, flags: c_uint, device: c_int) -> Result {
    if to.is_null() {
        bail!(INVALID_VALUE, "the pointer to the context is null");
    }
    let process = process()?;
    let device = process.device(device)?;
    check_flags(flags)?;
    let slot = Arc::new(Slot::new(device, false, Some(Context::new(process, device, flags))));
    let handle = process.contexts.add(slot.clone());
    push(handle, slot);
    // SAFETY: not null, and the caller of CUDA promises room for a context.
    unsafe { put(to, handle, "the context") }
}

/// Creates a context and makes it current.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxCreate_v2(to: *mut Handle, flags: c_uint, device: c_int) -> Code {
    call("cuCtxCreate_v2", || create(to, flags, device))
}

/// Creates a context that uses a part of the card. This is not supported: there must be no such
/// parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxCreate_v3(
    to: *mut Handle,
    _affinities: *mut c_void,
    count: c_int,
    flags: c_uint,
    device: c_int,
) -> Code {
    call("cuCtxCreate_v3", || {
        if count != 0 {
            bail!(UNSUPPORTED_EXEC_AFFINITY, "{count} affinity parameters, but a context always uses the whole device");
        }
        create(to, flags, device)
    })
}

/// `CUctxCreateParams`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CreateParams {
    /// Partitions of the card (execution affinities).
    pub affinities: *mut c_void,
    /// Number of affinities.
    pub affinity_count: c_int,
    /// Parameters for sharing data with graphics.
    pub graphics: *mut c_void,
}

/// Creates a context with parameters that must request nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxCreate_v4(
    to: *mut Handle,
    params: *const CreateParams,
    flags: c_uint,
    device: c_int,
) -> Code {
    call("cuCtxCreate_v4", || {
        if !params.is_null() {
            // SAFETY: not null; a program's pointers are null, or valid as the API's documentation
            // asks.
            let params = unsafe { params.read_unaligned() };
            if params.affinity_count != 0 || !params.graphics.is_null() {
                bail!(
                    UNSUPPORTED_EXEC_AFFINITY,
                    "a context always uses the whole device and cannot share data with graphics"
                );
            }
        }
        create(to, flags, device)
    })
}

/// Destroys a context and everything that belongs to it.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxDestroy_v2(handle: Handle) -> Code {
    call("cuCtxDestroy_v2", || {
        let process = process()?;
        let slot = slot(process, handle)?;
        if slot.primary || handle.is_null() {
            bail!(INVALID_CONTEXT, "{handle:p} is a primary context, which must be released instead, or not a context");
        }
        slot.context()?;
        if let Some(context) = slot.set(None) {
            process.empty(&context);
        }
        if current_slot().is_some_and(|(current, _)| current == handle) {
            pop();
        }
        Ok(())
    })
}

/// Pushes a context onto the thread's stack and makes it current.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPushCurrent_v2(handle: Handle) -> Code {
    call("cuCtxPushCurrent_v2", || {
        let process = process()?;
        if handle.is_null() {
            bail!(INVALID_VALUE, "the context is null");
        }
        push(handle, slot(process, handle)?);
        Ok(())
    })
}

/// Pops the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxPopCurrent_v2(to: *mut Handle) -> Code {
    call("cuCtxPopCurrent_v2", || {
        process()?;
        let Some(handle) = pop() else { bail!(INVALID_CONTEXT, "the thread has no current context") };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put_if_wanted(to, handle) };
        Ok(())
    })
}

/// Replaces the current context, or pops it if the new one is null.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(handle: Handle) -> Code {
    call("cuCtxSetCurrent", || {
        let process = process()?;
        replace(if handle.is_null() { None } else { Some((handle, slot(process, handle)?)) });
        Ok(())
    })
}

/// Returns the current context, or null if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCurrent(to: *mut Handle) -> Code {
    call("cuCtxGetCurrent", || {
        process()?;
        let handle = current_slot().map_or(std::ptr::null_mut(), |(handle, _)| handle);
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, handle, "the context") }
    })
}

/// Returns the device of the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetDevice(to: *mut c_int) -> Code {
    call("cuCtxGetDevice", || {
        process()?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, must_slot()?.1.device as c_int, "the device") }
    })
}

/// Returns the device of a context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetDevice_v2(to: *mut c_int, handle: Handle) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuCtxGetDevice_v2", || unsafe { put(to, slot(process()?, handle)?.device as c_int, "the device") })
}

/// Returns the ID of a context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetId(handle: Handle, to: *mut c_ulonglong) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuCtxGetId", || unsafe { put(to, slot(process()?, handle)?.context()?.id, "the number") })
}

/// Returns the API version that a context was created with: the same for all since CUDA 3.2.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetApiVersion(handle: Handle, to: *mut c_uint) -> Code {
    call("cuCtxGetApiVersion", || {
        let Ok(_) = slot(process()?, handle)?.context() else {
            bail!(INVALID_CONTEXT, "{handle:p} is a destroyed or inactive context");
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, 3020, "the version") }
    })
}

/// Returns the flags of the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetFlags(to: *mut c_uint) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuCtxGetFlags", || unsafe { put(to, current()?.flags.load(Ordering::Relaxed), "the flags") })
}

/// Sets the flags of the current context.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetFlags(flags: c_uint) -> Code {
    call("cuCtxSetFlags", || {
        check_flags(flags)?;
        current()?.flags.store(flags, Ordering::Relaxed);
        Ok(())
    })
}

/// Waits for all work of a context.
pub(crate) fn synchronize(context: &Context) -> Result {
    let done = process()?.machine.queues.synchronize_device(context.queue);
    context.settle(done.map_err(Error::from))
}

/// Waits for all work of the current context.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> Code {
    call("cuCtxSynchronize", || synchronize(&*current()?))
}

/// Waits for all work of a context.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize_v2(handle: Handle) -> Code {
    call("cuCtxSynchronize_v2", || {
        let context = slot(process()?, handle)?.context()?;
        context.check()?;
        synchronize(&context)
    })
}

/// Checks a cache preference, which is only a hint.
pub(crate) fn check_cache_config(config: c_int) -> Result {
    if !(0..=3).contains(&config) {
        bail!(INVALID_VALUE, "{config} is no preference of caches");
    }
    Ok(())
}

/// Returns the cache preference of the current context's kernels.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCacheConfig(to: *mut c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuCtxGetCacheConfig", || unsafe {
        put(to, current()?.cache_config.load(Ordering::Relaxed), "the preference")
    })
}

/// Sets the cache preference of the current context's kernels.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCacheConfig(config: c_int) -> Code {
    call("cuCtxSetCacheConfig", || {
        check_cache_config(config)?;
        current()?.cache_config.store(config, Ordering::Relaxed);
        Ok(())
    })
}

/// Returns the bank width of shared memory: `CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE`. Recent
/// cards offer no other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetSharedMemConfig(to: *mut c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuCtxGetSharedMemConfig", || unsafe { current().and_then(|_| put(to, 1, "the size")) })
}

/// Requests a bank width; the request has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetSharedMemConfig(config: c_int) -> Code {
    call("cuCtxSetSharedMemConfig", || {
        if !(0..=2).contains(&config) {
            bail!(INVALID_VALUE, "{config} is not a bank width");
        }
        current().map(drop)
    })
}

/// Resets persisting L2 cache lines; the simulator has none.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxResetPersistingL2Cache() -> Code {
    call("cuCtxResetPersistingL2Cache", || current().map(drop))
}

/// The lowest and the highest stream priority. Priorities have no effect here.
pub(crate) const PRIORITIES: (c_int, c_int) = (0, -5);

/// Returns the range of stream priorities.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> Code {
    call("cuCtxGetStreamPriorityRange", || {
        current()?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put_if_wanted(least, PRIORITIES.0);
            put_if_wanted(greatest, PRIORITIES.1);
        }
        Ok(())
    })
}
