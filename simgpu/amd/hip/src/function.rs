//! Kernel attributes.

use crate::Code;
use crate::card::LOCAL_BYTES_PER_GROUP;
use crate::error::{bail, call, put};
use crate::module::{Function, function};
use crate::process::process;
use crate::registered;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_int, c_void};

/// `hipFuncAttributes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct FuncAttributes {
    /// The version of the architecture: ten times major plus minor.
    pub binary_version: c_int,
    /// 0: no cache is preferred.
    pub cache_mode: c_int,
    /// The size of the kernel's own constants in bytes.
    pub const_bytes: usize,
    /// Private memory per thread in bytes.
    pub local_bytes: usize,
    /// The largest dynamic shared memory per block in bytes.
    pub max_dynamic_shared_bytes: c_int,
    /// The largest number of threads per block.
    pub max_threads: c_int,
    /// The number of vector registers.
    pub registers: c_int,
    /// The shared memory carve-out. These cards have none, so it is never set.
    pub carveout: c_int,
    /// The same as `binary_version`.
    pub ptx_version: c_int,
    /// The shared memory that the kernel declares, in bytes.
    pub shared_bytes: usize,
}

fn attributes(function: &Function) -> FuncAttributes {
    let kernel = &function.kernel;
    FuncAttributes {
        binary_version: 30,
        cache_mode: 0,
        const_bytes: 0,
        local_bytes: kernel.private_bytes as usize,
        max_dynamic_shared_bytes: LOCAL_BYTES_PER_GROUP.saturating_sub(kernel.lds_bytes) as c_int,
        max_threads: kernel.max_threads as c_int,
        registers: kernel.vgprs as c_int,
        carveout: 0,
        ptx_version: 30,
        shared_bytes: kernel.lds_bytes as usize,
    }
}

/// Writes the attributes of the kernel that is registered for a host function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipFuncGetAttributes(to: *mut FuncAttributes, host: *const c_void) -> Code {
    call("hipFuncGetAttributes", || {
        let function = registered::function(process()?, host)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, attributes(&function), "the attributes") }
    })
}

/// Writes an attribute of a kernel, by HIP's `hipFunction_attribute`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipFuncGetAttribute(to: *mut c_int, attribute: c_int, handle: Handle) -> Code {
    call("hipFuncGetAttribute", || {
        let all = attributes(&*function(process()?, handle)?);
        let value = match attribute {
            0 => all.max_threads,
            1 => all.shared_bytes as c_int,
            2 => all.const_bytes as c_int,
            3 => all.local_bytes as c_int,
            4 => all.registers,
            5 => all.ptx_version,
            6 => all.binary_version,
            7 => all.cache_mode,
            8 => all.max_dynamic_shared_bytes,
            9 => all.carveout,
            _ => bail!(INVALID_VALUE, "{attribute} is no attribute of kernels"),
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, value, "the value") }
    })
}

/// Sets an attribute of the kernel that is registered for a host function. 8 is the dynamic shared
/// memory in bytes, which needs no opt-in here up to the limit. 9 is the carve-out, which is only a
/// hint.
#[unsafe(no_mangle)]
pub extern "C" fn hipFuncSetAttribute(host: *const c_void, attribute: c_int, value: c_int) -> Code {
    call("hipFuncSetAttribute", || {
        let most = attributes(&*registered::function(process()?, host)?).max_dynamic_shared_bytes;
        match attribute {
            8 if (0..=most).contains(&value) => Ok(()),
            8 => bail!(INVALID_VALUE, "{value} bytes of dynamic shared memory; {most} are the most"),
            9 => Ok(()),
            _ => bail!(INVALID_VALUE, "{attribute} is no attribute that can be set"),
        }
    })
}

/// Sets the cache that a kernel prefers. These cards have no such choice, so it has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn hipFuncSetCacheConfig(host: *const c_void, config: c_int) -> Code {
    call("hipFuncSetCacheConfig", || {
        registered::function(process()?, host)?;
        if !(0..=3).contains(&config) {
            bail!(INVALID_VALUE, "{config} is no preference of caches");
        }
        Ok(())
    })
}
