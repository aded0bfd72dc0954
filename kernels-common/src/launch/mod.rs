//! Launching a kernel of the table: from a key and arguments to the driver's call.

pub(crate) mod element_walk;
pub(crate) mod elementwise;
pub(crate) mod index;

use crate::device::GpuDevice;
use crate::key::Key;
use crate::runtime::GpuRuntime;
use isobit_hal::{LaunchConfig, Result};
use std::ffi::c_void;
use std::marker::PhantomData;

/// One argument of a kernel: where its value lies. It borrows the value, so that a launch cannot be
/// given what is gone:
///
/// ```compile_fail,E0716
/// let n = 3u32;
/// let args = [isobit_kernels_common::Arg::new(&u64::from(n))];
/// assert_eq!(args.len(), 1);
/// ```
///
/// (An address without the borrow once compiled there, and an optimised build launched with what
/// had taken the value's place.)
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Arg<'a>(*const c_void, PhantomData<&'a c_void>);

impl<'a> Arg<'a> {
    /// The argument of this value: the bytes that the kernel's parameter of that place is made of.
    pub const fn new<T: ?Sized>(value: &'a T) -> Self {
        Self(std::ptr::from_ref(value).cast(), PhantomData)
    }
}

/// The arguments of a kernel, for [`Launch::on`]: `args![ptr, n, value]`.
#[macro_export]
macro_rules! args {
    ($($arg:expr),* $(,)?) => {
        &[$($crate::Arg::new(&$arg)),*]
    };
}

/// A launch of one kernel of the table.
#[derive(Debug, Clone, Copy)]
pub struct Launch {
    /// The kernel.
    pub key: Key,
    /// Grid, block and shared memory.
    pub config: LaunchConfig,
}

impl Launch {
    /// A launch of blocks along x alone.
    pub const fn linear(key: Key, blocks: u32, threads: u32) -> Self {
        Self { key, config: LaunchConfig::linear(blocks, threads) }
    }

    /// Enqueues it on the device's stream.
    ///
    /// # Safety
    /// As [`ModuleRuntime::launch`](crate::ModuleRuntime::launch).
    ///
    /// # Errors
    /// `KernelMissing`, `CompileFailed`, and those of the driver, naming the kernel.
    pub unsafe fn on<R: GpuRuntime>(&self, device: &GpuDevice<R>, args: &[Arg<'_>]) -> Result<()> {
        let (function, symbol) = device.function(self.key)?;
        let stream = device.stream();
        // SAFETY: the caller promises valid arguments and memory.
        unsafe { device.runtime().launch(&stream, function, &self.config, args) }
            .map_err(|e| e.with_kernel(symbol).with_device(device.location_of()))?;
        device.count_launch(&stream);
        Ok(())
    }
}
