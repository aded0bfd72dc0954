//! Modules: loading code objects, and finding kernels and variables in them.

use crate::Code;
use crate::error::{Error, Result, bail, call, put, put_if_wanted, text};
use crate::image;
use crate::process::{Process, current_device, working};
use isobit_simgpu_amd::loader::{Kernel, LoadError, Module};
use isobit_simgpu_runtime_common::fault;
use isobit_simgpu_runtime_common::handles::Handle;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

/// A module on a device.
#[derive(Debug)]
pub(crate) struct LoadedModule {
    pub(crate) module: Module,
    pub(crate) device: usize,
    /// The handles of the kernels that have been requested.
    functions: Mutex<HashMap<String, u64>>,
}

/// A kernel on a device.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) device: usize,
    /// The module that the handle came from; unloading it removes the handle. 0 for kernels that
    /// are registered for host functions.
    module: u64,
}

impl LoadedModule {
    /// Loads the code for a device.
    ///
    /// # Errors
    /// `hipErrorNoBinaryForGpu` if there is no code for the device, `hipErrorInvalidImage`,
    /// `hipErrorSharedObjectInitFailed` for features that are not simulated, `hipErrorOutOfMemory`.
    pub(crate) fn load(process: &Process, device: usize, image: &[u8]) -> Result<Self> {
        let module = process.cards[device].gpu.load(&fault::image(image)).map_err(|error| {
            let code = match error {
                LoadError::NoCode { .. } => Code::NO_BINARY_FOR_GPU,
                LoadError::Invalid(_) => Code::INVALID_IMAGE,
                LoadError::Unsupported(_) => Code::SHARED_OBJECT_INIT_FAILED,
                LoadError::OutOfMemory(_) => Code::OUT_OF_MEMORY,
            };
            if code == Code::SHARED_OBJECT_INIT_FAILED {
                eprintln!("simulated GPU: {error}");
            }
            Error::new(code, error.to_string())
        })?;
        Ok(Self { module, device, functions: Mutex::default() })
    }

    /// Returns a kernel by its name.
    pub(crate) fn function(&self, name: &str, module: u64) -> Result<Arc<Function>> {
        match self.module.kernel(name) {
            Some(kernel) => Ok(Arc::new(Function { kernel, device: self.device, module })),
            None => bail!(NOT_FOUND, "the module has no kernel {name}"),
        }
    }
}

fn module(process: &Process, handle: Handle) -> Result<Arc<LoadedModule>> {
    let unknown = || Error::new(Code::INVALID_HANDLE, format!("{handle:p} is no module"));
    process.modules.get(handle).ok_or_else(unknown)
}

/// Returns the kernel of a handle. Fails if its card does not accept calls.
pub(crate) fn function(process: &Process, handle: Handle) -> Result<Arc<Function>> {
    let unknown = || Error::new(Code::INVALID_HANDLE, format!("{handle:p} is no kernel, or its module is unloaded"));
    let function = process.functions.get(handle).ok_or_else(unknown)?;
    process.check(function.device)?;
    Ok(function)
}

/// # Safety
/// `to` is null or has room for a handle; the image is complete.
unsafe fn load(to: *mut Handle, image: *const c_void) -> Result {
    if to.is_null() {
        bail!(INVALID_VALUE, "the pointer to the module is null");
    }
    let process = working()?;
    process.machine.queues.refuse_in_capture()?;
    // SAFETY: the caller promises that the image is complete.
    let loaded = LoadedModule::load(process, current_device(), unsafe { image::bytes(image) }?)?;
    let handle = process.modules.add(Arc::new(loaded));
    // SAFETY: the caller promises that `to` is null or has room for a handle.
    unsafe { put(to, handle, "the module") }
}

/// Loads a code object, or the one in a bundle that matches the current card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLoadData(to: *mut Handle, image: *const c_void) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipModuleLoadData", || unsafe { load(to, image) })
}

/// As [`hipModuleLoadData`]. The options are for compilers and are ignored, because there is
/// nothing to compile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLoadDataEx(
    to: *mut Handle,
    image: *const c_void,
    _count: c_uint,
    _options: *mut c_int,
    _values: *mut *mut c_void,
) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipModuleLoadDataEx", || unsafe { load(to, image) })
}

/// Loads a module from a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLoad(to: *mut Handle, path: *const c_char) -> Code {
    call("hipModuleLoad", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let path = unsafe { text(path, "the path") }?;
        let file = std::fs::read(path).map_err(|error| Error::new(Code::FILE_NOT_FOUND, format!("{path}: {error}")))?;
        if to.is_null() {
            bail!(INVALID_VALUE, "the pointer to the module is null");
        }
        let process = working()?;
        process.machine.queues.refuse_in_capture()?;
        let loaded = LoadedModule::load(process, current_device(), &file)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, process.modules.add(Arc::new(loaded)), "the module") }
    })
}

/// Unloads a module and its kernels. Pending launches still run.
#[unsafe(no_mangle)]
pub extern "C" fn hipModuleUnload(handle: Handle) -> Code {
    call("hipModuleUnload", || {
        let process = working()?;
        module(process, handle)?;
        process.modules.remove(handle);
        process.functions.remove_if(|function| function.module == handle as u64);
        Ok(())
    })
}

/// Finds a kernel by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleGetFunction(to: *mut Handle, handle: Handle, name: *const c_char) -> Code {
    call("hipModuleGetFunction", || {
        let process = working()?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let name = unsafe { text(name, "the name") }?;
        let module = module(process, handle)?;
        let mut functions = module.functions.lock();
        let found = match functions.get(name) {
            Some(&found) => found as Handle,
            None => {
                let found = process.functions.add(module.function(name, handle as u64)?);
                functions.insert(name.to_owned(), found as u64);
                found
            }
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, found, "the kernel") }
    })
}

/// Finds a variable by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleGetGlobal(
    address: *mut *mut c_void,
    bytes: *mut usize,
    handle: Handle,
    name: *const c_char,
) -> Code {
    call("hipModuleGetGlobal", || {
        let process = working()?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let name = unsafe { text(name, "the name") }?;
        let Some((at, size)) = module(process, handle)?.module.global(name) else {
            bail!(NOT_FOUND, "the module has no variable {name}");
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put_if_wanted(address, at as *mut c_void);
            put_if_wanted(bytes, size as usize);
        }
        Ok(())
    })
}
