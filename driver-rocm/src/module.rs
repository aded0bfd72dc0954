//! Modules, kernels and their launch.

use crate::context::Context;
use crate::error::check;
use crate::stream::RocmStream;
use hip_sys::{Hip, hipFunction_t, hipModule_t};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{Code, LaunchConfig, Limits};
use std::ffi::{CString, c_void};
use std::sync::Arc;

/// A loaded module.
#[derive(Debug)]
pub struct RocmModule {
    context: Arc<Context>,
    raw: hipModule_t,
}

// SAFETY: a module may be used from any thread whose current device is its own, which every call sees to.
unsafe impl Send for RocmModule {}
// SAFETY: as above; the driver locks what is shared.
unsafe impl Sync for RocmModule {}

impl RocmModule {
    pub(crate) fn load(context: &Arc<Context>, code: Code<'_>) -> Result<Self> {
        let Code::Object(image) = code else {
            return Err(Error::new(ErrorKind::InvalidArgument, "AMD devices load code objects, not PTX"));
        };
        // HIP is given an address alone and finds the object's end by its headers, so it must not get less than those.
        if !image.starts_with(b"\x7fELF") || image.len() < ELF_HEADER_BYTES {
            return Err(Error::new(ErrorKind::InvalidArgument, "a code object is an ELF file, which this is not"));
        }
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the image is a whole ELF file; an out-parameter.
        let code = unsafe { (context.hip.hipModuleLoadData)(&mut raw, image.as_ptr().cast()) };
        check(code, "loading a kernel module")?;
        Ok(Self { context: context.clone(), raw })
    }

    pub(crate) fn function(&self, symbol: &str) -> Result<RocmFunction> {
        self.context.bind()?;
        let name = CString::new(symbol)
            .map_err(|e| Error::new(ErrorKind::InvalidArgument, "a kernel's name has no NUL").with_source(e))?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the module lives and the name ends in NUL.
        let code = unsafe { (self.context.hip.hipModuleGetFunction)(&mut raw, self.raw, name.as_ptr()) };
        check(code, "finding a kernel").map_err(|e| e.with_kernel(symbol))?;
        Ok(RocmFunction(raw))
    }
}

/// Bytes of the header of a 64-bit ELF file.
const ELF_HEADER_BYTES: usize = 64;

impl Drop for RocmModule {
    fn drop(&mut self) {
        let unloaded = self.context.bind().and_then(|()| {
            // SAFETY: loaded in `load`, unloaded once; whoever launched from it has synchronised or closed the device.
            check(unsafe { (self.context.hip.hipModuleUnload)(self.raw) }, "unloading a kernel module")
        });
        self.context.deferred().keep(unloaded);
    }
}

/// A kernel, valid as long as its module.
#[derive(Debug, Clone, Copy)]
pub struct RocmFunction(hipFunction_t);

// SAFETY: a handle that the driver accepts from any thread.
unsafe impl Send for RocmFunction {}
// SAFETY: as above.
unsafe impl Sync for RocmFunction {}

/// HIP's own conditions on a launch, which it does not check everywhere: a dispatch counts threads, not blocks, in 32 bits a dimension.
fn check_limits(config: &LaunchConfig, limits: &Limits) -> Result<()> {
    let wrong = |what: String| Err(Error::new(ErrorKind::InvalidArgument, format!("launching a kernel: {what}")));
    for ((axis, blocks), threads) in ["x", "y", "z"].into_iter().zip(config.grid).zip(config.block) {
        let along = u64::from(blocks) * u64::from(threads);
        if along == 0 || along >= limits.max_threads_per_dim {
            return wrong(format!(
                "{blocks} blocks of {threads} threads along {axis}; HIP takes at least one, and fewer than 2^32 threads in all"
            ));
        }
    }
    let threads: u64 = config.block.into_iter().map(u64::from).product();
    if threads > limits.max_threads_per_block.into() {
        return wrong(format!("a block of {threads} threads; the device takes {}", limits.max_threads_per_block));
    }
    if config.shared_bytes > limits.shared_memory_per_block {
        let most = limits.shared_memory_per_block;
        return wrong(format!("{} bytes of shared memory a block; the device has {most}", config.shared_bytes));
    }
    Ok(())
}

impl RocmFunction {
    /// The driver's handle, for those who must.
    pub fn raw(self) -> hipFunction_t {
        self.0
    }

    /// # Safety
    /// As `GpuRuntime::launch`, with the device current.
    #[inline]
    pub(crate) unsafe fn launch(
        self,
        hip: &Hip,
        limits: &Limits,
        stream: &RocmStream,
        config: &LaunchConfig,
        args: &mut [*mut c_void],
    ) -> Result<()> {
        check_limits(config, limits)?;
        let ([gx, gy, gz], [bx, by, bz]) = (config.grid, config.block);
        // SAFETY: the caller's promise.
        let code = unsafe {
            (hip.hipModuleLaunchKernel)(
                self.0,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                config.shared_bytes,
                stream.raw(),
                args.as_mut_ptr(),
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
