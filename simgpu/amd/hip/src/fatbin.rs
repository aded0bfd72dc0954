//! The functions that HIP compilers generate calls to: registration of fat binaries, and launches
//! by host function.

use crate::Code;
use crate::error::{Result, bail, call, put, text};
use crate::image;
use crate::launch::{Dim3, launch};
use crate::module::LoadedModule;
use crate::process::{Process, process};
use crate::registered::{REGISTERED, function};
use isobit_simgpu_runtime_common::handles::Handle;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

/// A bundle of code objects in a program's or library's data, and the modules loaded from it per
/// card.
#[derive(Debug)]
pub(crate) struct FatBinary {
    /// The address of the bundle.
    image: usize,
    modules: Mutex<HashMap<usize, Result<Arc<LoadedModule>>>>,
}

impl FatBinary {
    /// Returns the code for a card; the first call loads it.
    pub(crate) fn module(&self, process: &Process, device: usize) -> Result<Arc<LoadedModule>> {
        let mut modules = self.modules.lock();
        let load = || {
            // SAFETY: the program that registered the bundle keeps it until it is unregistered, and
            // then this value is dropped.
            let image = unsafe { image::bytes(self.image as *const c_void) }?;
            LoadedModule::load(process, device, image).map(Arc::new)
        };
        modules.entry(device).or_insert_with(load).clone()
    }
}

/// The structure that a compiler puts around a bundle.
#[repr(C)]
pub struct Wrapper {
    magic: u32,
    version: u32,
    binary: *const c_void,
    unused: *const c_void,
}

/// "HIPF".
const WRAPPER_MAGIC: u32 = 0x4849_5046;

/// Registers a fat binary. Returns null if it is not valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipRegisterFatBinary(wrapper: *const Wrapper) -> *mut *mut c_void {
    let mut handle: Handle = std::ptr::null_mut();
    call("__hipRegisterFatBinary", || {
        if wrapper.is_null() {
            bail!(INVALID_VALUE, "the binary is null");
        }
        // SAFETY: the pointer is not null, and the compiler generates it as required.
        let wrapper = unsafe { wrapper.read_unaligned() };
        if wrapper.magic != WRAPPER_MAGIC || wrapper.version != 1 {
            bail!(INVALID_IMAGE, "a binary with magic {:#x}, version {}", wrapper.magic, wrapper.version);
        }
        let binary = FatBinary { image: wrapper.binary as usize, modules: Mutex::default() };
        handle = REGISTERED.binaries.add(Arc::new(binary));
        Ok(())
    });
    handle.cast()
}

/// Unregisters a fat binary with its kernels and variables.
#[unsafe(no_mangle)]
pub extern "C" fn __hipUnregisterFatBinary(handle: *mut *mut c_void) {
    call("__hipUnregisterFatBinary", || {
        match REGISTERED.binaries.remove(handle.cast()) {
            Some(binary) => REGISTERED.remove(&binary),
            None => bail!(INVALID_HANDLE, "{handle:p} is not a fat binary"),
        }
        Ok(())
    });
}

fn binary(handle: *mut *mut c_void) -> Result<Arc<FatBinary>> {
    match REGISTERED.binaries.get(handle.cast()) {
        Some(binary) => Ok(binary),
        None => bail!(INVALID_HANDLE, "{handle:p} is not a fat binary"),
    }
}

/// Registers a host function for a kernel. The limits and sizes that old compilers passed are
/// ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipRegisterFunction(
    handle: *mut *mut c_void,
    host: *const c_void,
    _function: *mut c_char,
    name: *const c_char,
    _threads: c_uint,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_size: *mut Dim3,
    _grid_size: *mut Dim3,
    _wave: *mut c_int,
) {
    call("__hipRegisterFunction", || {
        // SAFETY: the compiler passes a valid string.
        let name = unsafe { text(name, "the name") }?;
        REGISTERED.add_function(host, binary(handle)?, name.to_owned());
        Ok(())
    });
}

/// Registers a host variable for a device variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipRegisterVar(
    handle: *mut *mut c_void,
    host: *mut c_void,
    _host_name: *mut c_char,
    name: *mut c_char,
    _external: c_int,
    _bytes: usize,
    _constant: c_int,
    _global: c_int,
) {
    call("__hipRegisterVar", || {
        // SAFETY: the compiler passes a valid string.
        let name = unsafe { text(name, "the name") }?;
        REGISTERED.add_variable(host, binary(handle)?, name.to_owned());
        Ok(())
    });
}

/// The configuration of the next launch.
#[derive(Debug, Clone, Copy)]
struct Configuration {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Handle,
}

thread_local! {
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// Saves the configuration of a launch for the stub function that the compiler generates for the
/// kernel.
#[unsafe(no_mangle)]
pub extern "C" fn __hipPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: Handle) -> Code {
    call("__hipPushCallConfiguration", || {
        CONFIGURATIONS.with_borrow_mut(|all| all.push(Configuration { grid, block, shared, stream }));
        Ok(())
    })
}

/// Returns the configuration that was saved last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared: *mut usize,
    stream: *mut Handle,
) -> Code {
    call("__hipPopCallConfiguration", || {
        let Some(kept) = CONFIGURATIONS.with_borrow_mut(Vec::pop) else {
            bail!(MISSING_CONFIGURATION, "no launch is configured");
        };
        // SAFETY: the compiler passes valid pointers.
        unsafe {
            put(grid, kept.grid, "the grid")?;
            put(block, kept.block, "the block")?;
            put(shared, kept.shared, "the shared memory")?;
            put(stream, kept.stream, "the stream")
        }
    })
}

/// Launches the kernel that is registered for a host function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipLaunchKernel(
    host: *const c_void,
    grid: Dim3,
    block: Dim3,
    params: *mut *mut c_void,
    shared: usize,
    stream: Handle,
) -> Code {
    call("hipLaunchKernel", || {
        let function = function(process()?, host)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { launch(function, host, grid, block, shared, stream, params, std::ptr::null_mut()) }
    })
}
