//! The implementation of the simulator's own functions: the report of findings and executed
//! instructions, and the checks for the libraries that replace the vendor's.

use crate::{Machine, library_access};
use isobit_simgpu_core::coverage;
use isobit_simgpu_core::finding::{Fault, Finding, FindingKind, Findings};
use isobit_simgpu_core::settings::settings;
use parking_lot::Mutex;
use serde::Serialize;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Display;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// The JSON that [`write`] writes.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// Instructions since the start of the process, multiplied by the lanes of a wave.
    instructions: u64,
    /// Findings since the last report.
    findings: &'a [Finding],
}

/// Findings taken from the collector but not returned yet, because the buffer was too small.
static KEPT: Mutex<Vec<Finding>> = Mutex::new(Vec::new());

/// Writes a report, as JSON without a NUL, and drops the findings in it. `of` returns the findings
/// and the number of instructions, or `None` if the simulator could not be started; a panic in it
/// is caught. Returns the size of the report in bytes; if `length` is less, nothing is written or
/// dropped. Returns 0 if there is no simulator.
///
/// # Safety
/// `buffer` must be null or have room for `length` bytes.
pub unsafe fn write<'a>(of: impl FnOnce() -> Option<(&'a Findings, u64)>, buffer: *mut c_char, length: usize) -> usize {
    let written = catch_unwind(AssertUnwindSafe(|| {
        let Some((findings, instructions)) = of() else { return 0 };
        let mut kept = KEPT.lock();
        kept.extend(findings.take());
        let Ok(json) = serde_json::to_vec(&Report { instructions, findings: &kept }) else { return 0 };
        if !buffer.is_null() && json.len() <= length {
            // SAFETY: the bytes fit into the room that the caller promises.
            unsafe { std::ptr::copy_nonoverlapping(json.as_ptr(), buffer.cast(), json.len()) };
            kept.clear();
        }
        json.len()
    }));
    written.unwrap_or(0)
}

/// Returns the findings of the process, once there is a collector.
type Source = fn() -> Option<&'static Findings>;

/// Prints findings that nobody took to stderr when the process ends, so that programs that do not
/// know the simulator also show them, and completes the report's file. Only the first source is
/// used.
///
/// An exit handler of the C library runs before that library writes out its buffers, and after
/// those of a language such as Python. It must not end the process, whose remaining output would be
/// lost, so the exit code does not depend on findings; `isobit-sim run` makes it so.
pub fn tell_at_exit(source: Source) {
    static SOURCE: OnceLock<Source> = OnceLock::new();
    extern "C" fn tell() {
        // A panic in an exit handler would abort the process.
        let _ = catch_unwind(|| {
            let Some(findings) = SOURCE.get().and_then(|source| source()) else { return };
            coverage::write();
            let text = farewell(findings);
            if !settings().has_runner {
                // Nobody is left to whom a failure could be reported.
                let _ = std::io::stderr().write_all(text.as_bytes());
            }
        });
    }
    if SOURCE.set(source).is_ok() {
        // If the handler cannot be registered, nothing is printed. SAFETY: the function belongs to
        // this library, which is never unloaded (its build script ensures that).
        unsafe { libc::atexit(tell) };
    }
}

/// Maximum number of findings printed at exit.
const TOLD_AT_EXIT: usize = 20;

/// Completes the report's file and returns the text that a process prints at its end: the first
/// findings if there is no file, the used suppressions, and one line with the numbers.
fn farewell(findings: &Findings) -> String {
    let mut text = String::new();
    let mut line = |words: &dyn Display| text += &format!("simulated GPU: {words}\n");
    let mut counts = findings.counts();
    let kept = std::mem::take(&mut *KEPT.lock());
    kept.iter().for_each(|finding| counts.add(finding.kind, 1));
    let written = findings.finish();
    if written.is_none() {
        let found = kept.into_iter().chain(findings.take());
        found.take(TOLD_AT_EXIT).for_each(|finding| line(&finding));
    }
    for used in findings.suppressions().uses().into_iter().filter(|used| used.count > 0) {
        line(&format_args!("suppressed {} by line {}: {}", used.count, used.line, used.text));
    }
    // The file also has findings that the program took.
    let counts = written.as_ref().map_or(&counts, |written| &written.counts);
    match &written {
        _ if counts.total() == 0 => {}
        Some(written) => line(&format_args!("{counts}; they are in {}", written.path.display())),
        None if counts.total() > TOLD_AT_EXIT => {
            line(&format_args!("{counts}; ISOBIT_SIM_REPORT=findings.txt writes them to a file"));
        }
        None => line(counts),
    }
    text
}

/// Checks an access of a library to device memory, from a function that a stream calls: one live
/// allocation must contain the bytes, and bytes that are read must have been written. Written bytes
/// count as initialised from then on. Host memory may always be accessed. Returns 0 if the access
/// may be made; otherwise reports a finding that names `what`. A panic in `of` is caught.
///
/// # Safety
/// `what` must be null or a NUL-terminated string.
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
        library_access::check(machine, address, bytes, write != 0, name)
    }));
    c_int::from(!may.unwrap_or(false))
}

/// Reports a finding of a library about its calls: `deadlock` if some wait for ever, and otherwise
/// calls that do not fit together. `what` and `message` are texts; nothing is reported without
/// them. A panic in `of` is caught.
///
/// # Safety
/// `what` and `message` must be null or NUL-terminated strings.
pub unsafe fn find<'a>(
    of: impl FnOnce() -> Option<&'a Machine>,
    deadlock: c_int,
    what: *const c_char,
    message: *const c_char,
) {
    // Nobody is left to whom a panic could be reported.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let text = |text: *const c_char| {
            // SAFETY: not null; the caller promises a string that ends in NUL.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
        };
        let (Some(machine), Some(what), Some(message)) = (of(), text(what), text(message)) else { return };
        let finding = Finding::fault(&what, &Fault::new(message));
        let kind = if deadlock == 0 { finding.kind } else { FindingKind::Deadlock };
        machine.findings.push(Finding { kind, ..finding });
        machine.findings.save();
    }));
}

/// Declares the simulator's own functions, which a vendor's library has in addition to the
/// vendor's: `isobit_sim_report`, `isobit_sim_access`, `isobit_sim_find`, and the exit handler. The
/// first expression is the process's [`Machine`] as an `Option<&'static Machine>`, the second the
/// number of instructions that its GPUs have executed.
#[macro_export]
macro_rules! report_functions {
    ($machine:expr, $instructions:expr) => {
        /// Writes a report of all GPUs; see [`write`]($crate::report::write). Returns 0 before the
        /// interface is initialised.
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

        /// Prints findings that nobody took when the process ends.
        pub(crate) fn tell_at_exit() {
            $crate::report::tell_at_exit(|| $machine.map(|machine| &*machine.findings));
        }

        /// Checks an access of a library to device memory; see [`access`]($crate::report::access).
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

        /// Reports a finding of a library about its calls; see [`find`]($crate::report::find).
        ///
        /// # Safety
        /// `what` and `message` are null or strings that end in NUL.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn isobit_sim_find(
            deadlock: std::ffi::c_int,
            what: *const std::ffi::c_char,
            message: *const std::ffi::c_char,
        ) {
            // SAFETY: the caller promises that both are null or strings that end in NUL.
            unsafe { $crate::report::find(|| $machine, deadlock, what, message) }
        }
    };
}
