//! Modules, kernels and launches.

use crate::context::Context;
use crate::error::check;
use crate::runtime::RocmRuntime;
use crate::stream::RocmStream;
use hip_sys::{HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, hipErrorSharedObjectInitFailed, hipFunction_t, hipModule_t};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{Arg, Code, GpuRuntime as _, LaunchConfig, Limits, ModuleRuntime};
use std::ffi::CString;
use std::sync::Arc;

/// A loaded module.
#[derive(Debug)]
pub struct RocmModule {
    context: Arc<Context>,
    raw: hipModule_t,
}

// SAFETY: a module may be used from any thread that makes its device current, which every call
// does.
unsafe impl Send for RocmModule {}
// SAFETY: a module may be used from any thread; the driver locks shared state.
unsafe impl Sync for RocmModule {}

/// The size in bytes of the header of a 64-bit ELF file.
const ELF_HEADER_BYTES: usize = 64;

impl Drop for RocmModule {
    fn drop(&mut self) {
        let unloaded = self.context.bind().and_then(|()| {
            // SAFETY: the module was loaded in `load_module` and is unloaded once; the users of its
            // kernels have synchronised or closed the device.
            check(unsafe { (self.context.hip.hipModuleUnload)(self.raw) }, "unloading a kernel module")
        });
        self.context.deferred().keep(unloaded);
    }
}

/// A kernel, valid as long as its module.
#[derive(Debug, Clone, Copy)]
pub struct RocmFunction(hipFunction_t);

// SAFETY: the driver accepts the handle from any thread.
unsafe impl Send for RocmFunction {}
// SAFETY: the driver accepts the handle from any thread.
unsafe impl Sync for RocmFunction {}

/// Checks HIP's own conditions on a launch, which HIP does not always check: a dispatch counts
/// threads, not blocks, with 32 bits per dimension.
fn check_limits(config: &LaunchConfig, limits: &Limits) -> Result<()> {
    let wrong = |what: String| Err(Error::new(ErrorKind::InvalidArgument, format!("launching a kernel: {what}")));
    for ((axis, blocks), threads) in ["x", "y", "z"].into_iter().zip(config.grid).zip(config.block) {
        let along = u64::from(blocks) * u64::from(threads);
        if along == 0 || along >= limits.max_threads_per_dim {
            return wrong(format!(
                "{blocks} blocks of {threads} threads along {axis}; HIP requires at least one of each, and fewer than 2^32 threads in total"
            ));
        }
    }
    let threads: u64 = config.block.into_iter().map(u64::from).product();
    if threads > limits.max_threads_per_block.into() {
        return wrong(format!("a block of {threads} threads; the device allows {}", limits.max_threads_per_block));
    }
    if config.shared_bytes > limits.shared_memory_per_block {
        let most = limits.shared_memory_per_block;
        return wrong(format!("{} bytes of shared memory per block; the device has {most}", config.shared_bytes));
    }
    Ok(())
}

impl RocmFunction {
    /// Returns the driver's handle, for interop.
    pub fn raw(self) -> hipFunction_t {
        self.0
    }
}

impl ModuleRuntime for RocmRuntime {
    type Module = RocmModule;
    type Function = RocmFunction;

    fn load_module(&self, code: Code<'_>) -> Result<RocmModule> {
        let Code::Object(image) = code else {
            return Err(Error::new(ErrorKind::InvalidArgument, "AMD devices load code objects, not PTX"));
        };
        // HIP receives only an address and finds the end of the object from its headers, so the
        // image must at least contain these.
        if !image.starts_with(b"\x7fELF") || image.len() < ELF_HEADER_BYTES {
            return Err(Error::new(ErrorKind::InvalidArgument, "the code object is not an ELF file"));
        }
        self.context().bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the image is a complete ELF file, and the out-parameter is a valid pointer.
        let code = unsafe { (self.hip().hipModuleLoadData)(&mut raw, image.as_ptr().cast()) };
        check(code, "loading a kernel module").map_err(|e| match code {
            // Here the code object is what does not start, for example because HIP does not know
            // its version, and not a library that HIP needs.
            hipErrorSharedObjectInitFailed => {
                let missing = Error::new(ErrorKind::KernelMissing, e.message());
                match e.native() {
                    Some(native) => missing.with_native(native.code, native.name.clone()),
                    None => missing,
                }
            }
            _ => e,
        })?;
        Ok(RocmModule { context: self.context().clone(), raw })
    }

