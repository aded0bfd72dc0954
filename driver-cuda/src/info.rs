//! Device properties: limits, names, versions.

use crate::compile;
use crate::context::{device_count, device_of};
use crate::error::check;
use crate::library::{CUBLAS, CUDNN, CURAND, DRIVER, NVRTC};
use crate::{blas, dnn, rng};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use isobit_hal::{ComputeCapability, DeviceInfo, LibraryInfo, Result};
use isobit_kernels::{Limits, add_loaded, device_info};
use std::ffi::CStr;

fn attribute(device: sys::CUdevice, attribute: Attribute) -> Result<u32> {
    let mut value = 0;
    // SAFETY: the out-parameter is a valid pointer, and the bindings define the attribute.
    let code = unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) };
    check(code, "querying an attribute of the device")?;
    Ok(value as u32)
}

pub(crate) fn limits(device: sys::CUdevice) -> Result<Limits> {
    use Attribute::*;
    Ok(Limits {
        warp_size: attribute(device, CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
        multiprocessors: attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        max_threads_per_block: attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_threads_per_multiprocessor: attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        shared_memory_per_block: attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        max_grid_x: attribute(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
        max_grid_yz: attribute(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
        max_threads_per_dim: u64::MAX,
        l2_bytes: attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
    })
}

/// Returns the maximum bytes of shared memory that a block can request.
pub(crate) fn shared_memory_per_block_optin(device: sys::CUdevice) -> Result<u32> {
    attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
}

fn capability(device: sys::CUdevice) -> Result<ComputeCapability> {
    let major = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(ComputeCapability::Cuda { major, minor })
}

pub(crate) fn arch(device: sys::CUdevice) -> Result<String> {
    capability(device).map(|capability| capability.to_string())
}

fn memory_total(device: sys::CUdevice) -> Result<u64> {
    let mut bytes = 0;
    // SAFETY: the out-parameter is a valid pointer.
    check(unsafe { sys::cuDeviceTotalMem_v2(&mut bytes, device) }, "querying the device's memory")?;
    Ok(bytes as u64)
}

fn name(device: sys::CUdevice) -> Result<String> {
    let mut name = [0; 256];
    // SAFETY: the driver writes at most 255 characters and a NUL.
    unsafe {
        check(sys::cuDeviceGetName(name.as_mut_ptr(), 255, device), "querying the device's name")?;
        Ok(CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned())
    }
}

fn driver_version() -> Result<String> {
    let mut version = 0;
    // SAFETY: the out-parameter is a valid pointer.
    check(unsafe { sys::cuDriverGetVersion(&mut version) }, "querying the driver's version")?;
    let cuda = format!("CUDA {}.{}", version / 1000, version % 1000 / 10);
    // The version by which the driver is commonly known is that of its kernel module; the file
    // exists if the driver is NVIDIA's own for Linux.
    let module = std::fs::read_to_string("/sys/module/nvidia/version").ok();
    Ok(match module {
        Some(module) => format!("{} ({cuda})", module.trim()),
        None => cuda,
    })
}

/// Returns everything that is known of a device without a context on it.
pub(crate) fn describe(device: sys::CUdevice) -> Result<DeviceInfo> {
    let mut info = device_info("cuda", DRIVER.path().as_deref(), &arch(device)?, limits(device)?);
    info.name = name(device)?;
    info.memory_total = memory_total(device)?;
    info.compute_capability = Some(capability(device)?);
    info.driver_version = driver_version()?;
    info.libraries.push(LibraryInfo::new("CUDA driver", info.driver_version.clone(), DRIVER.path()));
    if let Ok(version) = compile::version() {
        info.libraries.push(LibraryInfo::new("NVRTC", version, NVRTC.path()));
        info.capabilities.runtime_compile = true;
    }
    add_loaded(&mut info, "cuBLAS", CUBLAS.path(), blas::version);
    add_loaded(&mut info, "cuDNN", CUDNN.path(), dnn::version);
    add_loaded(&mut info, "cuRAND", CURAND.path(), rng::version);
    info.capabilities.vendor_matmul = CUBLAS.is_there();
    info.capabilities.vendor_conv = CUDNN.is_there();
    info.capabilities.vendor_attention = CUDNN.is_there();
    info.capabilities.vendor_random = CURAND.is_there();
    Ok(info)
}

/// Returns every device without opening any.
pub(crate) fn all() -> Result<Vec<DeviceInfo>> {
    (0..device_count()?).map(|ordinal| describe(device_of(ordinal)?)).collect()
}
