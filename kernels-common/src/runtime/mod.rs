//! The traits that a driver implements. Every operation, the memory pool and the module cache are
//! written against them. There is one trait per subject, which a driver implements in the file of
//! that subject. These traits do not depend on the code that uses them.

mod graph;
mod memory;
mod module;
mod stream;
mod vendor;

pub use graph::{GraphRuntime, RawGraph, RawGraphExec};
pub use memory::{DevicePtr, MemoryRuntime, PeerRuntime, PinnedRuntime};
pub use module::{CompilerRuntime, ModuleRuntime};
pub use stream::{EventRuntime, StreamRuntime};
pub use vendor::{
    Conv, Distribution, FusedAttention, Gemm, GemmScale, Matrix, Random, RangeLibrary, ScaledGemm, Scratch, Strided,
    Tensor4, Vendor, VendorRuntime,
};

use crate::code::target::Target;
use isobit_hal::{DeviceInfo, Limits, Result};

/// A GPU as the vendor's driver exposes it: the device's properties and all parts of the runtime.
///
/// Every method may be called from any thread; an implementation makes its device current for the
/// calling thread itself. Work on one stream runs in order. Failures are [`isobit_hal::Error`]s
/// with the vendor's error code attached.
///
/// ```
/// use isobit_hal::Result;
/// use isobit_kernels::GpuRuntime;
///
/// /// Opens a device and describes it.
/// fn describe<R: GpuRuntime>(ordinal: usize) -> Result<String> {
///     let runtime = R::open(ordinal)?;
///     let (free, total) = runtime.memory()?;
///     Ok(format!(
///         "{}:{ordinal} is a {}, with {free} of {total} bytes free and {} threads per warp",
///         R::DRIVER,
///         runtime.arch(),
///         runtime.limits().warp_size,
///     ))
/// }
/// ```
pub trait GpuRuntime:
    MemoryRuntime
    + PinnedRuntime
    + PeerRuntime
    + StreamRuntime
    + EventRuntime
    + ModuleRuntime
    + CompilerRuntime
    + GraphRuntime
    + VendorRuntime
{
    /// The driver's name: `cuda`, `rocm`.
    const DRIVER: &'static str;
    /// The target whose packed code it loads.
    const TARGET: Target;

    /// Opens a device.
    ///
    /// # Errors
    /// Returns `LibraryUnavailable` if the vendor's driver is missing or too old, and
    /// `InvalidArgument` if there is no such device.
    fn open(ordinal: usize) -> Result<Self>;

    /// Returns the limits of the device.
    fn limits(&self) -> &Limits;

    /// Returns the architecture as named in code objects: `sm_90`, `gfx90a:sramecc+:xnack-`.
    fn arch(&self) -> &str;

    /// Returns names, sizes and versions.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    fn info(&self) -> Result<DeviceInfo>;
}
