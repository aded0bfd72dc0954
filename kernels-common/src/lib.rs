//! The `.cu` kernel tree and everything the GPU drivers share: a driver implements [`GpuRuntime`], and [`GpuDevice`] and [`GpuStorage`] give
//! it every operation of the HAL.
//!
//! One folder an operation family under `src/ops`, kernel and launch code side by side. Kernels are compiled by the build
//! script to PTX and AMD code objects and packed into the crate; see `build.rs` for the environment variables that choose. Where
//! nothing packed fits a device, its run-time compiler gets the same sources.

mod alloc;
mod between;
mod block;
mod capture;
mod capture_pool;
mod counters;
mod custom;
mod deferred;
mod device;
mod dnn;
mod element_walk;
mod elementwise;
mod event;
mod faults;
mod gemm;
mod graph;
mod image;
mod index;
mod installed;
mod key;
mod launch;
mod library;
mod lock;
mod manifest;
mod modules;
mod ops;
mod order;
mod params;
mod peer;
mod peer_access;
mod per_stream;
mod pinned;
mod pool;
mod ranges;
mod record;
mod report;
mod rtc;
mod runtime;
mod scratch;
mod storage;
mod stream;
mod streams;
mod table;

pub use custom::{GpuFunc, SOURCES_VARIABLE};
pub use deferred::Deferred;
pub use device::{DeviceOptions, GpuDevice};
pub use dnn::{ConvOperand, ConvPlan, ConvPlans, ConvProblem};
pub use gemm::{BlasGemm, BlasOperand, one_and_zero};
pub use image::{Code, Image, Target};
pub use isobit_hal::{LaunchConfig, Limits, PoolStats};
pub use key::{Family, Key};
pub use launch::Launch;
pub use library::{Library, loaded_file};
pub use manifest::{Instance, Module};
pub use peer_access::PeerAccess;
pub use per_stream::{LibraryHandle, PerStream};
pub use pool::POOL_VARIABLE;
pub use ranges::RANGES_VARIABLE;
pub use report::{add_loaded, device_info, native_error, no_such_device};
pub use rtc::{CACHE_VARIABLE, CStrings, RtcArguments, RtcSource, compile_options};
pub use runtime::{
    Conv, DevicePtr, Distribution, Gemm, GpuRuntime, Matrix, Random, RangeLibrary, RawGraph, RawGraphExec, Tensor4,
    Vendor,
};
pub use scratch::Scratch;
pub use storage::GpuStorage;
pub use stream::{CurrentStream, GpuStream};
pub use table::{BUILD, BuildInfo, Entry, HEADERS, IMAGES, KERNELS, headers};

/// The list that the table and the code were made from.
pub fn manifest() -> Vec<Module> {
    manifest::modules()
}
