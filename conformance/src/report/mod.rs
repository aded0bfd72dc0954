//! Reports: the findings of a run as a value, as files and on the terminal.
//!
//! [`Report`] is schema 1 of `report.json`. [`matrix`] arranges its rows for readers, and
//! [`merged`] makes one table of all pairs. With the feature `cli`, [`write`](fn@write) writes the
//! files and [`terminal`] formats the screen output.

#[cfg(feature = "cli")]
mod html;
#[cfg(feature = "cli")]
mod junit;
pub mod matrix;
pub mod merged;
#[cfg(feature = "cli")]
pub mod terminal;
#[cfg(feature = "cli")]
mod write;

pub use crate::launch_sizes::{self, LAUNCHES, LaunchSize};
pub use crate::schema::{Build, Class, DeviceRow, Finding, Memory, NotRun, Report, ResultRow, SCHEMA, Status, Totals};
#[cfg(feature = "cli")]
pub use html::html;
#[cfg(feature = "cli")]
pub use junit::junit;
#[cfg(feature = "cli")]
pub use write::{Written, write};
