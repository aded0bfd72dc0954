//! What the runtime libraries of simulated GPUs share: HIP's and CUDA's were made alike, so that
//! most of what stands behind their functions is one thing. It knows no vendor's names; codes come
//! through [`ResultCode`], by which every refusal here is the vendor's own.
//!
//! The functions that C calls, their names and the rules of one vendor alone stay with the library
//! of that vendor.

pub mod arguments;
pub mod capture;
pub mod code;
pub mod copy;
pub mod error;
pub mod graph;
pub mod handles;
pub mod host;
pub mod machine;
pub mod numbered;
pub mod payload;
pub mod report;
pub mod set;

pub use code::ResultCode;
pub use error::{Error, Result};
pub use machine::Machine;
