//! The error handling of every API call, with CUDA's codes.

use crate::Code;
use crate::report::CALLS;
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

/// Runs the body of an API call.
pub(crate) fn call(name: &str, body: impl FnOnce() -> Result) -> Code {
    static LOG: OnceLock<bool> = OnceLock::new();
    let log = *LOG.get_or_init(|| std::env::var("ISOBIT_SIM_LOG").is_ok_and(|log| log.trim() == "1"));
    CALLS.run(name, log, body)
}
