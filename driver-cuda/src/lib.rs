//! The CUDA driver of Isobit. [`CudaRuntime`] implements the runtime traits of `isobit-kernels`
//! with the CUDA driver API; [`CudaDevice`] and [`CudaStorage`] are the HAL types on top of it.
//!
//! Building needs no part of CUDA. At run time the driver library (`libcuda`) is opened with the
//! first device. cuBLAS, cuDNN, cuRAND and NVRTC are opened on first use and may be absent: the
//! portable kernels then compute matrix products, convolutions and random numbers, and without
//! NVRTC only code that was not packed for a card cannot be compiled.

mod blas;
mod blas_lt;
mod compile;
mod context;
mod dnn;
mod error;
mod event;
mod graph;
mod info;
mod library;
mod memory;
mod module;
mod peer;
mod pinned;
mod rng;
mod runtime;
mod stream;
mod vendor;

pub use cudarc::driver::sys;
pub use event::CudaEvent;
#[doc(hidden)]
pub use isobit_kernels::launch_sizes;
pub use isobit_kernels::{BUILD, BuildInfo, DeviceOptions};
pub use module::{CudaFunction, CudaModule};
pub use runtime::CudaRuntime;
pub use stream::CudaStream;

/// An NVIDIA GPU.
pub type CudaDevice = isobit_kernels::GpuDevice<CudaRuntime>;

/// A buffer on an NVIDIA GPU.
pub type CudaStorage = isobit_kernels::GpuStorage<CudaRuntime>;

/// Returns the number of NVIDIA GPUs. Creates no context.
///
/// # Errors
/// Returns `LibraryUnavailable` if there is no NVIDIA driver, or if it lacks a symbol that this
/// crate calls.
pub fn device_count() -> isobit_hal::Result<usize> {
    context::device_count()
}

/// Describes every NVIDIA GPU, in the order of their ordinals. Creates no context, so the free
/// memory is not known.
///
/// # Errors
/// Same as [`device_count`].
pub fn devices() -> isobit_hal::Result<Vec<isobit_hal::DeviceInfo>> {
    info::all()
}
