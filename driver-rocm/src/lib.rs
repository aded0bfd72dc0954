//! The ROCm driver of Isobit. [`RocmRuntime`] implements the runtime traits of `isobit-kernels`
//! with HIP; [`RocmDevice`] and [`RocmStorage`] are the HAL types on top of it.
//!
//! Building needs no part of ROCm. At run time HIP's library (`libamdhip64`) is opened with the
//! first device. rocBLAS, hipBLASLt, HIPRTC, rocRAND and MIOpen are opened on first use and may be
//! absent: the portable kernels then compute matrix products, convolutions and random numbers, and
//! without HIPRTC only code that was not packed for a card cannot be compiled. `hip_sys::dl`
//! describes where each is looked for.
// The constants of ROCm's interfaces keep their names from AMD's documentation.
#![allow(non_upper_case_globals)]

mod blas;
mod blas_lt;
mod compile;
mod context;
mod dnn;
mod error;
mod event;
mod generator;
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

pub use event::RocmEvent;
pub use generator::{Rng, RngAlgorithm};
pub use hip_sys as sys;
#[doc(hidden)]
pub use isobit_kernels::launch_sizes;
pub use isobit_kernels::{BUILD, BuildInfo, DeviceOptions};
pub use module::{RocmFunction, RocmModule};
pub use runtime::RocmRuntime;
pub use stream::RocmStream;

/// An AMD GPU.
pub type RocmDevice = isobit_kernels::GpuDevice<RocmRuntime>;

/// A buffer on an AMD GPU.
pub type RocmStorage = isobit_kernels::GpuStorage<RocmRuntime>;

/// Returns the number of AMD GPUs. Opens none.
///
/// # Errors
/// Returns `LibraryUnavailable` if ROCm is absent, lacks a function that this crate calls, or finds
/// no GPU.
pub fn device_count() -> isobit_hal::Result<usize> {
    context::device_count()
}

/// Describes every AMD GPU, in the order of their ordinals. Opens none, so the free memory is not
/// known.
///
/// # Errors
/// Same as [`device_count`].
pub fn devices() -> isobit_hal::Result<Vec<isobit_hal::DeviceInfo>> {
    info::all()
}
