//! The simulator's findings and instruction count, for tests and benchmarks.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::c_char;
use std::path::Path;

/// Takes the simulator's report since the last one, as JSON with `instructions` and `findings`,
/// from its runtime library `hip`.
///
/// # Errors
/// Fails if the library cannot be opened or is not the simulator's.
pub fn take(hip: &Path) -> Result<String, String> {
    type Report = unsafe extern "C" fn(*mut c_char, usize) -> usize;
    let failed = |e: libloading::Error| format!("{} gives no report: {e}", hip.display());
    // SAFETY: the program has already opened the library, so no initialiser runs.
    let library = unsafe { Library::open(Some(hip), RTLD_NOW | RTLD_LOCAL) }.map_err(failed)?;
    // SAFETY: the simulator's function of this name has this type.
    let report = unsafe { library.get::<Report>(b"isobit_sim_report") }.map_err(failed)?;
    let mut text: Vec<u8> = Vec::new();
    loop {
        // SAFETY: the buffer has the given length.
        let length = unsafe { report(text.as_mut_ptr().cast(), text.len()) };
        if length <= text.len() {
            text.truncate(length);
            return Ok(String::from_utf8_lossy(&text).trim_end_matches('\0').to_string());
        }
        // The report may grow while work continues.
        text.resize(length + 4096, 0);
    }
}
