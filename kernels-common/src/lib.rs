//! The `.cu` kernel tree and the code that the GPU drivers share. A driver implements
//! [`GpuRuntime`]; [`GpuDevice`] and [`GpuStorage`] then provide every operation of the HAL.
//!
//! `src/ops` has one folder per operation family, with its kernels next to its launch code. A
//! release contains the compiled kernels, as PTX and AMD code objects: one data crate per
//! architecture, selected by features. A checkout compiles the kernels whose sources differ from
//! the packed ones (`build.rs` lists the environment variables). If no packed code fits a device,
//! its run-time compiler compiles the same sources.
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

mod capture;
mod code;
mod counters;
mod deferred;
mod device;
mod driver_util;
mod faults;
mod key;
mod launch;
mod manifest;
mod memory;
#[cfg(all(test, loom))]
mod models;
mod ops;
mod runtime;
mod storage;
mod stream;
mod sync;
#[doc(hidden)]
pub mod untrusted;
mod vendor;

pub use code::custom::{GpuFunc, OPTIONS_VARIABLE, SOURCES_VARIABLE};
pub use code::image::Image;
pub use code::rtc::{CACHE_VARIABLE, CStrings, RtcArguments, RtcSource, compile_options};
pub use code::table::{BUILD, BuildInfo, Entry, IMAGES, KERNELS, archives, headers};
pub use code::target::{Code, Target};
pub use deferred::Deferred;
pub use device::{DeviceOptions, GpuDevice};
pub use driver_util::{add_loaded, device_info, native_error, no_such_device};
pub use isobit_hal::{LaunchConfig, Limits, PoolStats};
pub use key::{Family, Key};
#[doc(hidden)]
pub use launch::sizes as launch_sizes;
pub use launch::{Arg, Launch};
pub use manifest::{Instance, Module};
pub use memory::caching_allocator::POOL_VARIABLE;
pub use memory::peer_access::PeerAccess;
pub use runtime::{
    CompilerRuntime, Conv, DevicePtr, Distribution, EventRuntime, FusedAttention, Gemm, GemmScale, GpuRuntime,
    GraphRuntime, Matrix, MemoryRuntime, ModuleRuntime, PeerRuntime, PinnedRuntime, Random, RangeLibrary, RawGraph,
    RawGraphExec, ScaledGemm, Scratch, StreamRuntime, Strided, Tensor4, Vendor, VendorRuntime,
};
pub use storage::GpuStorage;
pub use stream::{CurrentStream, GpuStream};
pub use vendor::dnn::{AttentionProblem, ConvProblem, DnnOperand};
pub use vendor::gemm::{BlasGemm, BlasOperand, one_and_zero};
pub use vendor::library::{Library, loaded_file};
pub use vendor::lt::{LtOperand, LtProduct};
pub use vendor::per_stream::{LibraryHandle, PerStream};
pub use vendor::plans::{LibraryPlan, LibraryPlans};
pub use vendor::ranges::RANGES_VARIABLE;

/// Returns the list from which the kernel table and the compiled code are generated.
pub fn manifest() -> Vec<Module> {
    manifest::modules()
}
