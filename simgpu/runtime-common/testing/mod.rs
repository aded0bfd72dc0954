//! Helpers for the tests of the vendors' interfaces. Each test program includes this file next to
//! its `Code` and `isobit_sim_report`, and calls the functions as C does, with one simulator in its
//! process.

pub mod child;
pub mod host;

use super::{Code, isobit_sim_report};
use parking_lot::{Mutex, MutexGuard};

/// Makes the tests of one program run one at a time, because they share findings, devices and the
/// state of captures.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock();
    report();
    guard
}

/// Configures the simulator before its first use in the test process.
pub fn configure(variables: &[(&str, &str)]) {
    for (name, value) in variables {
        // SAFETY: called at the start of the only test of its program, before anything else runs.
        unsafe { std::env::set_var(name, value) };
    }
}

/// Asserts success.
#[track_caller]
pub fn ok(code: Code) {
    assert_eq!(code, Code::SUCCESS, "{}", code.name().to_string_lossy());
}

/// Calls a function with an out-parameter, asserts success, and returns the written value.
#[track_caller]
pub fn get<T>(call: impl FnOnce(*mut T) -> Code) -> T {
    let mut value = std::mem::MaybeUninit::zeroed();
    ok(call(value.as_mut_ptr()));
    // SAFETY: the call succeeded, so the value was written; only integers, pointers, floats and
    // structures of these are used.
    unsafe { value.assume_init() }
}

/// Returns the simulator's report since the last one.
pub fn report() -> serde_json::Value {
    // SAFETY: a null buffer only queries the size.
    let bytes = unsafe { isobit_sim_report(std::ptr::null_mut(), 0) };
    let mut json = vec![0u8; bytes + 4096];
    // SAFETY: the buffer has the given size.
    let written = unsafe { isobit_sim_report(json.as_mut_ptr().cast(), json.len()) };
    serde_json::from_slice(&json[..written]).expect("the report is JSON")
}

/// Returns the kinds of the findings since the last report.
pub fn kinds() -> Vec<String> {
    let report = report();
    let findings = report["findings"].as_array().expect("findings are a list");
    findings.iter().map(|finding| finding["kind"].as_str().expect("a kind is text").to_owned()).collect()
}
