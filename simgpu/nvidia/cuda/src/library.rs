//! Libraries: code that each context loads at its first use there, and kernels that can be launched
//! in any context.

use crate::Code;
use crate::context::check_cache_config;
use crate::current::{Context, current, current_slot};
use crate::error::{Error, Result, bail, call, put, put_if_wanted, text};
use crate::function::{attribute, parameter, set_attribute};
use crate::image;
use crate::jit::Options;
use crate::memory::Address;
use crate::module::{Function, LoadedModule, function, unload};
use crate::process::{Process, process};
use isobit_simgpu_runtime_common::handles::Handle;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::Arc;

/// Code, and the modules that contexts loaded from it.
#[derive(Debug)]
pub(crate) struct Library {
    image: Vec<u8>,
    /// The modules by context ID.
    modules: Mutex<HashMap<u64, u64>>,
    /// The handles of the kernels that callers have requested.
    kernels: Mutex<HashMap<String, u64>>,
}

/// A kernel of a library.
#[derive(Debug)]
pub(crate) struct LibraryKernel {
    library: u64,
    name: CString,
}

fn library(process: &Process, handle: Handle) -> Result<Arc<Library>> {
    let unknown = || Error::new(Code::INVALID_HANDLE, format!("{handle:p} is not a library"));
    process.libraries.get(handle).ok_or_else(unknown)
}

fn kernel(process: &Process, handle: Handle) -> Result<Arc<LibraryKernel>> {
    let unknown = || Error::new(Code::INVALID_HANDLE, format!("{handle:p} is not a library kernel"));
    process.kernels.get(handle).ok_or_else(unknown)
}

impl Library {
    /// Returns the module in a context and loads it at the first call.
    fn module_in(&self, process: &Process, context: &Arc<Context>) -> Result<(Handle, Arc<LoadedModule>)> {
        context.check()?;
        let mut modules = self.modules.lock();
        if let Some(&handle) = modules.get(&context.id)
            && let Some(module) = process.modules.get(handle as Handle)
        {
            return Ok((handle as Handle, module));
        }
        let module = Arc::new(LoadedModule::load(process, context.clone(), &self.image)?);
        let handle = process.modules.add(module.clone());
        modules.insert(context.id, handle as u64);
        Ok((handle, module))
    }
}

/// Returns the handle of a library kernel in a context.
pub(crate) fn function_in(process: &Process, handle: Handle, context: &Arc<Context>) -> Result<Handle> {
    let kernel = kernel(process, handle)?;
    let (module, loaded) = library(process, kernel.library as Handle)?.module_in(process, context)?;
    loaded.function(process, module, kernel.name.to_str().unwrap_or_default())
}

/// Returns the kernel that a handle names: a kernel of a module, or a library kernel in the current
/// context.
pub(crate) fn any_function(process: &Process, handle: Handle) -> Result<Arc<Function>> {
    if process.kernels.get(handle).is_some() {
        return function(process, function_in(process, handle, &current()?)?);
    }
    function(process, handle)
}

fn load(to: *mut Handle, image: impl FnOnce() -> Result<Vec<u8>>) -> Result {
    if to.is_null() {
        bail!(INVALID_VALUE, "the pointer to the library is null");
    }
    let process = process()?;
    let library = Library { image: image()?, modules: Mutex::default(), kernels: Mutex::default() };
    // Without a current context, errors in the code are reported at its first use in a context.
    if let Some(context) = current_slot().and_then(|(_, slot)| slot.get()) {
        library.module_in(process, &context)?;
    }
    // SAFETY: not null, and the caller of CUDA promises room for a handle.
    unsafe { put(to, process.libraries.add(Arc::new(library)), "the library") }
}

/// Loads PTX. The library options (lazy or eager loading, whether the text is preserved) have no
/// effect here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLibraryLoadData(
    to: *mut Handle,
    image: *const c_void,
    options: *mut c_int,
    values: *mut *mut c_void,
    count: c_uint,
    _library_options: *mut c_int,
    _library_values: *mut *mut c_void,
    _library_count: c_uint,
) -> Code {
    call("cuLibraryLoadData", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let options = unsafe { Options::new(count, options, values) }?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let outcome = load(to, || Ok(unsafe { image::text(image) }?.to_vec()));
        options.tell(&outcome);
        outcome
    })
}

/// Loads PTX from a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLibraryLoadFromFile(
    to: *mut Handle,
    path: *const c_char,
    options: *mut c_int,
    values: *mut *mut c_void,
    count: c_uint,
    _library_options: *mut c_int,
    _library_values: *mut *mut c_void,
    _library_count: c_uint,
) -> Code {
    call("cuLibraryLoadFromFile", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let (options, path) = unsafe { (Options::new(count, options, values)?, text(path, "the path")?) };
        let outcome = load(to, || image::of_file(path));
        options.tell(&outcome);
        outcome
    })
}

