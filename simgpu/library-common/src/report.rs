//! What the simulator found and executed, for tests and benchmarks of what runs on it.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::c_char;
use std::path::Path;

/// The simulator's report since the last one, JSON with `instructions` and `findings`, from its
/// runtime library under a name that opens it.
///
/// # Errors
/// The library does not open, or is not the simulator's.
pub fn take(hip: &Path) -> Result<String, String> {
    type Report = unsafe extern "C" fn(*mut c_char, usize) -> usize;
    let failed = |e: libloading::Error| format!("{} gives no report: {e}", hip.display());
    // SAFETY: the program has it open, so nothing is run that was not before.
    let library = unsafe { Library::open(Some(hip), RTLD_NOW | RTLD_LOCAL) }.map_err(failed)?;
    // SAFETY: the simulator's function of this name has this type.
    let report = unsafe { library.get::<Report>(b"isobit_sim_report") }.map_err(failed)?;
    let mut text: Vec<u8> = Vec::new();
    loop {
        // SAFETY: a buffer of the length that is given.
        let length = unsafe { report(text.as_mut_ptr().cast(), text.len()) };
        if length <= text.len() {
            text.truncate(length);
            return Ok(String::from_utf8_lossy(&text).trim_end_matches('\0').to_string());
        }
        // The report grows while work goes on.
        text.resize(length + 4096, 0);
    }
}
