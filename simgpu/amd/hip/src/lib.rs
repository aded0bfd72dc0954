//! `libamdhip64.so` over simulated AMD GPUs: the part of the HIP interface that drivers and
//! libraries call, with HIP 6's meaning.
//!
//! Every function checks its arguments as HIP's documentation says and answers with HIP's codes;
//! the environment variable `AMD_LOG_LEVEL=1` has the reason of every refusal printed. Handles are
//! looked up in tables, so that a stale one is an error. The safety of each function is what HIP's
//! documentation asks of its caller, where pointers to results and arguments are concerned; null is
//! always noticed.
//!
//! Beside HIP's own there are the functions of `report`, by which tests and the stand-ins of other
//! libraries reach the simulator.

#![allow(non_snake_case, reason = "the functions have HIP's names")]
#![allow(clippy::missing_safety_doc, reason = "said once above for all of them")]

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
pub mod memory;
pub mod module;
pub mod occupancy;
pub mod peer;
pub mod pinned;
mod process;
pub mod properties;
pub mod registered;
pub mod report;
pub mod set;
pub mod stream;
pub mod symbol;
pub mod version;

pub use code::Code;
