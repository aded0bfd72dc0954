//! The simulator's own functions, beside HIP's.

use crate::process::{Process, process};
use isobit_simgpu_runtime_common::report;
use std::ffi::{c_char, c_int, c_void};

/// Writes a report of all cards; the shared `report::write` says how.
///
/// # Safety
/// `buffer` is null or has room for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isobit_sim_report(buffer: *mut c_char, length: usize) -> usize {
    let of = || {
        let Process { machine, cards, .. } = process().ok()?;
        let instructions = cards.iter().map(|installed| installed.gpu.instructions()).sum();
        Some((&*machine.findings, instructions))
    };
    // SAFETY: the caller promises that `buffer` is null or has room for `length` bytes.
    unsafe { report::write(of, buffer, length) }
}

/// Has what nobody asked for told when the process ends.
pub(crate) fn tell_at_exit() {
    report::tell_at_exit(|| process().ok().map(|process| &*process.machine.findings));
}

/// Checks an access of a library to device memory; the shared `report::access` says how.
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
    // SAFETY: the caller promises that `what` is null or a string that ends in NUL.
    unsafe { report::access(|| process().ok().map(|process| &process.machine), address, bytes, write, what) }
}
