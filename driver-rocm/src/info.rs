//! What a device is: limits, names, versions.

use crate::compile;
use crate::error::check;
use crate::library::{HIP, HIPRTC, MIOPEN, ROCBLAS, ROCRAND};
use crate::memory;
use crate::runtime::Context;
use crate::{dnn, rng};
use hip_sys::*;
use isobit_hal::{DeviceInfo, Error, ErrorKind, LibraryInfo, Result};
use isobit_kernels::{Limits, device_info};
use std::ffi::{CStr, c_int};

/// HIP's limit on grid times block along each dimension, as its documentation of `hipModuleLaunchKernel` states it.
pub(crate) const MAX_THREADS_PER_DIM: u64 = 1 << 32;

fn attribute(context: &Context, attribute: hipDeviceAttribute_t) -> Result<u32> {
    let mut value = 0;
    // SAFETY: an out-parameter; the attribute is one the bindings name.
    let code = unsafe { (context.hip.hipDeviceGetAttribute)(&mut value, attribute, context.device()) };
    check(code, "asking for an attribute of the device")?;
    Ok(value as u32)
}

pub(crate) fn limits(context: &Context) -> Result<Limits> {
    let get = |a| attribute(context, a);
    Ok(Limits {
        warp_size: get(hipDeviceAttributeWarpSize)?,
        multiprocessors: get(hipDeviceAttributeMultiprocessorCount)?,
        max_threads_per_block: get(hipDeviceAttributeMaxThreadsPerBlock)?,
        max_threads_per_multiprocessor: get(hipDeviceAttributeMaxThreadsPerMultiProcessor)?,
        shared_memory_per_block: get(hipDeviceAttributeMaxSharedMemoryPerBlock)?,
        max_grid_x: get(hipDeviceAttributeMaxGridDimX)?,
        max_grid_yz: get(hipDeviceAttributeMaxGridDimY)?.min(get(hipDeviceAttributeMaxGridDimZ)?),
        max_threads_per_dim: MAX_THREADS_PER_DIM,
        l2_bytes: get(hipDeviceAttributeL2CacheSize)?.into(),
    })
}

/// The architecture with its features, `gfx90a:sramecc+:xnack-`.
pub(crate) fn arch(context: &Context) -> Result<String> {
    let (hip, device) = (context.hip, context.device());
    // Of eight-byte words, for the struct has members of that alignment.
    let mut words = [0u64; PROPERTIES_BYTES / 8];
    let buffer = words.as_mut_ptr();
    // SAFETY: the buffer is larger than the struct of any release, and aligned as it.
    let (layout, code) = unsafe {
        match (hip.hipGetDevicePropertiesR0600, hip.hipGetDeviceProperties) {
            (Some(get), _) => (R0600, get(buffer.cast(), device)),
            (None, Some(get)) => (R0000, get(buffer.cast(), device)),
            (None, None) => {
                let message = "HIP on this machine has no hipGetDeviceProperties, which alone tells the architecture";
                return Err(Error::new(ErrorKind::LibraryUnavailable, message));
            }
        }
    };
    check(code, "asking for the device's properties")?;
    // SAFETY: words as bytes: any of them is a u8, and the array has exactly as many.
    let bytes = unsafe { &*buffer.cast::<[u8; PROPERTIES_BYTES]>() };
    layout.arch_name_in(bytes).map(str::to_string).ok_or_else(|| {
        let file = HIP.path().unwrap_or_else(|| hip.file().display().to_string());
        let message = format!(
            "{file} (HIP {}) does not give the architecture where ROCm 5, 6 and 7 have it; this release of ROCm is not known here",
            runtime_version(hip).unwrap_or_else(|e| e.to_string())
        );
        Error::new(ErrorKind::LibraryUnavailable, message)
    })
}

fn name(context: &Context) -> Result<String> {
    let mut name = [0; 256];
    // SAFETY: HIP writes at most 255 characters and a NUL.
    unsafe {
        check(
            (context.hip.hipDeviceGetName)(name.as_mut_ptr(), 255, context.device()),
            "asking for the device's name",
        )?;
        Ok(CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned())
    }
}

/// HIP's number for a version, in its parts.
fn version_text(version: c_int) -> String {
    format!("{}.{}.{}", version / 10_000_000, version / 100_000 % 100, version % 100_000)
}

pub(crate) fn runtime_version(hip: &Hip) -> Result<String> {
    let mut version = 0;
    // SAFETY: an out-parameter.
    check(unsafe { (hip.hipRuntimeGetVersion)(&mut version) }, "asking for the runtime's version")?;
    Ok(version_text(version))
}

fn driver_version(hip: &Hip) -> Result<String> {
    let mut version = 0;
    // SAFETY: an out-parameter.
    check(unsafe { (hip.hipDriverGetVersion)(&mut version) }, "asking for the driver's version")?;
    let hip = format!("HIP {}", version_text(version));
    // The kernel module's own version, as people know it; there where the driver is AMD's own for Linux and not the kernel's.
    let module = std::fs::read_to_string("/sys/module/amdgpu/version").ok();
    Ok(match module {
        Some(module) => format!("{} ({hip})", module.trim()),
        None => hip,
    })
}

pub(crate) fn info(context: &Context, limits: &Limits, arch: &str, blas: Option<String>) -> Result<DeviceInfo> {
    let mut info = device_info("rocm", arch, limits, memory::free_and_total(context)?);
    info.name = name(context)?;
    info.driver_version = driver_version(context.hip)?;
    info.libraries.push(LibraryInfo::new("HIP runtime", runtime_version(context.hip)?, HIP.path()));
    if let Ok(version) = compile::version() {
        info.libraries.push(LibraryInfo::new("HIPRTC", version, HIPRTC.path().or_else(|| HIP.path())));
    }
    if let Some(version) = blas {
        info.libraries.push(LibraryInfo::new("rocBLAS", version, ROCBLAS.path()));
    }
    // Those that nothing has used are not opened for the sake of a version: MIOpen takes a gigabyte.
    if let (Some(path), Ok(version)) = (ROCRAND.path(), rng::version()) {
        info.libraries.push(LibraryInfo::new("rocRAND", version, Some(path)));
    }
    if let (Some(path), Ok(version)) = (MIOPEN.path(), dnn::version()) {
        info.libraries.push(LibraryInfo::new("MIOpen", version, Some(path)));
    }
    Ok(info)
}

#[cfg(test)]
mod tests {
    use super::version_text;

    #[test]
    fn versions_are_read_as_hip_numbers_them() {
        assert_eq!(version_text(50_221_153), "5.2.21153");
        assert_eq!(version_text(60_242_134), "6.2.42134");
        assert_eq!(version_text(70_053_211), "7.0.53211");
    }
}
