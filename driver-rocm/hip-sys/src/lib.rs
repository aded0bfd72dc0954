//! AMD's HIP runtime and HIPRTC as Isobit's ROCm driver calls them: C types, constants, and one
//! table of functions for each library.
//!
//! Nothing of ROCm is needed to build. [`Hip::get`] and [`Hiprtc::get`] open the libraries of ROCm
//! 5, 6 or 7 where the machine has them; [`dl`] says where is looked. The declarations are those of
//! the official headers, which `cargo xtask bindings --check` compares them with; none names a
//! struct whose layout differs between the three releases. What each function does is in AMD's
//! documentation:
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
