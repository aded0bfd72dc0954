//! `libhipblaslt.so` for the simulated AMD GPU: matrix products that objects describe, with
//! hipBLASLt's C interface and argument checks, computed on the host in stream order.
//!
//! It computes f8 on every simulated card, as if each had units for the formats of the Open Compute
//! Project, which AMD's library has on gfx950 and gfx12 alone. Epilogues, other orders than
//! columns, scales by blocks, and scalars in device memory are not implemented.
//!
//! <https://rocm.docs.amd.com/projects/hipBLASLt/en/latest/reference/api-reference.html>

pub mod api;
pub mod objects;
mod product;
pub mod types;

isobit_simgpu_fault::remove_absent_functions!();
