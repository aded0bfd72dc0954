//! `libhiprtc.so` for the simulated AMD GPU: HIP's run-time compiler by the clang of this machine,
//! which makes the same code objects as AMD's, from one source and the headers that come with it.
//! The library of device functions is missing: kernels that call `sinf` and its kind do not link.
//!
//! <https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_rtc.html>

pub mod api;
mod clang;
mod options;
mod program;
