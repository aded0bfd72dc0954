//! Runs a test in a process of its own, whose output is read. Each test program includes this file.

use std::ffi::{CString, c_char, c_int};
use std::process::{Command, Output};

/// Names the test that runs in this process alone.
const VARIABLE: &str = "ISOBIT_TEST_CHILD";

unsafe extern "C" {
    fn printf(format: *const c_char, ...) -> c_int;
}

/// Prints a line as a C program does: it stays in the C library's buffer.
pub fn say(line: &str) {
    let line = CString::new(line).expect("no NUL");
    // SAFETY: the format takes one string.
    unsafe { printf(c"%s\n".as_ptr(), line.as_ptr()) };
}

/// In the first process: runs the test `name` in a second one and returns its output; the standard
/// output from the first line of `body` on. In the second process: runs `body` and exits.
#[track_caller]
pub fn output_of(name: &str, body: impl FnOnce()) -> (String, String) {
    if std::env::var(VARIABLE).is_ok_and(|child| child == name) {
        say("begin");
        body();
        std::process::exit(0);
    }
    let program = std::env::current_exe().expect("this program has a path");
    let child = Command::new(program).args([name, "--exact", "--nocapture"]).env(VARIABLE, name).output();
    let Output { stdout, stderr, status } = child.expect("this program starts again");
    let [out, error] = [stdout, stderr].map(|text| String::from_utf8(text).expect("letters"));
    let (_, out) = out.split_once("begin\n").unwrap_or_else(|| panic!("{status}, {out}, {error}"));
    (out.to_owned(), error)
}
