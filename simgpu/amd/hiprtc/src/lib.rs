//! `libhiprtc.so` for the simulated AMD GPU: HIP's run-time compiler, based on the clang of this
//! machine, which produces the same kind of code objects as AMD's compiler. It compiles one source
//! and the headers that are passed with it. The library of device functions is missing: kernels
//! that call functions like `sinf` do not link.
//!
//! <https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_rtc.html>

pub mod api;
mod clang;
mod options;
mod program;

isobit_simgpu_fault::remove_absent_functions!();
