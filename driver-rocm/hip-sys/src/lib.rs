//! Bindings to AMD's HIP runtime and HIPRTC for Isobit's ROCm driver: C types, constants, and one
//! table of functions per library.
//!
//! Building needs no part of ROCm. [`Hip::get`] and [`Hiprtc::get`] open the libraries of ROCm 5, 6
//! or 7 if they are installed; [`dl`] describes the search. The declarations match those of the
//! official headers, which `cargo xtask bindings --check` compares; none uses a struct whose layout
//! differs between the three releases. AMD's documentation describes each function:
//! <https://rocm.docs.amd.com/projects/HIP/en/latest/reference/hip_runtime_api_reference.html>,
//! <https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_rtc.html>.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]

pub mod dl;
mod hip;
mod hiprtc;
mod properties;
mod table;

pub use hip::*;
pub use hiprtc::*;
pub use properties::{PROPERTIES_BYTES, PropertiesLayout, R0000, R0600, hipDeviceProp_tR0000, hipDeviceProp_tR0600};
