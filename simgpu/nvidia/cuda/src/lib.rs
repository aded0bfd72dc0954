//! `libcuda.so.1` over simulated NVIDIA GPUs: the part of the CUDA driver interface that drivers
//! and libraries call, with CUDA 13's meaning.
//!
//! Every function checks its arguments as CUDA's documentation says and answers with CUDA's codes,
//! where the documentation leaves a choice with those of the driver for a real card; the
//! environment variable `ISOBIT_SIM_LOG=1` has the reason of every refusal printed. Handles are
//! looked up in tables, so that a stale one is an error. The safety of each function is what CUDA's
//! documentation asks of its caller, where pointers to results and arguments are concerned; null is
//! always noticed.
//!
//! Beside CUDA's own there are the functions of `report`, by which tests and the stand-ins of other
//! libraries reach the simulator.

#![allow(non_snake_case, reason = "the functions have CUDA's names")]
#![allow(clippy::missing_safety_doc, reason = "said once above for all of them")]

pub mod attribute;
pub mod capture;
mod card;
pub mod code;
pub mod context;
pub mod copy;
pub mod copy_shapes;
mod current;
pub mod device;
mod error;
pub mod event;
pub mod function;
mod functions;
pub mod graph;
pub mod graph_edges;
pub mod graph_node;
pub mod graph_params;
pub mod host;
#[doc(hidden)]
pub mod image;
pub mod jit;
pub mod launch;
pub mod library;
pub mod limits;
pub mod managed;
pub mod memory;
pub mod module;
pub mod occupancy;
pub mod peer;
pub mod pinned;
pub mod pointer;
pub mod pool;
pub mod primary;
pub mod proc_address;
mod process;
pub mod report;
pub mod set;
pub mod stream;
pub mod stream_memory;
pub mod unsupported;
pub mod version;
pub mod write_value;

pub use code::Code;
