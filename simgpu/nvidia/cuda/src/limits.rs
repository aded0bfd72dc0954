//! Context limits.

use crate::Code;
use crate::card::Card;
use crate::current::{Context, current};
use crate::error::{Error, bail, call, put};
use crate::process::process;
use isobit_simgpu_nvidia::exec::stack::DEFAULT_STACK;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// `CU_LIMIT_STACK_SIZE`; the other limits follow it.
const STACK: c_int = 0;
const PRINTF: c_int = 1;
const HEAP: c_int = 2;
const PENDING_LAUNCHES: c_int = 4;
const L2_FETCH: c_int = 5;
const PERSISTING_L2: c_int = 6;
const SHARED: c_int = 7;
const GRAPHICS: c_int = 8;

/// Returns the limits of a new context.
pub(crate) fn default_limits(card: &Card) -> HashMap<c_int, usize> {
    HashMap::from([
        (STACK, DEFAULT_STACK as usize),
        (PRINTF, printf_bytes(card)),
        (HEAP, 8 << 20),
        (PENDING_LAUNCHES, 2048),
        (L2_FETCH, 64),
        (PERSISTING_L2, 0),
        (SHARED, card.arch.shared_bytes() as usize),
        (GRAPHICS, 0),
    ])
}

/// Returns how many bytes of `printf` a card holds by default until they are printed.
pub(crate) fn printf_bytes(card: &Card) -> usize {
    card.multiprocessors.count as usize * 65536
}

fn limit_error(limit: c_int) -> Error {
    // The synchronization depth of device-side launches, and whether graphics share shared memory:
    // cards no longer support the first, and these cards never supported the second.
    if matches!(limit, 3 | 9) {
        return Error::new(Code::UNSUPPORTED_LIMIT, format!("this device does not support limit {limit}"));
    }
    Error::new(Code::INVALID_VALUE, format!("{limit} is not a limit, or cannot be set"))
}

/// Returns a limit of the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetLimit(to: *mut usize, limit: c_int) -> Code {
    call("cuCtxGetLimit", || {
        let context = current()?;
        let limits = context.limits.lock();
        let value = limits.get(&limit).copied().ok_or_else(|| limit_error(limit))?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, value, "the limit") }
    })
}

/// Returns the bytes of stack per thread of a context.
pub(crate) fn stack_limit(context: &Context) -> u32 {
    context.limits.lock().get(&STACK).map_or(DEFAULT_STACK, |bytes| *bytes as u32)
}

/// Sets a limit of the current context. Launches that follow have this much stack. The frames of
/// functions that do not call themselves fit in any case. What a thread allocates with `alloca`
/// counts besides, and can exceed the limit.
///
/// The contexts of a card share what holds the text of `printf`, so the last limit that was set
/// counts.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetLimit(limit: c_int, value: usize) -> Code {
    /// Maximum bytes of local memory per thread.
    const MOST_STACK: usize = 512 << 10;
    call("cuCtxSetLimit", || {
        let context = current()?;
        let installed = &process()?.cards[context.device];
        let card = installed.card;
        let value = match limit {
            STACK if value > MOST_STACK => bail!(INVALID_VALUE, "a stack of {value} bytes exceeds {MOST_STACK}"),
            PRINTF if context.prints.load(Ordering::Relaxed) => {
                bail!(INVALID_VALUE, "the buffer of printf must be set before the first kernel that prints is launched")
            }
            STACK | PRINTF | HEAP | PENDING_LAUNCHES => value,
            L2_FETCH => value.min(128),
            PERSISTING_L2 => value.min(card.persisting_l2 as usize),
            _ => return Err(limit_error(limit)),
        };
        if limit == PRINTF {
            installed.gpu.output().set_room(value);
        }
        context.limits.lock().insert(limit, value);
        Ok(())
    })
}
