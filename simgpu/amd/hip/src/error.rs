//! The boundary that every call crosses: result codes and the last error of each thread.

use crate::Code;
use crate::report::CALLS;
use std::cell::Cell;
use std::sync::OnceLock;

pub(crate) use isobit_simgpu_runtime_common::error::{put, put_if_wanted, put_text, read, text};

/// An error: the code that the caller gets, and the reason.
pub(crate) type Error = isobit_simgpu_runtime_common::Error<Code>;

pub(crate) type Result<T = ()> = std::result::Result<T, Error>;

/// Returns an error with a formatted reason.
macro_rules! bail {
    ($($refusal:tt)*) => {
        isobit_simgpu_runtime_common::bail!($crate::Code, $($refusal)*)
    };
}
pub(crate) use bail;

thread_local! {
    static LAST: Cell<Code> = const { Cell::new(Code::SUCCESS) };
}

/// Returns the last error of the calling thread.
pub(crate) fn last() -> Code {
    LAST.get()
}

/// Returns and clears the last error of the calling thread.
pub(crate) fn take_last() -> Code {
    LAST.replace(Code::SUCCESS)
}

/// Runs the body of an API call; an error becomes its code and the thread's last error.
pub(crate) fn call(name: &str, body: impl FnOnce() -> Result) -> Code {
    let code = CALLS.run(name, log_errors(), body);
    if code != Code::SUCCESS && code != Code::NOT_READY {
        LAST.set(code);
    }
    code
}

/// Whether reasons are printed, according to ROCm's environment variable for this.
fn log_errors() -> bool {
    static LEVEL: OnceLock<bool> = OnceLock::new();
    *LEVEL.get_or_init(|| std::env::var("AMD_LOG_LEVEL").is_ok_and(|level| level.parse::<u32>().is_ok_and(|l| l > 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stay_until_they_are_taken_and_panics_do_not_cross() {
        assert_eq!(call("a", || bail!(NOT_FOUND, "none")), Code::NOT_FOUND);
        assert_eq!(call("b", || Ok(())), Code::SUCCESS);
        assert_eq!(call("c", || bail!(NOT_READY, "yet")), Code::NOT_READY);
        assert_eq!(last(), Code::NOT_FOUND, "neither success nor hipErrorNotReady replaces it");
        assert_eq!(take_last(), Code::NOT_FOUND);
        assert_eq!(last(), Code::SUCCESS);
        assert_eq!(call("d", || panic!("on purpose")), Code::UNKNOWN);
        assert_eq!(take_last(), Code::UNKNOWN);
    }
}
