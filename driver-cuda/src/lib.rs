//! The CUDA driver of Isobit: [`CudaRuntime`] is the CUDA driver API as `isobit-kernels` wants it,
//! and [`CudaDevice`] and [`CudaStorage`] are the HAL over it.
//!
//! Nothing of CUDA is needed to build. At run time the driver's library (`libcuda`) is opened when
//! a device is; cuBLAS, cuDNN, cuRAND and NVRTC are opened when first wanted and may be absent:
//! matrix products, convolutions and random numbers then come from the portable kernels, and only
//! code for a card that was not packed cannot be compiled.

mod blas;
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
pub use isobit_kernels::{BUILD, BuildInfo, DeviceOptions};
pub use module::{CudaFunction, CudaModule};
pub use runtime::CudaRuntime;
pub use stream::CudaStream;

/// An NVIDIA GPU.
pub type CudaDevice = isobit_kernels::GpuDevice<CudaRuntime>;

/// A buffer on an NVIDIA GPU.
pub type CudaStorage = isobit_kernels::GpuStorage<CudaRuntime>;

/// How many NVIDIA GPUs there are. Creates no context.
///
/// # Errors
/// `LibraryUnavailable` where there is no NVIDIA driver, or one that lacks a symbol this crate
/// calls.
pub fn device_count() -> isobit_hal::Result<usize> {
    context::device_count()
}

/// Every NVIDIA GPU there is, by ordinal: what can be known without a context, which free memory is
/// not. Creates none.
///
/// # Errors
/// As [`device_count`].
pub fn devices() -> isobit_hal::Result<Vec<isobit_hal::DeviceInfo>> {
    info::all()
}
