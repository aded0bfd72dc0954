//! Launching a kernel of the table: from a key and arguments to the driver's call.

pub(crate) mod element_walk;
pub(crate) mod elementwise;
pub(crate) mod index;

use crate::device::GpuDevice;
use crate::key::Key;
use crate::runtime::GpuRuntime;
use isobit_hal::{LaunchConfig, Result};
use std::ffi::c_void;

/// The addresses of kernel arguments, for [`Launch::on`]: `args![ptr, n, value]`. The values must outlive the call.
#[macro_export]
macro_rules! args {
    ($($arg:expr),* $(,)?) => {
        &mut [$(std::ptr::from_ref(&$arg).cast_mut().cast::<std::ffi::c_void>()),*]
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
    pub unsafe fn on<R: GpuRuntime>(&self, device: &GpuDevice<R>, args: &mut [*mut c_void]) -> Result<()> {
        let (function, symbol) = device.function(self.key)?;
        let stream = device.stream();
        // SAFETY: the caller promises valid arguments and memory.
        unsafe { device.runtime().launch(&stream, function, &self.config, args) }
            .map_err(|e| e.with_kernel(symbol).with_device(device.location_of()))?;
        device.count_launch(&stream);
        Ok(())
    }
}