/// Unloads a library from all contexts.
#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryUnload(handle: Handle) -> Code {
    call("cuLibraryUnload", || {
        let process = process()?;
        let library = library(process, handle)?;
        process.libraries.remove(handle);
        process.kernels.remove_if(|kernel| kernel.library == handle as u64);
        for &module in library.modules.lock().values() {
            unload(process, module as Handle);
        }
        Ok(())
    })
}

/// Finds a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLibraryGetKernel(to: *mut Handle, handle: Handle, name: *const c_char) -> Code {
    call("cuLibraryGetKernel", || {
        let process = process()?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let name = unsafe { text(name, "the name") }?;
        let library = library(process, handle)?;
        if library.module_in(process, &current()?)?.1.module.kernel(name).is_none() {
            bail!(NOT_FOUND, "the library has no kernel {name}");
        }
        let add = || {
            let name = CString::new(name).unwrap_or_default();
            process.kernels.add(Arc::new(LibraryKernel { library: handle as u64, name })) as u64
        };
        let mut kernels = library.kernels.lock();
        let found = *kernels.entry(name.to_owned()).or_insert_with(add);
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, found as Handle, "the kernel") }
    })
}

/// Returns the number of kernels in a library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLibraryGetKernelCount(to: *mut c_uint, handle: Handle) -> Code {
    call("cuLibraryGetKernelCount", || {
        let process = process()?;
        let count = library(process, handle)?.module_in(process, &current()?)?.1.module.kernels().count();
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, count as c_uint, "the number of kernels") }
    })
}

/// Returns the module of a library in the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLibraryGetModule(to: *mut Handle, handle: Handle) -> Code {
    call("cuLibraryGetModule", || {
        let process = process()?;
        let module = library(process, handle)?.module_in(process, &current()?)?.0;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, module, "the module") }
    })
}

/// Finds a variable in the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLibraryGetGlobal(
    address: *mut Address,
    bytes: *mut usize,
    handle: Handle,
    name: *const c_char,
) -> Code {
    call("cuLibraryGetGlobal", || {
        let process = process()?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let name = unsafe { text(name, "the name") }?;
        let Some((at, size)) = library(process, handle)?.module_in(process, &current()?)?.1.module.global(name) else {
            bail!(NOT_FOUND, "the library has no variable {name}");
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put_if_wanted(address, at);
            put_if_wanted(bytes, size as usize);
        }
        Ok(())
    })
}

/// Returns a library kernel in the current context.
fn here(handle: Handle) -> Result<(&'static Process, Arc<Function>)> {
    let process = process()?;
    kernel(process, handle)?;
    Ok((process, any_function(process, handle)?))
}

/// Returns the handle of a kernel in the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuKernelGetFunction(to: *mut Handle, handle: Handle) -> Code {
    call("cuKernelGetFunction", || {
        let process = process()?;
        let found = function_in(process, handle, &current()?)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, found, "the kernel") }
    })
}

/// Returns the library of a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuKernelGetLibrary(to: *mut Handle, handle: Handle) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuKernelGetLibrary", || unsafe { put(to, kernel(process()?, handle)?.library as Handle, "the library") })
}

/// Returns the name of a kernel. The string lives as long as the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuKernelGetName(to: *mut *const c_char, handle: Handle) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuKernelGetName", || unsafe { put(to, kernel(process()?, handle)?.name.as_ptr(), "the name") })
}

/// Returns the kernel on a device, which must be that of the current context.
fn on(handle: Handle, device: c_int) -> Result<(&'static Process, Arc<Function>)> {
    let (process, function) = here(handle)?;
    if process.device(device)? != function.context.device {
        bail!(NOT_SUPPORTED, "device {device} is not that of the current context");
    }
    Ok((process, function))
}

/// Returns a kernel attribute on a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuKernelGetAttribute(to: *mut c_int, number: c_int, handle: Handle, device: c_int) -> Code {
    call("cuKernelGetAttribute", || {
        let (process, function) = on(handle, device)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, attribute(process, &function, number)?, "the value") }
    })
}

/// Sets a kernel attribute on a device.
#[unsafe(no_mangle)]
pub extern "C" fn cuKernelSetAttribute(number: c_int, value: c_int, handle: Handle, device: c_int) -> Code {
    call("cuKernelSetAttribute", || {
        let (process, function) = on(handle, device)?;
        set_attribute(process, &function, number, value)
    })
}

/// Sets the cache preference of a kernel, which is only a hint.
#[unsafe(no_mangle)]
pub extern "C" fn cuKernelSetCacheConfig(handle: Handle, config: c_int, device: c_int) -> Code {
    call("cuKernelSetCacheConfig", || {
        on(handle, device)?;
        check_cache_config(config)
    })
}

/// Returns the offset and the size of a kernel parameter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuKernelGetParamInfo(
    handle: Handle,
    index: usize,
    offset: *mut usize,
    bytes: *mut usize,
) -> Code {
    call("cuKernelGetParamInfo", || parameter(&here(handle)?.1, index, offset, bytes))
}
