//! What a device is: limits, names, versions.

use crate::compile;
use crate::error::check;
use crate::library::{CUBLAS, CUDNN, CURAND, DRIVER, NVRTC};
use crate::memory;
use crate::runtime::Context;
use crate::{dnn, rng};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use isobit_hal::{DeviceInfo, LibraryInfo, Result};
use isobit_kernels::{Limits, device_info};
use std::ffi::CStr;

fn attribute(device: sys::CUdevice, attribute: Attribute) -> Result<u32> {
    let mut value = 0;
    // SAFETY: an out-parameter; the attribute is one the bindings name.
    let code = unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) };
    check(code, "asking for an attribute of the device")?;
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

pub(crate) fn arch(device: sys::CUdevice) -> Result<String> {
    let major = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(format!("sm_{major}{minor}"))
}

fn name(device: sys::CUdevice) -> Result<String> {
    let mut name = [0; 256];
    // SAFETY: the driver writes at most 255 characters and a NUL.
    unsafe {
        check(sys::cuDeviceGetName(name.as_mut_ptr(), 255, device), "asking for the device's name")?;
        Ok(CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned())
    }
}

fn driver_version() -> Result<String> {
    let mut version = 0;
    // SAFETY: an out-parameter.
    check(unsafe { sys::cuDriverGetVersion(&mut version) }, "asking for the driver's version")?;
    let cuda = format!("CUDA {}.{}", version / 1000, version % 1000 / 10);
    // The kernel module's own version, as people know it; there where the driver is NVIDIA's own for Linux.
    let module = std::fs::read_to_string("/sys/module/nvidia/version").ok();
    Ok(match module {
        Some(module) => format!("{} ({cuda})", module.trim()),
        None => cuda,
    })
}

pub(crate) fn info(context: &Context, limits: &Limits, arch: &str, blas: Option<String>) -> Result<DeviceInfo> {
    let mut info = device_info("cuda", arch, limits, memory::free_and_total(context)?);
    info.name = name(context.device())?;
    info.driver_version = driver_version()?;
    info.libraries.push(LibraryInfo::new("CUDA driver", info.driver_version.clone(), DRIVER.path()));
    if let Ok(version) = compile::version() {
        info.libraries.push(LibraryInfo::new("NVRTC", version, NVRTC.path()));
    }
    if let Some(version) = blas {
        info.libraries.push(LibraryInfo::new("cuBLAS", version, CUBLAS.path()));
    }
    // Those that nothing has used are not opened for the sake of a version: cuDNN takes half a gigabyte.
    if let (Some(path), Ok(version)) = (CUDNN.path(), dnn::version()) {
        info.libraries.push(LibraryInfo::new("cuDNN", version, Some(path)));
    }
    if let (Some(path), Ok(version)) = (CURAND.path(), rng::version()) {
        info.libraries.push(LibraryInfo::new("cuRAND", version, Some(path)));
    }
    Ok(info)
}
