//! Modules: loads PTX and finds the kernels and variables in it.

use crate::Code;
use crate::current::{Context, current};
use crate::error::{Error, Result, bail, call, put, put_if_wanted, text};
use crate::function::Attributes;
use crate::image;
use crate::memory::Address;
use crate::printed;
use crate::process::{Process, process};
use isobit_simgpu_nvidia::module::{Kernel, LoadError, Module};
use isobit_simgpu_runtime_common::fault;
use isobit_simgpu_runtime_common::handles::Handle;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_uint, c_void};
use std::sync::Arc;

/// A module in a context.
#[derive(Debug)]
pub(crate) struct LoadedModule {
    pub(crate) module: Module,
    pub(crate) context: Arc<Context>,
    /// The handles of the kernels that callers have requested.
    functions: Mutex<HashMap<String, u64>>,
}

/// A kernel in a context.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) context: Arc<Context>,
    /// The module's handle; the kernel becomes invalid with it.
    pub(crate) module: u64,
    /// The kernel's name, for queries.
    pub(crate) name: CString,
    pub(crate) attributes: Attributes,
}

impl LoadedModule {
    /// Loads PTX in a context.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_IMAGE` if the image is not PTX, `CUDA_ERROR_INVALID_PTX` if a compiler
    /// would reject it, which includes PTX for a newer card, `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn load(process: &Process, context: Arc<Context>, image: &[u8]) -> Result<Self> {
        printed::flush(process);
        let module = process.cards[context.device].gpu.load(&fault::image(image)).map_err(|error| {
            // The driver treats a text as PTX if it has a `.version` directive.
            let says_version = image.windows(8).any(|word| word == b".version");
            let code = match error {
                LoadError::NotPtx(_) => Code::INVALID_IMAGE,
                LoadError::Invalid(_) if !says_version => Code::INVALID_IMAGE,
                LoadError::Invalid(_) | LoadError::WrongArch { .. } | LoadError::Unresolved(_) => Code::INVALID_PTX,
                LoadError::OutOfMemory(_) => Code::OUT_OF_MEMORY,
            };
            Error::new(code, error.to_string())
        })?;
        Ok(Self { module, context, functions: Mutex::default() })
    }

    /// Returns the handle of a kernel; repeated calls return the same handle.
    pub(crate) fn function(&self, process: &Process, handle: Handle, name: &str) -> Result<Handle> {
        let mut functions = self.functions.lock();
        if let Some(&found) = functions.get(name) {
            return Ok(found as Handle);
        }
        let Some(kernel) = self.module.kernel(name) else { bail!(NOT_FOUND, "the module has no kernel {name}") };
        let function = Function {
            attributes: Attributes::new(&kernel),
            kernel,
            context: self.context.clone(),
            module: handle as u64,
            name: CString::new(name).unwrap_or_default(),
        };
        let found = process.functions.add(Arc::new(function));
        functions.insert(name.to_owned(), found as u64);
        Ok(found)
    }
}

/// Returns the module that a handle names; fails if its context is destroyed or has failed.
pub(crate) fn module(process: &Process, handle: Handle) -> Result<Arc<LoadedModule>> {
    let unknown = || Error::new(Code::INVALID_HANDLE, format!("{handle:p} is no module"));
    let module = process.modules.get(handle).ok_or_else(unknown)?;
    module.context.check()?;
    Ok(module)
}

/// Returns the kernel that a handle names; fails if its context is destroyed or has failed.
pub(crate) fn function(process: &Process, handle: Handle) -> Result<Arc<Function>> {
    let unknown = || Error::new(Code::INVALID_HANDLE, format!("{handle:p} is no kernel, or its module is unloaded"));
    let function = process.functions.get(handle).ok_or_else(unknown)?;
    function.context.check()?;
    Ok(function)
}

/// Loads PTX into the current context.
pub(crate) fn load(to: *mut Handle, image: impl FnOnce() -> Result<Vec<u8>>) -> Result {
    if to.is_null() {
        bail!(INVALID_VALUE, "the pointer to the module is null");
    }
    let (process, context) = (process()?, current()?);
    let loaded = LoadedModule::load(process, context, &image()?)?;
    // SAFETY: not null, and the caller of CUDA promises room for a handle.
    unsafe { put(to, process.modules.add(Arc::new(loaded)), "the module") }
}

/// Loads PTX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(to: *mut Handle, image: *const c_void) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuModuleLoadData", || load(to, || Ok(unsafe { image::text(image) }?.to_vec())))
}

/// Loads PTX from a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoad(to: *mut Handle, path: *const c_char) -> Code {
    call("cuModuleLoad", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let path = unsafe { text(path, "the path") }?;
        load(to, || image::of_file(path))
    })
}

/// Loads a fat binary, which only a real card can execute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadFatBinary(_to: *mut Handle, _image: *const c_void) -> Code {
    call("cuModuleLoadFatBinary", || {
        current()?;
        bail!(NO_BINARY_FOR_GPU, "simulated devices accept only PTX")
    })
}

/// Unloads a module and its kernels. Pending launches continue.
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(handle: Handle) -> Code {
    call("cuModuleUnload", || {
        let process = process()?;
        module(process, handle)?;
        unload(process, handle);
        Ok(())
    })
}

/// Removes a module and its kernels.
pub(crate) fn unload(process: &Process, handle: Handle) {
    printed::flush(process);
    // The module's variables are freed when the last launch of its kernels is done.
    process.modules.remove(handle);
    process.functions.remove_if(|function| function.module == handle as u64);
}

/// Finds a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(to: *mut Handle, handle: Handle, name: *const c_char) -> Code {
    call("cuModuleGetFunction", || {
        let process = process()?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let name = unsafe { text(name, "the name") }?;
        let found = module(process, handle)?.function(process, handle, name)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, found, "the kernel") }
    })
}

/// Returns the number of kernels in a module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunctionCount(to: *mut c_uint, handle: Handle) -> Code {
    call("cuModuleGetFunctionCount", || {
        let count = module(process()?, handle)?.module.kernels().count();
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, count as c_uint, "the number of kernels") }
    })
}

/// Lists the kernels of a module in the order of their names, up to the given capacity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleEnumerateFunctions(to: *mut Handle, count: c_uint, handle: Handle) -> Code {
    call("cuModuleEnumerateFunctions", || {
        let process = process()?;
        let module = module(process, handle)?;
        if to.is_null() || count == 0 {
            bail!(INVALID_VALUE, "the kernel array is null, or its capacity is 0");
        }
        let mut names: Vec<_> = module.module.kernels().map(|kernel| kernel.name.as_str()).collect();
        names.sort_unstable();
        for (index, name) in names.into_iter().take(count as usize).enumerate() {
            let found = module.function(process, handle, name)?;
            // SAFETY: the index is below the capacity that the caller gives.
            unsafe { to.add(index).write_unaligned(found) };
        }
        Ok(())
    })
}

/// Finds a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetGlobal_v2(
    address: *mut Address,
    bytes: *mut usize,
    handle: Handle,
    name: *const c_char,
) -> Code {
    call("cuModuleGetGlobal_v2", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let name = unsafe { text(name, "the name") }?;
        if address.is_null() && bytes.is_null() {
            bail!(INVALID_VALUE, "the pointers to the address and to the size are both null");
        }
        let Some((at, size)) = module(process()?, handle)?.module.global(name) else {
            bail!(NOT_FOUND, "the module has no variable {name}");
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put_if_wanted(address, at);
            put_if_wanted(bytes, size as usize);
        }
        Ok(())
    })
}
