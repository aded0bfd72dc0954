//! Code shared by the runtime libraries of the simulated GPUs. HIP and CUDA have similar
//! interfaces, so most of their implementation is the same. This crate contains no vendor names;
//! errors use the vendor's codes through [`ResultCode`].
//!
//! The C functions, their names and vendor-specific rules are in the library of each vendor.

pub mod arguments;
pub mod capture;
pub mod code;
pub mod copy;
pub mod error;
pub mod fault;
pub mod graph;
pub mod handles;
pub mod host;
mod library_access;
pub mod machine;
pub mod numbered;
pub mod payload;
pub mod report;
pub mod set;
pub mod sticky;

pub use code::ResultCode;
pub use error::{Error, Result};
pub use machine::Machine;
pub use sticky::Sticky;
