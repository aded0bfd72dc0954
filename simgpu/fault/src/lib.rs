//! Injected faults: calls of the simulated libraries that fail on purpose, so that programs can be
//! tested with the failures of a GPU.
//!
//! This crate has the language of the variable `ISOBIT_SIM_FAULT` ([`parse`]), the list of
//! libraries whose calls can fail ([`LIBRARIES`]), and what makes a function absent. The libraries
//! of both vendors share it.

pub mod absent;
mod library;
mod spec;

pub use library::{LIBRARIES, Library, Vendor};
pub use spec::{Effect, Fault, Occurrence, parse};

/// The variable with the faults of a process, such as `cuMemAlloc_v2:3:CUDA_ERROR_OUT_OF_MEMORY`.
pub const VARIABLE: &str = "ISOBIT_SIM_FAULT";

/// Returns the value of [`VARIABLE`], without the spaces around it; empty if it is not set.
///
/// # Errors
/// Fails if the value is not UTF-8.
pub fn of_environment() -> Result<String, String> {
    match std::env::var(VARIABLE) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(std::env::VarError::NotPresent) => Ok(String::new()),
        Err(std::env::VarError::NotUnicode(text)) => Err(format!("{text:?} is not UTF-8")),
    }
}
