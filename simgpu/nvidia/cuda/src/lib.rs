//! `libcuda.so.1` on simulated NVIDIA GPUs: the part of the CUDA driver API that drivers and
//! libraries call, with the semantics of CUDA 13.
//!
//! Every function checks its arguments as CUDA's documentation says and returns CUDA's codes. If
//! the documentation leaves a choice, the function returns the code that the driver returns for a
//! real card. The environment variable `ISOBIT_SIM_LOG=1` prints the reason of every error. Handles
//! are looked up in tables, so that a stale handle is an error. The safety requirements of each
//! function are those of CUDA's documentation for result pointers and arguments; null pointers are
//! always detected.
//!
//! In addition to CUDA's functions, the library exports those of `report`. Tests and the stand-ins
//! for other libraries use them to reach the simulator.

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
mod printed;
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
