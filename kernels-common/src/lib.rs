//! The `.cu` kernel tree and everything the GPU drivers share: a driver implements [`GpuRuntime`], and [`GpuDevice`] and [`GpuStorage`] give
//! it every operation of the HAL.
//!
//! One folder an operation family under `src/ops`, kernel and launch code side by side. Kernels are compiled by the build
//! script to PTX and AMD code objects and packed into the crate; see `build.rs` for the environment variables that choose. Where
//! nothing packed fits a device, its run-time compiler gets the same sources.

mod device;
mod elementwise;
mod image;
mod index;
mod key;
mod launch;
mod manifest;
mod modules;
mod ops;
mod pool;
mod runtime;
mod storage;
mod table;

pub use device::{DeviceOptions, GpuDevice};
pub use image::{Code, Image, Target};
pub use key::{Family, Key};
pub use launch::Launch;
pub use manifest::{Instance, Module};
pub use modules::{SOURCES_VARIABLE, compile_options};
pub use pool::PoolStats;
pub use runtime::{DevicePtr, Gemm, GpuRuntime, LaunchConfig, Limits, Matrix, RtcSource, Vendor};
pub use storage::GpuStorage;
pub use table::{BUILD, BuildInfo, Entry, HEADERS, IMAGES, KERNELS, headers};

/// The list that the table and the code were made from.
pub fn manifest() -> Vec<Module> {
    manifest::modules()
}
