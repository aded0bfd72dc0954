//! Kernel attributes.

use crate::Code;
use crate::card::SHARED_PER_BLOCK;
use crate::context::check_cache_config;
use crate::error::{Result, bail, call, put, put_if_wanted};
use crate::module::{Function, function};
use crate::process::{Process, process};
use isobit_simgpu_nvidia::module::Kernel;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// The attributes of a kernel that callers can set.
#[derive(Debug)]
pub(crate) struct Attributes {
    /// Maximum bytes of dynamic shared memory that a launch may request.
    pub(crate) dynamic_shared: AtomicU32,
    /// The preferred percentage of the cache that is used as shared memory. It is only a hint.
    carveout: AtomicI32,
}

impl Attributes {
    pub(crate) fn new(kernel: &Kernel) -> Self {
        let dynamic = SHARED_PER_BLOCK.saturating_sub(kernel.shared_bytes);
        Self { dynamic_shared: AtomicU32::new(dynamic), carveout: AtomicI32::new(-1) }
    }
}

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const DYNAMIC_SHARED: c_int = 8;
/// `CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT`.
const CARVEOUT: c_int = 9;
/// `CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET` to `CLUSTER_SCHEDULING_POLICY_PREFERENCE`.
const CLUSTERS: std::ops::RangeInclusive<c_int> = 10..=15;

/// Returns a kernel attribute, by `CUfunction_attribute`.
pub(crate) fn attribute(process: &Process, function: &Function, attribute: c_int) -> Result<c_int> {
    let kernel = &function.kernel;
    let (major, minor) = process.cards[function.context.device].card.arch.compute_capability();
    let value = match attribute {
        0 => kernel.max_threads,
        1 => kernel.shared_bytes,
        2 => kernel.const_bytes,
        3 => kernel.local_bytes,
        4 => kernel.registers,
        5 => kernel.ptx_version,
        6 => 10 * major + minor,
        // Whether the kernel was compiled to cache global loads in L1.
        7 => 0,
        DYNAMIC_SHARED => function.attributes.dynamic_shared.load(Ordering::Relaxed),
        CARVEOUT => return Ok(function.attributes.carveout.load(Ordering::Relaxed)),
        // Clusters are not supported.
        attribute if CLUSTERS.contains(&attribute) => 0,
        _ => bail!(INVALID_VALUE, "{attribute} is no attribute of kernels"),
    };
    Ok(value as c_int)
}

/// Sets a kernel attribute.
pub(crate) fn set_attribute(process: &Process, function: &Function, attribute: c_int, value: c_int) -> Result {
    let card = process.cards[function.context.device].card;
    let most = card.arch.shared_bytes().saturating_sub(function.kernel.shared_bytes) as c_int;
    match attribute {
        DYNAMIC_SHARED if (0..=most).contains(&value) => {
            function.attributes.dynamic_shared.store(value as u32, Ordering::Relaxed);
        }
        DYNAMIC_SHARED => bail!(INVALID_VALUE, "{value} bytes of dynamic shared memory; {most} are the most"),
        CARVEOUT if (-1..=100).contains(&value) => function.attributes.carveout.store(value, Ordering::Relaxed),
        CARVEOUT => bail!(INVALID_VALUE, "a carve-out of {value} percent is out of range"),
        _ => bail!(INVALID_VALUE, "{attribute} is no attribute that can be set"),
    }
    Ok(())
}

/// Returns a kernel attribute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetAttribute(to: *mut c_int, number: c_int, handle: Handle) -> Code {
    call("cuFuncGetAttribute", || {
        let process = process()?;
        let value = attribute(process, &*function(process, handle)?, number)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, value, "the value") }
    })
}

/// Sets a kernel attribute: the maximum bytes of dynamic shared memory that launches may request,
/// or the carve-out, which is only a hint.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(handle: Handle, attribute: c_int, value: c_int) -> Code {
    call("cuFuncSetAttribute", || {
        let process = process()?;
        set_attribute(process, &*function(process, handle)?, attribute, value)
    })
}

/// Sets the cache preference of a kernel, which is only a hint.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetCacheConfig(handle: Handle, config: c_int) -> Code {
    call("cuFuncSetCacheConfig", || {
        function(process()?, handle)?;
        check_cache_config(config)
    })
}

/// Requests a bank width; the request has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetSharedMemConfig(handle: Handle, config: c_int) -> Code {
    call("cuFuncSetSharedMemConfig", || {
        function(process()?, handle)?;
        if !(0..=2).contains(&config) {
            bail!(INVALID_VALUE, "{config} is not a bank width");
        }
        Ok(())
    })
}

/// Returns the name of a kernel. The string lives as long as the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetName(to: *mut *const c_char, handle: Handle) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuFuncGetName", || unsafe { put(to, function(process()?, handle)?.name.as_ptr(), "the name") })
}

/// Returns the module of a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetModule(to: *mut Handle, handle: Handle) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuFuncGetModule", || unsafe { put(to, function(process()?, handle)?.module as Handle, "the module") })
}

/// Whether a kernel is loaded: always 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncIsLoaded(to: *mut c_int, handle: Handle) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuFuncIsLoaded", || unsafe { function(process()?, handle).and_then(|_| put(to, 1, "the answer")) })
}

/// Loads a kernel. Kernels are always loaded, so this does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncLoad(handle: Handle) -> Code {
    call("cuFuncLoad", || function(process()?, handle).map(drop))
}

/// Returns the offset and the size of a kernel parameter.
pub(crate) fn parameter(function: &Function, index: usize, offset: *mut usize, bytes: *mut usize) -> Result {
    let Some(argument) = function.kernel.arguments.get(index) else {
        bail!(INVALID_VALUE, "{} has no parameter {index}", function.kernel.name);
    };
    if offset.is_null() {
        bail!(INVALID_VALUE, "the pointer to the offset is null");
    }
    // SAFETY: the caller of CUDA promises room for both.
    unsafe {
        put_if_wanted(offset, argument.offset as usize);
        put_if_wanted(bytes, argument.bytes as usize);
    }
    Ok(())
}

/// Returns the offset and the size of a kernel parameter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetParamInfo(
    handle: Handle,
    index: usize,
    offset: *mut usize,
    bytes: *mut usize,
) -> Code {
    call("cuFuncGetParamInfo", || parameter(&*function(process()?, handle)?, index, offset, bytes))
}
