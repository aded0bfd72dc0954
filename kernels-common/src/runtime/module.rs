//! The module, kernel and run-time compiler parts of a driver.

use crate::code::rtc::RtcSource;
use crate::code::target::Code;
use crate::launch::Arg;
use crate::runtime::StreamRuntime;
use isobit_hal::{Error, ErrorKind, LaunchConfig, Result};
use std::fmt::Debug;

/// Loads modules and launches their kernels.
///
/// ```
/// use isobit_hal::{LaunchConfig, Result};
/// use isobit_kernels::{Arg, Code, DevicePtr, GpuRuntime};
///
/// /// Loads `code` and runs its kernel `fill(float *out, unsigned n, float value)`.
/// ///
/// /// # Safety
/// /// `n` floats are allocated at `out`.
/// unsafe fn fill<R: GpuRuntime>(
///     runtime: &R,
///     stream: &R::Stream,
///     code: Code<'_>,
///     (out, n, value): (DevicePtr, u32, f32),
/// ) -> Result<()> {
///     let module = runtime.load_module(code)?;
///     let function = runtime.function(&module, "fill")?;
///     let args = [Arg::new(&out), Arg::new(&n), Arg::new(&value)];
///     let config = LaunchConfig::for_num_elems(n as usize);
///     // SAFETY: the arguments have the types of the kernel's parameters, and the caller
///     // guarantees that `out` is allocated.
///     unsafe { runtime.launch(stream, function, &config, &args)? };
///     // The module must stay loaded until the kernel is done.
///     runtime.synchronize(stream)
/// }
/// ```
pub trait ModuleRuntime: StreamRuntime {
    /// A loaded module. It is unloaded when dropped.
    type Module: Send + Sync + Debug;
    /// A kernel of a module. It is valid as long as the module.
    type Function: Send + Sync + Debug + Copy;

    /// Loads code as a module.
    ///
    /// # Errors
    /// Returns `KernelMissing` if the code does not fit the device, or the driver's error.
    fn load_module(&self, code: Code<'_>) -> Result<Self::Module>;

    /// Returns the kernel of a symbol.
    ///
    /// # Errors
    /// Returns `KernelMissing`, naming the symbol.
    fn function(&self, module: &Self::Module, symbol: &str) -> Result<Self::Function>;

    /// Allows launches of a kernel to request up to `bytes` bytes of dynamic shared memory, which
    /// may be more than the default limit of a block. The setting applies to all launches of the
    /// kernel; callers make sure that it only grows.
    ///
    /// # Errors
    /// Returns `InvalidArgument`, naming the available size, if the device does not have `bytes`
    /// bytes for the kernel.
    fn allow_dynamic_shared(&self, function: Self::Function, bytes: u32) -> Result<()>;

    /// Launches a kernel.
    ///
    /// # Safety
    /// `args` point to values with exactly the types of the kernel's parameters, and the memory
    /// that the kernel reads and writes is allocated.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    unsafe fn launch(
        &self,
        stream: &Self::Stream,
        function: Self::Function,
        config: &LaunchConfig,
        args: &[Arg<'_>],
    ) -> Result<()>;
}

/// Compiles source code on this machine. Optional: by default a device runs only the code that was
/// packed for it.
///
/// ```
/// use isobit_hal::Result;
/// use isobit_kernels::{GpuRuntime, RtcSource};
///
/// /// Compiles one translation unit without headers.
/// fn compile<R: GpuRuntime>(runtime: &R, text: &str) -> Result<Vec<u8>> {
///     runtime.compile(&RtcSource { name: "kernel.cu", text, headers: &[], options: &[] })
/// }
/// ```
pub trait CompilerRuntime {
    /// Returns the name and version of the run-time compiler. Cached code is reused only for the
    /// compiler that produced it.
    ///
    /// # Errors
    /// Returns `LibraryUnavailable` if there is no run-time compiler.
    fn compiler(&self) -> Result<String> {
        Err(no_compiler())
    }

    /// Compiles source code for this device, to PTX (NUL-terminated) or to a code object.
    ///
    /// # Errors
    /// Returns `LibraryUnavailable` if there is no run-time compiler, and `CompileFailed`, with the
    /// log, if the source does not compile.
    fn compile(&self, _source: &RtcSource<'_>) -> Result<Vec<u8>> {
        Err(no_compiler())
    }
}

#[cold]
fn no_compiler() -> Error {
    Error::new(ErrorKind::LibraryUnavailable, "this driver has no run-time compiler")
}
