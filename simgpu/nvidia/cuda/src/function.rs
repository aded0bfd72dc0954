//! Attributes of kernels.

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

/// What callers may set of a kernel.
#[derive(Debug)]
pub(crate) struct Attributes {
    /// Bytes of dynamic shared memory that a launch may ask for.
    pub(crate) dynamic_shared: AtomicU32,
    /// A wish: per cent of the cache that is shared memory.
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

/// An attribute of a kernel, by `CUfunction_attribute`.
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
        // Whether global loads may be cached in L1 was asked for.
        7 => 0,
        DYNAMIC_SHARED => function.attributes.dynamic_shared.load(Ordering::Relaxed),
        CARVEOUT => return Ok(function.attributes.carveout.load(Ordering::Relaxed)),
        // There are no clusters.
        attribute if CLUSTERS.contains(&attribute) => 0,
        _ => bail!(INVALID_VALUE, "{attribute} is no attribute of kernels"),
    };
    Ok(value as c_int)
}

/// Sets an attribute of a kernel.
pub(crate) fn set_attribute(process: &Process, function: &Function, attribute: c_int, value: c_int) -> Result {
    let card = process.cards[function.context.device].card;
    let most = card.arch.shared_bytes().saturating_sub(function.kernel.shared_bytes) as c_int;
    match attribute {
        DYNAMIC_SHARED if (0..=most).contains(&value) => {
            function.attributes.dynamic_shared.store(value as u32, Ordering::Relaxed);
        }
        DYNAMIC_SHARED => bail!(INVALID_VALUE, "{value} bytes of dynamic shared memory; {most} are the most"),
        CARVEOUT if (-1..=100).contains(&value) => function.attributes.carveout.store(value, Ordering::Relaxed),
        CARVEOUT => bail!(INVALID_VALUE, "{value} per cent of the cache"),
        _ => bail!(INVALID_VALUE, "{attribute} is no attribute that can be set"),
    }
    Ok(())
}

/// An attribute of a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetAttribute(to: *mut c_int, number: c_int, handle: Handle) -> Code {
    call("cuFuncGetAttribute", || {
        let process = process()?;
        let value = attribute(process, &*function(process, handle)?, number)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, value, "the value") }
    })
}

/// Sets an attribute of a kernel: bytes of dynamic shared memory that its launches may ask for, or
/// the carve-out, a wish.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(handle: Handle, attribute: c_int, value: c_int) -> Code {
    call("cuFuncSetAttribute", || {
        let process = process()?;
        set_attribute(process, &*function(process, handle)?, attribute, value)
    })
}

/// Says which cache a kernel prefers, which is a wish.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetCacheConfig(handle: Handle, config: c_int) -> Code {
    call("cuFuncSetCacheConfig", || {
        function(process()?, handle)?;
        check_cache_config(config)
    })
}

/// Wishes for a width of banks, which is not to be had.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetSharedMemConfig(handle: Handle, config: c_int) -> Code {
    call("cuFuncSetSharedMemConfig", || {
        function(process()?, handle)?;
        if !(0..=2).contains(&config) {
            bail!(INVALID_VALUE, "{config} is no width of banks");
        }
        Ok(())
    })
}

/// The name of a kernel, which stays as long as its module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetName(to: *mut *const c_char, handle: Handle) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuFuncGetName", || unsafe { put(to, function(process()?, handle)?.name.as_ptr(), "the name") })
}

/// The module of a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetModule(to: *mut Handle, handle: Handle) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuFuncGetModule", || unsafe { put(to, function(process()?, handle)?.module as Handle, "the module") })
}

/// Whether a kernel is loaded: 1, always.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncIsLoaded(to: *mut c_int, handle: Handle) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuFuncIsLoaded", || unsafe { function(process()?, handle).and_then(|_| put(to, 1, "the answer")) })
}

/// Loads a kernel, which it is.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncLoad(handle: Handle) -> Code {
    call("cuFuncLoad", || function(process()?, handle).map(drop))
}

/// Where a parameter of a kernel is among its arguments, and its size.
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

/// Where a parameter of a kernel is among its arguments, and its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetParamInfo(
    handle: Handle,
    index: usize,
    offset: *mut usize,
    bytes: *mut usize,
) -> Code {
    call("cuFuncGetParamInfo", || parameter(&*function(process()?, handle)?, index, offset, bytes))
}
