//! The `.cu` kernel tree and everything the GPU drivers share: a driver implements [`GpuRuntime`], and [`GpuDevice`] and [`GpuStorage`] give
//! it every operation of the HAL.
//!
//! One folder an operation family under `src/ops`, kernel and launch code side by side. Kernels are compiled by the build
//! script to PTX and AMD code objects and packed into the crate; see `build.rs` for the environment variables that choose. Where
//! nothing packed fits a device, its run-time compiler gets the same sources.

mod deferred;
mod device;
mod dnn;
mod element_walk;
mod elementwise;
mod faults;
mod gemm;
mod image;
mod index;
mod key;
mod launch;
mod library;
mod manifest;
mod modules;
mod ops;
mod pool;
mod report;
mod rtc;
mod runtime;
mod storage;
mod table;

pub use deferred::Deferred;
pub use device::{DeviceOptions, GpuDevice};
pub use dnn::{ConvOperand, ConvPlans, ConvProblem};
pub use gemm::{BlasGemm, BlasOperand, one_and_zero};
pub use image::{Code, Image, Target};
pub use key::{Family, Key};
pub use launch::Launch;
pub use library::{Library, loaded_file};
pub use manifest::{Instance, Module};
pub use modules::SOURCES_VARIABLE;
pub use pool::{POOL_VARIABLE, PoolStats};
pub use report::{device_info, native_error, no_such_device};
pub use rtc::{CACHE_VARIABLE, CStrings, RtcArguments, RtcSource, compile_options};
pub use runtime::{
    Conv, DevicePtr, Distribution, Gemm, GpuRuntime, LaunchConfig, Limits, Matrix, Random, Tensor4, Vendor,
};
pub use storage::GpuStorage;
pub use table::{BUILD, BuildInfo, Entry, HEADERS, IMAGES, KERNELS, headers};

/// The list that the table and the code were made from.
pub fn manifest() -> Vec<Module> {
    manifest::modules()
}
