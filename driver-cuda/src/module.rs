//! Modules, kernels and launches.

use crate::context::Context;
use crate::error::check;
use crate::info;
use crate::runtime::CudaRuntime;
use crate::stream::CudaStream;
use cudarc::driver::sys;
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{Arg, Code, LaunchConfig, ModuleRuntime};
use std::ffi::{CString, c_void};
use std::sync::Arc;

/// A loaded module.
#[derive(Debug)]
pub struct CudaModule {
    context: Arc<Context>,
    raw: sys::CUmodule,
}

// SAFETY: a module may be used from any thread that makes its context current, which every call
// does.
unsafe impl Send for CudaModule {}
// SAFETY: a module may be used from any thread; the driver locks shared state.
unsafe impl Sync for CudaModule {}

/// The size of the buffer for the messages of the driver's compiler about rejected PTX.
const LOG_BYTES: usize = 8192;

impl Drop for CudaModule {
    fn drop(&mut self) {
        let unloaded = self.context.bind().and_then(|()| {
            // SAFETY: the module was loaded in `load_module` and is unloaded once; the users of its
            // kernels have synchronised or closed the device.
            check(unsafe { sys::cuModuleUnload(self.raw) }, "unloading a kernel module")
        });
        self.context.deferred().keep(unloaded);
    }
}

/// A kernel, valid as long as its module.
#[derive(Debug, Clone, Copy)]
pub struct CudaFunction(sys::CUfunction);

// SAFETY: the driver accepts the handle from any thread.
unsafe impl Send for CudaFunction {}
// SAFETY: the driver accepts the handle from any thread.
unsafe impl Sync for CudaFunction {}

impl CudaFunction {
    /// Returns the driver's handle, for interop.
    pub fn raw(self) -> sys::CUfunction {
        self.0
    }
}

impl ModuleRuntime for CudaRuntime {
    type Module = CudaModule;
    type Function = CudaFunction;

    fn load_module(&self, code: Code<'_>) -> Result<CudaModule> {
        let image = match code {
            Code::Ptx(text) if text.last() == Some(&0) => text,
            Code::Ptx(_) => return Err(Error::new(ErrorKind::InvalidArgument, "PTX must end in a NUL byte")),
            Code::Object(bytes) => bytes,
        };
        self.context().bind()?;
        let mut raw = std::ptr::null_mut();
        let mut log = vec![0u8; LOG_BYTES];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
        // SAFETY: the image is complete (the check above ensures that PTX ends in NUL), and the
        // options point to a buffer of the given size.
        let code = unsafe {
            sys::cuModuleLoadDataEx(&mut raw, image.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
        };
        check(code, "loading a kernel module").map_err(|e| {
            let end = log.iter().position(|&b| b == 0).unwrap_or(log.len());
            match String::from_utf8_lossy(&log[..end]).trim() {
                "" => e,
                log => e.with_source(log.to_string()),
            }
        })?;
        Ok(CudaModule { context: self.context().clone(), raw })
    }

    fn function(&self, module: &CudaModule, symbol: &str) -> Result<CudaFunction> {
        module.context.bind()?;
        let name = CString::new(symbol)
            .map_err(|e| Error::new(ErrorKind::InvalidArgument, "the kernel name has a NUL").with_source(e))?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the module is alive, and the name ends in NUL.
        check(unsafe { sys::cuModuleGetFunction(&mut raw, module.raw, name.as_ptr()) }, "finding a kernel")
            .map_err(|e| e.with_kernel(symbol))?;
        Ok(CudaFunction(raw))
    }

    fn allow_dynamic_shared(&self, function: CudaFunction, bytes: u32) -> Result<()> {
        use sys::CUfunction_attribute::{
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as DYNAMIC, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES as STATIC,
        };
        self.context().bind()?;
        let attribute = |which| {
            let mut value = 0;
            // SAFETY: the function's module is alive; the out-parameter is a valid pointer.
            let code = unsafe { sys::cuFuncGetAttribute(&mut value, which, function.0) };
            check(code, "querying an attribute of a kernel").map(|()| value as u32)
        };
        if bytes <= attribute(DYNAMIC)? {
            return Ok(());
        }
        let most = info::shared_memory_per_block_optin(self.context().device())?;
        let own = attribute(STATIC)?;
        if bytes > most.saturating_sub(own) {
            let message = format!(
                "{bytes} bytes of dynamic shared memory per block, in addition to the kernel's own {own}; the device has {most}"
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        // SAFETY: the function's module is alive.
        let code = unsafe { sys::cuFuncSetAttribute(function.0, DYNAMIC, bytes as i32) };
        check(code, "requesting more shared memory")
    }

    unsafe fn launch(
        &self,
        stream: &CudaStream,
        function: CudaFunction,
        config: &LaunchConfig,
        args: &[Arg<'_>],
    ) -> Result<()> {
        self.context().bind()?;
        let ([gx, gy, gz], [bx, by, bz]) = (config.grid, config.block);
        // SAFETY: the caller promises that `args` match the kernel's parameters, and that the
        // memory it uses is allocated.
        let code = unsafe {
            sys::cuLaunchKernel(
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
