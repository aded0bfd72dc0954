//! Modules, kernels and the run-time compiler as a driver gives them.

use crate::code::rtc::RtcSource;
use crate::code::target::Code;
use crate::launch::Arg;
use crate::runtime::StreamRuntime;
use isobit_hal::{Error, ErrorKind, LaunchConfig, Result};
use std::fmt::Debug;

/// Modules and launches of their kernels.
pub trait ModuleRuntime: StreamRuntime {
    /// A loaded module; unloaded when dropped.
    type Module: Send + Sync + Debug;
    /// A kernel in a module, valid as long as the module.
    type Function: Send + Sync + Debug + Copy;

    /// Loads code.
    ///
    /// # Errors
    /// `KernelMissing` where the code does not fit the device, else those of the driver.
    fn load_module(&self, code: Code<'_>) -> Result<Self::Module>;

    /// Finds a kernel.
    ///
    /// # Errors
    /// `KernelMissing`, with the symbol.
    fn function(&self, module: &Self::Module, symbol: &str) -> Result<Self::Function>;

    /// Lets launches of a kernel ask for so many bytes of dynamic shared memory, which may be more
    /// than a block has by default. Changes what other launches may ask for; callers see to it that
    /// the number only grows.
    ///
    /// # Errors
    /// `InvalidArgument` where the device has not that much for the kernel, saying how much it has.
    fn allow_dynamic_shared(&self, function: Self::Function, bytes: u32) -> Result<()>;

    /// Launches a kernel.
    ///
    /// # Safety
    /// `args` point to values of exactly the kernel's parameters, and what the kernel reads and
    /// writes is allocated.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn launch(
        &self,
        stream: &Self::Stream,
        function: Self::Function,
        config: &LaunchConfig,
        args: &[Arg<'_>],
    ) -> Result<()>;
}

/// Compiling source on this machine. Optional: by default a device runs only the code that was
/// packed for it.
pub trait CompilerRuntime {
    /// The run-time compiler's name and version: code that another one made is not taken for this
    /// one's.
    ///
    /// # Errors
    /// `LibraryUnavailable` where there is none.
    fn compiler(&self) -> Result<String> {
        Err(no_compiler())
    }

    /// Compiles source for this device: PTX (NUL-terminated) or a code object.
    ///
    /// # Errors
    /// `LibraryUnavailable` where there is no run-time compiler, `CompileFailed` with its log.
    fn compile(&self, _source: &RtcSource<'_>) -> Result<Vec<u8>> {
        Err(no_compiler())
    }
}

#[cold]
fn no_compiler() -> Error {
    Error::new(ErrorKind::LibraryUnavailable, "this driver has no run-time compiler")
}
