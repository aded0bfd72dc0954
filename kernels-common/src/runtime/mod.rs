//! What a driver gives: the trait that every operation, the memory pool and the module cache are
//! written against. It has a part for each subject, which a driver implements in the file of that
//! subject, and it depends on nothing that is written against it.

mod graph;
mod memory;
mod module;
mod stream;
mod vendor;

pub use graph::{GraphRuntime, RawGraph, RawGraphExec};
pub use memory::{DevicePtr, MemoryRuntime, PeerRuntime, PinnedRuntime};
pub use module::{CompilerRuntime, ModuleRuntime};
pub use stream::{EventRuntime, StreamRuntime};
pub use vendor::{Conv, Distribution, Gemm, Matrix, Random, RangeLibrary, Scratch, Tensor4, Vendor, VendorRuntime};

use crate::code::target::Target;
use isobit_hal::{DeviceInfo, Limits, Result};

/// A GPU as its vendor's driver offers it: what it is, and all parts together.
///
/// Every method may be called from any thread; an implementation makes its device current for the
/// calling thread itself. Work given to one stream runs in order. Failures are
/// [`isobit_hal::Error`]s with the vendor's code attached.
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
    /// Which of the packaged code it loads.
    const TARGET: Target;

    /// Opens a device.
    ///
    /// # Errors
    /// `LibraryUnavailable` where the vendor's driver is absent or too old, `InvalidArgument` where
    /// there is no such device.
    fn open(ordinal: usize) -> Result<Self>;

    /// Its limits.
    fn limits(&self) -> &Limits;

    /// The architecture as code objects name it: `sm_90`, `gfx90a:sramecc+:xnack-`.
    fn arch(&self) -> &str;

    /// Names, sizes, versions.
    ///
    /// # Errors
    /// Those of the driver.
    fn info(&self) -> Result<DeviceInfo>;
}
