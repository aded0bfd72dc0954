//! Limits of a device: the size of a thread's stack.

use crate::Code;
use crate::error::{Result, bail, call, put};
use crate::process::{current_device, working};
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// `hipLimitStackSize`
const STACK: c_int = 0;
/// `hipLimitRange`: all limits are less.
const RANGE: c_int = 3;
/// The largest stack per thread in bytes.
const MOST_STACK: usize = (128 << 10) - 16;

/// Checks that a limit is one that these cards have.
fn check(limit: c_int) -> Result {
    match limit {
        STACK => Ok(()),
        other if (0..RANGE).contains(&other) => {
            bail!(UNSUPPORTED_LIMIT, "this device does not support limit {limit}")
        }
        _ => bail!(INVALID_VALUE, "{limit} is not a limit"),
    }
}

/// Returns a limit of the current device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetLimit(to: *mut usize, limit: c_int) -> Code {
    call("hipDeviceGetLimit", || {
        check(limit)?;
        let stack = working()?.cards[current_device()].stack.load(Ordering::Relaxed);
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, stack as usize, "the limit") }
    })
}

/// Sets a limit of the current device, for the launches that follow. The stack is that of kernels
/// whose stack has an unknown depth; others have what they need.
#[unsafe(no_mangle)]
pub extern "C" fn hipDeviceSetLimit(limit: c_int, value: usize) -> Code {
    call("hipDeviceSetLimit", || {
        check(limit)?;
        if value > MOST_STACK {
            bail!(INVALID_VALUE, "a stack of {value} bytes exceeds {MOST_STACK}");
        }
        working()?.cards[current_device()].stack.store(value as u32, Ordering::Relaxed);
        Ok(())
    })
}
