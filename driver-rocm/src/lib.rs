//! The ROCm driver of Isobit: [`RocmRuntime`] is HIP as `isobit-kernels` wants it, and
//! [`RocmDevice`] and [`RocmStorage`] are the HAL over it.
//!
//! Nothing of ROCm is needed to build. At run time HIP's library (`libamdhip64`) is opened when a
//! device is; rocBLAS, HIPRTC, rocRAND and MIOpen are opened when first wanted and may be absent:
//! matrix products, convolutions and random numbers then come from the portable kernels, and only
//! code for a card that was not packed cannot be compiled. `hip_sys::dl` says where each is looked
//! for.
// The constants of ROCm's interfaces keep the names that AMD's documentation has for them.
#![allow(non_upper_case_globals)]

mod blas;
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
pub use isobit_kernels::{BUILD, BuildInfo, DeviceOptions};
pub use module::{RocmFunction, RocmModule};
pub use runtime::RocmRuntime;
pub use stream::RocmStream;

/// An AMD GPU.
pub type RocmDevice = isobit_kernels::GpuDevice<RocmRuntime>;

/// A buffer on an AMD GPU.
pub type RocmStorage = isobit_kernels::GpuStorage<RocmRuntime>;

/// How many AMD GPUs there are. Opens none.
///
/// # Errors
/// `LibraryUnavailable` where ROCm is absent, lacks a function this crate calls, or finds no GPU.
pub fn device_count() -> isobit_hal::Result<usize> {
    context::device_count()
}

/// Every AMD GPU there is, by ordinal: what can be known without opening one, which free memory is
/// not.
///
/// # Errors
/// As [`device_count`].
pub fn devices() -> isobit_hal::Result<Vec<isobit_hal::DeviceInfo>> {
    info::all()
}
