//! The faults that a case can have, in the order of the checks: a fault that explains more comes
//! first.

use crate::compare::Difference;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a case failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "fault")]
#[allow(missing_docs)]
pub enum Fault {
    /// The call returned an error.
    Error { message: String },
    /// The call panicked.
    Panic { message: String },
    /// The process died or hung during the case.
    Crash { message: String },
    /// The device no longer responds.
    DeviceLost { message: String },
    /// The device's watch saw forbidden accesses of the kind `check`; `message` describes the first
    /// one.
    Access { check: String, count: usize, message: String },
    /// The call wrote memory outside the result: a guard band, a gap of the layout, or an input.
    OutOfBounds { buffer: String, offset: i64 },
    /// An element of the result was not written.
    Unwritten { index: usize, count: usize, offset: i64 },
    /// The result depends on bytes that belong to no operand: another poison changes it, but the
    /// same poison does not.
    StrayRead { index: usize, first: String, second: String },
    /// Two runs gave different bits.
    NotRepeatable { index: usize, first: String, second: String },
    /// The result depends on how launch code divides the work: small launches change it.
    LaunchDependent { index: usize, first: String, second: String },
    /// The result is not the expected one.
    Mismatch { differing: usize, index: usize, expected: String, got: String },
}

impl Fault {
    /// Returns a name that stays the same while a case shrinks.
    pub fn kind(&self) -> &str {
        match self {
            Fault::Error { .. } => "error",
            Fault::Panic { .. } => "panic",
            Fault::Crash { .. } => "crash",
            Fault::DeviceLost { .. } => "device_lost",
            Fault::Access { check, .. } => check,
            Fault::OutOfBounds { .. } => "out_of_bounds",
            Fault::Unwritten { .. } => "unwritten",
            Fault::StrayRead { .. } => "stray_read",
            Fault::NotRepeatable { .. } => "not_repeatable",
            Fault::LaunchDependent { .. } => "launch_dependent",
            Fault::Mismatch { .. } => "mismatch",
        }
    }

    /// Says in the message, if there is one, that the launches were small.
    pub(super) fn in_small_launches(self) -> Self {
        let told = |message| format!("with small launches: {message}");
        match self {
            Fault::Error { message } => Fault::Error { message: told(message) },
            Fault::Panic { message } => Fault::Panic { message: told(message) },
            other => other,
        }
    }

    /// Returns the fault for a difference from the reference.
    pub fn mismatch(differing: usize, d: Difference) -> Self {
        Fault::Mismatch { differing, index: d.index, expected: d.expected, got: d.got }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Error { message } => write!(f, "the call failed: {message}"),
            Fault::Panic { message } => write!(f, "the call panicked: {message}"),
            Fault::Crash { message } => write!(f, "the worker died: {message}"),
            Fault::DeviceLost { message } => write!(f, "the device was lost: {message}"),
            Fault::Access { check, count, message } => {
                let more = if *count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
                write!(f, "{}: {message}{more}", check.replace('_', " "))
            }
            Fault::OutOfBounds { buffer, offset } => {
                write!(f, "wrote outside the result: {buffer}, {offset} bytes from its start")
            }
            Fault::Unwritten { index, count, offset } => {
                write!(f, "did not write {count} elements, the first at index {index} ({offset} bytes from the start)")
            }
            Fault::StrayRead { index, first, second } => {
                write!(
                    f,
                    "read bytes that belong to no operand: other values there change the result at index {index} from {first} to {second}"
                )
            }
            Fault::NotRepeatable { index, first, second } => {
                write!(f, "two runs differ at index {index}: {first}, then {second}")
            }
            Fault::LaunchDependent { index, first, second } => {
                write!(
                    f,
                    "the result depends on the division into launches: small launches change it at index {index} from {first} to {second}"
                )
            }
            Fault::Mismatch { differing, index, expected, got } => {
                write!(f, "{differing} elements differ, the first at index {index}: expected {expected}, got {got}")
            }
        }
    }
}
