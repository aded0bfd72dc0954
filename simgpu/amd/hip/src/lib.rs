//! `libamdhip64.so` over simulated AMD GPUs: the part of the HIP interface that drivers and
//! libraries call, with the semantics of HIP 6.
//!
//! Every function checks its arguments according to HIP's documentation and returns HIP's codes.
//! With the environment variable `AMD_LOG_LEVEL=1`, the reason of every error is printed. Handles
//! are looked up in tables, so a stale handle is an error. For pointers to results and arguments,
//! each function's safety requirements are those that HIP documents for its caller. A null pointer
//! is always detected.
//!
//! In addition to HIP's functions, the functions of `report` give tests and the stand-ins for other
//! libraries access to the simulator.

#![allow(non_snake_case, reason = "the functions have HIP's names")]
#![allow(clippy::missing_safety_doc, reason = "documented once above for all of them")]

pub mod attribute;
pub mod capture;
mod card;
pub mod code;
pub mod copy;
pub mod copy_kinds;
pub mod device;
mod error;
pub mod event;
pub mod fatbin;
pub mod function;
pub mod graph;
pub mod graph_node;
pub mod host;
mod image;
pub mod last_error;
pub mod launch;
pub mod limits;
pub mod memory;
pub mod module;
pub mod occupancy;
pub mod peer;
pub mod pinned;
mod process;
pub mod properties;
pub mod registered;
pub mod report;
pub mod reset;
pub mod set;
pub mod stream;
pub mod symbol;
pub mod version;

pub use code::Code;
