//! The `.cu` kernel tree and everything the GPU drivers share: a driver implements [`GpuRuntime`], and [`GpuDevice`] and [`GpuStorage`] give
//! it every operation of the HAL.
//!
//! One folder an operation family under `src/ops`, kernel and launch code side by side. A release carries the kernels compiled, as PTX and
//! AMD code objects, in one data crate for each architecture, which features choose; a checkout compiles what differs from them (see
//! `build.rs` for the environment variables). Where no packed code fits a device, its run-time compiler gets the same sources.
//!
//! | feature | code for |
//! |---|---|
//! | `sm_75` | NVIDIA's Turing and later cards |
//! | `sm_80` | NVIDIA's Ampere, Ada and later cards |
//! | `sm_90` | NVIDIA's Hopper and later cards |
//! | `gfx90a` | AMD's CDNA 2: MI200 |
//! | `gfx942` | AMD's CDNA 3: MI300 |
//! | `gfx1030` | AMD's RDNA 2; compiled, never executed |
//! | `gfx1100` | AMD's RDNA 3 |
//! | `gfx1201` | AMD's RDNA 4; compiled, never executed |

mod alloc;
// The library reads archives; its tests write them too.
#[cfg_attr(not(test), allow(dead_code, unused_imports))]
mod archive;
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
mod packed;
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
pub use table::{BUILD, BuildInfo, Entry, IMAGES, KERNELS, archives, headers};

/// The list that the table and the code were made from.
pub fn manifest() -> Vec<Module> {
    manifest::modules()
}
