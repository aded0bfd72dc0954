//! The simulator's own functions, beside HIP's: what was executed and found, and accesses of libraries that stand in for the vendor's.

use crate::error::text;
use crate::process::process;
use isobit_simgpu_core::finding::Finding;
use serde::Serialize;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

/// What [`isobit_sim_report`] writes, as JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// Executed since the start of the process, times the lanes of a wave.
    instructions: u64,
    /// Since the last report that was given.
    findings: &'a [Finding],
}

/// Taken from the collector, but not given yet because the buffer was too small.
static KEPT: Mutex<Vec<Finding>> = Mutex::new(Vec::new());

/// Writes a report of all cards, as JSON without a NUL, and forgets the findings in it. Answers how many bytes it has; where `length` is
/// less, nothing is written and nothing forgotten. Answers 0 where the simulator could not be started.
///
/// # Safety
/// `buffer` is null or has room for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isobit_sim_report(buffer: *mut c_char, length: usize) -> usize {
    let written = std::panic::catch_unwind(|| {
        let Ok(process) = process() else { return 0 };
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(process.findings.take());
        let instructions = process.cards.iter().map(|installed| installed.gpu.instructions()).sum();
        let Ok(json) = serde_json::to_vec(&Report { instructions, findings: &kept }) else { return 0 };
        if !buffer.is_null() && json.len() <= length {
            // SAFETY: as many bytes fit, and the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(json.as_ptr(), buffer.cast(), json.len()) };
            kept.clear();
        }
        json.len()
    });
    written.unwrap_or(0)
}

/// Has what nobody asked for told on the standard error when the process ends: a program that knows nothing of the simulator shows it too.
pub(crate) fn tell_at_exit() {
    extern "C" fn tell() {
        // A panic in a function that the C library calls would abort the process instead of ending it.
        let _ = std::panic::catch_unwind(|| {
            let Ok(process) = process() else { return };
            let kept = std::mem::take(&mut *KEPT.lock().unwrap_or_else(PoisonError::into_inner));
            let mut found = kept.into_iter().chain(process.findings.take());
            found.by_ref().take(TOLD_AT_EXIT).for_each(|finding| eprintln!("simulated GPU: {finding}"));
            match found.count() {
                0 => {}
                more => eprintln!("simulated GPU: {more} more findings"),
            }
        });
    }
    // SAFETY: the function is this library's, which is never unloaded (its build script sees to that). If it cannot be registered,
    // nothing is told.
    unsafe { libc::atexit(tell) };
}

/// Findings that are told one by one at the end.
const TOLD_AT_EXIT: usize = 20;

/// Checks an access of a library to device memory, in the function that a stream calls: that one live allocation holds the bytes and, where
/// they are read, that they were written. Bytes that are written count as written from then on. Host memory may always be accessed. Answers 0
/// where the access may be made; otherwise a finding names `what`.
///
/// # Safety
/// `what` is null or a string that ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isobit_sim_access(
    address: *const c_void,
    bytes: usize,
    write: c_int,
    what: *const c_char,
) -> c_int {
    let may = std::panic::catch_unwind(|| {
        let Ok(process) = process() else { return false };
        // SAFETY: the caller's promise.
        let what = unsafe { text(what, "the name") }.unwrap_or("a library");
        let address = address as u64;
        if address != 0 && !process.memory.holds(address) {
            return true;
        }
        process.memory.host_access(address, bytes, write != 0, what, &process.findings)
    });
    c_int::from(!may.unwrap_or(false))
}