    fn function(&self, module: &RocmModule, symbol: &str) -> Result<RocmFunction> {
        module.context.bind()?;
        let name = CString::new(symbol)
            .map_err(|e| Error::new(ErrorKind::InvalidArgument, "the kernel name has a NUL").with_source(e))?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the module is alive, and the name ends in NUL.
        check(unsafe { (self.hip().hipModuleGetFunction)(&mut raw, module.raw, name.as_ptr()) }, "finding a kernel")
            .map_err(|e| e.with_kernel(symbol))?;
        Ok(RocmFunction(raw))
    }

    fn allow_dynamic_shared(&self, function: RocmFunction, bytes: u32) -> Result<()> {
        // HIP needs no request: a block may use all the shared memory that the device has.
        let most = self.limits().shared_memory_per_block;
        let mut own = 0;
        // SAFETY: the function's module is alive; the out-parameter is a valid pointer.
        let code =
            unsafe { (self.hip().hipFuncGetAttribute)(&mut own, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function.0) };
        check(code, "querying an attribute of a kernel")?;
        let own = own as u32;
        if bytes <= most.saturating_sub(own) {
            return Ok(());
        }
        let message = format!(
            "{bytes} bytes of dynamic shared memory per block, in addition to the kernel's own {own}; the device has {most}"
        );
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    unsafe fn launch(
        &self,
        stream: &RocmStream,
        function: RocmFunction,
        config: &LaunchConfig,
        args: &[Arg<'_>],
    ) -> Result<()> {
        self.context().bind()?;
        check_limits(config, self.limits())?;
        let ([gx, gy, gz], [bx, by, bz]) = (config.grid, config.block);
        // SAFETY: the caller promises that `args` match the kernel's parameters, and that the
        // memory it uses is allocated.
        let code = unsafe {
            (self.hip().hipModuleLaunchKernel)(
                function.0,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                config.shared_bytes,
                stream.raw(),
                args.as_ptr().cast_mut().cast(),
                std::ptr::null_mut(),
            )
        };
        check(code, "launching a kernel")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::MAX_THREADS_PER_DIM;

    #[test]
    fn launches_that_hip_does_not_take_are_refused() {
        let limits = Limits {
            warp_size: 64,
            multiprocessors: 104,
            max_threads_per_block: 1024,
            max_threads_per_multiprocessor: 2048,
            shared_memory_per_block: 65536,
            max_grid_x: i32::MAX as u32,
            max_grid_yz: 65536,
            max_threads_per_dim: MAX_THREADS_PER_DIM,
            l2_bytes: 8 << 20,
        };
        let with = |grid, block, shared_bytes| check_limits(&LaunchConfig { grid, block, shared_bytes }, &limits);
        assert!(with([(1 << 24) - 1, 1, 1], [256, 1, 1], 65536).is_ok(), "2^32 - 256 threads");
        for (grid, block, shared) in [
            ([1 << 24, 1, 1], [256, 1, 1], 0),
            ([1, 1 << 24, 1], [1, 256, 1], 0),
            ([1, 1, u32::MAX], [1, 1, 2], 0),
            ([0, 1, 1], [256, 1, 1], 0),
            ([1, 1, 1], [256, 0, 1], 0),
            ([1, 1, 1], [512, 2, 2], 0),
            ([1, 1, 1], [256, 1, 1], 65537),
        ] {
            let error = with(grid, block, shared).expect_err("HIP does not take this");
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
    }
}
