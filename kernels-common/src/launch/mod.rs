//! Launches kernels of the table: from a key and arguments to the driver's call.

pub(crate) mod element_walk;
pub(crate) mod elementwise;
pub(crate) mod index;
pub(crate) mod rows;
pub mod sizes;

use crate::device::GpuDevice;
use crate::key::Key;
use crate::runtime::GpuRuntime;
use isobit_hal::{LaunchConfig, Result};
use std::ffi::c_void;
use std::marker::PhantomData;

/// Bytes of dynamic shared memory that every kernel may request without being allowed to.
const DEFAULT_SHARED: u32 = 48 << 10;

/// A kernel argument: the address of its value. It borrows the value, so a launch cannot receive a
/// dangling pointer:
///
/// ```compile_fail,E0716
/// let n = 3u32;
/// let args = [isobit_kernels::Arg::new(&u64::from(n))];
/// assert_eq!(args.len(), 1);
/// ```
///
/// The value must live until the launch returns:
///
/// ```
/// let n = u64::from(3u32);
/// let args = [isobit_kernels::Arg::new(&n)];
/// assert_eq!(args.len(), 1);
/// ```
///
/// Without the borrow, the first example would compile, and in an optimised build the launch could
/// read whatever replaced the value.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Arg<'a>(*const c_void, PhantomData<&'a c_void>);

impl<'a> Arg<'a> {
    /// Creates the argument for a value, whose bytes become the kernel parameter at that position.
    pub const fn new<T: ?Sized>(value: &'a T) -> Self {
        Self(std::ptr::from_ref(value).cast(), PhantomData)
    }
}

/// Builds the arguments of a kernel for [`Launch::on`]: `args![ptr, n, value]`.
#[macro_export]
macro_rules! args {
    ($($arg:expr),* $(,)?) => {
        &[$($crate::Arg::new(&$arg)),*]
    };
}

/// A launch of one kernel of the table.
///
/// ```
/// use isobit_hal::{BackendDevice, Result};
/// use isobit_kernels::{DevicePtr, GpuDevice, GpuRuntime, Key, Launch, args};
///
/// /// Launches a kernel whose parameters are an address and a number of elements.
/// ///
/// /// # Safety
/// /// The kernel of `key` has these parameters, and `n` elements are allocated at `out`.
/// unsafe fn launch<R: GpuRuntime>(
///     device: &GpuDevice<R>,
///     key: Key,
///     out: DevicePtr,
///     n: u32,
/// ) -> Result<()> {
///     let launch = Launch::linear(key, n.div_ceil(256), 256);
///     // SAFETY: the caller upholds what this function requires.
///     unsafe { launch.on(device, args![out, n])? };
///     device.synchronize()
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Launch {
    /// The kernel.
    pub key: Key,
    /// The grid, block and shared memory.
    pub config: LaunchConfig,
}

impl Launch {
    /// Creates a launch with blocks along x only.
    pub const fn linear(key: Key, blocks: u32, threads: u32) -> Self {
        Self { key, config: LaunchConfig::linear(blocks, threads) }
    }

    /// Enqueues the launch on the current stream of the device.
    ///
    /// # Safety
    /// Same as [`ModuleRuntime::launch`](crate::ModuleRuntime::launch).
    ///
    /// # Errors
    /// Returns `KernelMissing`, `CompileFailed` or the driver's error, naming the kernel.
    pub unsafe fn on<R: GpuRuntime>(&self, device: &GpuDevice<R>, args: &[Arg<'_>]) -> Result<()> {
        let (function, symbol) = device.function(self.key)?;
        let stream = device.stream();
        if self.config.shared_bytes > DEFAULT_SHARED {
            device.runtime().allow_dynamic_shared(function, self.config.shared_bytes)?;
        }
        // SAFETY: the caller promises valid arguments and memory.
        unsafe { device.runtime().launch(&stream, function, &self.config, args) }
            .map_err(|e| e.with_kernel(symbol).with_device(device.location_of()))?;
        device.count_launch(&stream);
        Ok(())
    }
}
