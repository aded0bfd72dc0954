//! What was executed and found, and accesses of libraries that stand in for the vendor's: what
//! stands behind the simulator's own functions.

use crate::Machine;
use isobit_simgpu_core::finding::{Finding, Findings};
use parking_lot::Mutex;
use serde::Serialize;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// What [`write`] writes, as JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// Executed since the start of the process, times the lanes of a wave.
    instructions: u64,
    /// Since the last report that was given.
    findings: &'a [Finding],
}

/// Taken from the collector, but not given yet because the buffer was too small.
static KEPT: Mutex<Vec<Finding>> = Mutex::new(Vec::new());

/// Writes a report, as JSON without a NUL, and forgets the findings in it. `of` gives the findings
/// and the number of instructions, or nothing where the simulator could not be started, and is
/// called where a panic does no harm. Answers how many bytes the report has; where `length` is
/// less, nothing is written and nothing forgotten. Answers 0 where there is no simulator.
///
/// # Safety
/// `buffer` is null or has room for `length` bytes.
pub unsafe fn write<'a>(of: impl FnOnce() -> Option<(&'a Findings, u64)>, buffer: *mut c_char, length: usize) -> usize {
    let written = catch_unwind(AssertUnwindSafe(|| {
        let Some((findings, instructions)) = of() else { return 0 };
        let mut kept = KEPT.lock();
        kept.extend(findings.take());
        let Ok(json) = serde_json::to_vec(&Report { instructions, findings: &kept }) else { return 0 };
        if !buffer.is_null() && json.len() <= length {
            // SAFETY: as many bytes fit, and as the caller promises.
            unsafe { std::ptr::copy_nonoverlapping(json.as_ptr(), buffer.cast(), json.len()) };
            kept.clear();
        }
        json.len()
    }));
    written.unwrap_or(0)
}

/// Gives the findings of the process, once there are any.
type Source = fn() -> Option<&'static Findings>;

/// Has what nobody asked for told on the standard error when the process ends: a program that knows
/// nothing of the simulator shows it too. The first source that is given counts.
pub fn tell_at_exit(source: Source) {
    static SOURCE: OnceLock<Source> = OnceLock::new();
    extern "C" fn tell() {
        // A panic in a function that the C library calls would abort the process instead of ending
        // it.
        let _ = catch_unwind(|| {
            let Some(findings) = SOURCE.get().and_then(|source| source()) else { return };
            let kept = std::mem::take(&mut *KEPT.lock());
            let mut found = kept.into_iter().chain(findings.take());
            found.by_ref().take(TOLD_AT_EXIT).for_each(|finding| eprintln!("simulated GPU: {finding}"));
            match found.count() {
                0 => {}
                more => eprintln!("simulated GPU: {more} more findings"),
            }
        });
    }
    if SOURCE.set(source).is_ok() {
        // SAFETY: the function is the library's that this is part of, which is never unloaded (its
        // build script sees to that). If it cannot be registered, nothing is told.
        unsafe { libc::atexit(tell) };
    }
}

/// Findings that are told one by one at the end.
const TOLD_AT_EXIT: usize = 20;

/// Checks an access of a library to device memory, in the function that a stream calls: that one
/// live allocation holds the bytes and, where they are read, that they were written. Bytes that are
/// written count as written from then on. Host memory may always be accessed. Answers 0 where the
/// access may be made; otherwise a finding names `what`. `of` is called where a panic does no harm.
///
/// # Safety
/// `what` is null or a string that ends in NUL.
pub unsafe fn access<'a>(
    of: impl FnOnce() -> Option<&'a Machine>,
    address: *const c_void,
    bytes: usize,
    write: c_int,
    what: *const c_char,
) -> c_int {
    let may = catch_unwind(AssertUnwindSafe(|| {
        let Some(machine) = of() else { return false };
        // SAFETY: not null; the caller promises that `what` is null or a string that ends in NUL.
        let name = (!what.is_null()).then(|| unsafe { CStr::from_ptr(what) });
        let name = name.and_then(|name| name.to_str().ok()).unwrap_or("a library");
        let address = address as u64;
        if address != 0 && !machine.memory.holds(address) {
            return true;
        }
        machine.memory.host_access(address, bytes, write != 0, name, &machine.findings)
    }));
    c_int::from(!may.unwrap_or(false))
}

/// Declares the simulator's own functions, which a vendor's library has beside the vendor's:
/// `isobit_sim_report`, `isobit_sim_access`, and what tells at the end of the process. The first
/// expression gives the process's [`Machine`] as an `Option<&'static Machine>`, the second the
/// number of instructions that its cards have executed.
#[macro_export]
macro_rules! report_functions {
    ($machine:expr, $instructions:expr) => {
        /// Writes a report of all cards; [`write`]($crate::report::write) says how. Answers 0
        /// before the interface is initialised.
        ///
        /// # Safety
        /// `buffer` is null or has room for `length` bytes.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn isobit_sim_report(buffer: *mut std::ffi::c_char, length: usize) -> usize {
            let of = || {
                let machine: Option<&'static $crate::Machine> = $machine;
                Some((&*machine?.findings, $instructions))
            };
            // SAFETY: the caller promises that `buffer` is null or has room for `length` bytes.
            unsafe { $crate::report::write(of, buffer, length) }
        }

        /// Has what nobody asked for told when the process ends.
        pub(crate) fn tell_at_exit() {
            $crate::report::tell_at_exit(|| $machine.map(|machine| &*machine.findings));
        }

        /// Checks an access of a library to device memory; [`access`]($crate::report::access) says
        /// how.
        ///
        /// # Safety
        /// `what` is null or a string that ends in NUL.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn isobit_sim_access(
            address: *const std::ffi::c_void,
            bytes: usize,
            write: std::ffi::c_int,
            what: *const std::ffi::c_char,
        ) -> std::ffi::c_int {
            // SAFETY: the caller promises that `what` is null or a string that ends in NUL.
            unsafe { $crate::report::access(|| $machine, address, bytes, write, what) }
        }
    };
}
