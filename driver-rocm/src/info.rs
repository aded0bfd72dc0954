//! Device properties: limits, names, versions.

use crate::compile;
use crate::context::device_count;
use crate::error::check;
use crate::library::{HIP, HIPRTC, MIOPEN, ROCBLAS, ROCRAND};
use crate::{blas, dnn, rng};
use hip_sys::*;
use isobit_hal::{ComputeCapability, DeviceInfo, Error, ErrorKind, LibraryInfo, Result};
use isobit_kernels::{Limits, add_loaded, device_info};
use std::ffi::{CStr, c_int};

/// HIP's limit on grid times block along each dimension, from the documentation of
/// `hipModuleLaunchKernel`.
pub(crate) const MAX_THREADS_PER_DIM: u64 = 1 << 32;

fn attribute(hip: &Hip, device: c_int, attribute: hipDeviceAttribute_t) -> Result<u32> {
    let mut value = 0;
    // SAFETY: the out-parameter is a valid pointer, and the bindings define the attribute.
    let code = unsafe { (hip.hipDeviceGetAttribute)(&mut value, attribute, device) };
    check(code, "querying an attribute of the device")?;
    Ok(value as u32)
}

pub(crate) fn limits(hip: &Hip, device: c_int) -> Result<Limits> {
    let get = |a| attribute(hip, device, a);
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

/// Returns the architecture with its features, such as `gfx90a:sramecc+:xnack-`.
pub(crate) fn arch(hip: &Hip, device: c_int) -> Result<String> {
    // Made of eight-byte words, because the struct has members with that alignment.
    let mut words = [0u64; PROPERTIES_BYTES / 8];
    let buffer = words.as_mut_ptr();
    // SAFETY: the buffer is larger than the struct of any release, and has its alignment.
    let (layout, code) = unsafe {
        match (hip.hipGetDevicePropertiesR0600, hip.hipGetDeviceProperties) {
            (Some(get), _) => (R0600, get(buffer.cast(), device)),
            (None, Some(get)) => (R0000, get(buffer.cast(), device)),
            (None, None) => {
                let message =
                    "HIP on this machine has no hipGetDeviceProperties, which is the only source of the architecture";
                return Err(Error::new(ErrorKind::LibraryUnavailable, message));
            }
        }
    };
    check(code, "querying the device's properties")?;
    // SAFETY: any bytes are valid `u8`s, and both arrays have the same size.
    let bytes = unsafe { &*buffer.cast::<[u8; PROPERTIES_BYTES]>() };
    layout.arch_name_in(bytes).map(str::to_string).ok_or_else(|| {
        let file = HIP.path().unwrap_or_else(|| hip.file().display().to_string());
        let message = format!(
            "{file} (HIP {}) does not return the architecture at the offset of ROCm 5, 6 and 7; this release of ROCm is not supported",
            runtime_version(hip).unwrap_or_else(|e| e.to_string())
        );
        Error::new(ErrorKind::LibraryUnavailable, message)
    })
}

/// Returns the numbers in an architecture's name, which are hexadecimal digits; the last two are
/// variant and stepping. Returns `None` if the name is not that of a device, for example that of a
/// family.
fn capability(arch: &str) -> Option<ComputeCapability> {
    let digits = arch.split(':').next()?.strip_prefix("gfx")?;
    let (major, rest) = digits.split_at_checked(digits.len().checked_sub(2)?)?;
    let (minor, stepping) = rest.split_at_checked(1)?;
    let number = |text, radix| u32::from_str_radix(text, radix).ok();
    Some(ComputeCapability::Gfx {
        major: number(major, 10)?,
        minor: number(minor, 16)?,
        stepping: number(stepping, 16)?,
    })
}

fn memory_total(hip: &Hip, device: c_int) -> Result<u64> {
    let mut bytes = 0;
    // SAFETY: the out-parameter is a valid pointer.
    check(unsafe { (hip.hipDeviceTotalMem)(&mut bytes, device) }, "querying the device's memory")?;
    Ok(bytes as u64)
}

fn name(hip: &Hip, device: c_int) -> Result<String> {
    let mut name = [0; 256];
    // SAFETY: HIP writes at most 255 characters and a NUL.
    unsafe {
        check((hip.hipDeviceGetName)(name.as_mut_ptr(), 255, device), "querying the device's name")?;
        Ok(CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned())
    }
}

/// Formats HIP's version number.
fn version_text(version: c_int) -> String {
    format!("{}.{}.{}", version / 10_000_000, version / 100_000 % 100, version % 100_000)
}

pub(crate) fn runtime_version(hip: &Hip) -> Result<String> {
    let mut version = 0;
    // SAFETY: the out-parameter is a valid pointer.
    check(unsafe { (hip.hipRuntimeGetVersion)(&mut version) }, "querying the runtime's version")?;
    Ok(version_text(version))
}

fn driver_version(hip: &Hip) -> Result<String> {
    let mut version = 0;
    // SAFETY: the out-parameter is a valid pointer.
    check(unsafe { (hip.hipDriverGetVersion)(&mut version) }, "querying the driver's version")?;
    let hip = format!("HIP {}", version_text(version));
    // The version by which the driver is commonly known is that of its kernel module; the file
    // exists if the driver is AMD's own for Linux and not the kernel's.
    let module = std::fs::read_to_string("/sys/module/amdgpu/version").ok();
    Ok(match module {
        Some(module) => format!("{} ({hip})", module.trim()),
        None => hip,
    })
}

/// Returns everything that is known of a device without allocating on it.
pub(crate) fn describe(hip: &Hip, device: c_int) -> Result<DeviceInfo> {
    let arch = arch(hip, device)?;
    let mut info = device_info("rocm", HIP.path().as_deref(), &arch, limits(hip, device)?);
    info.name = name(hip, device)?;
    info.memory_total = memory_total(hip, device)?;
    info.compute_capability = capability(&arch);
    info.driver_version = driver_version(hip)?;
    info.libraries.push(LibraryInfo::new("HIP runtime", runtime_version(hip)?, HIP.path()));
    if let Ok(version) = compile::version() {
        info.libraries.push(LibraryInfo::new("HIPRTC", version, HIPRTC.path().or_else(|| HIP.path())));
        info.capabilities.runtime_compile = true;
    }
    add_loaded(&mut info, "rocBLAS", ROCBLAS.path(), blas::version);
    add_loaded(&mut info, "MIOpen", MIOPEN.path(), dnn::version);
    add_loaded(&mut info, "rocRAND", ROCRAND.path(), rng::version);
    info.capabilities.vendor_matmul = ROCBLAS.is_there();
    info.capabilities.vendor_conv = MIOPEN.is_there();
    info.capabilities.vendor_random = ROCRAND.is_there();
    Ok(info)
}

/// Returns every device without opening any.
pub(crate) fn all() -> Result<Vec<DeviceInfo>> {
    let hip = HIP.require()?;
    (0..device_count()?).map(|ordinal| describe(hip, ordinal as c_int)).collect()
}

#[cfg(test)]
mod tests {
    use super::{ComputeCapability, capability, version_text};

    #[test]
    fn architectures_are_numbered_as_amd_names_them() {
        // The numbers are from LLVM's own table: https://llvm.org/docs/AMDGPUUsage.html#processors.
        for (arch, major, minor, stepping) in [
            ("gfx900", 9, 0, 0),
            ("gfx90a:sramecc+:xnack-", 9, 0, 10),
            ("gfx90c", 9, 0, 12),
            ("gfx942:sramecc+:xnack-", 9, 4, 2),
            ("gfx1030", 10, 3, 0),
            ("gfx1151", 11, 5, 1),
            ("gfx1201", 12, 0, 1),
        ] {
            assert_eq!(capability(arch), Some(ComputeCapability::Gfx { major, minor, stepping }), "{arch}");
            assert_eq!(capability(arch).unwrap().to_string(), arch.split(':').next().unwrap());
        }
        for other in ["", "gfx", "gfx9", "gfx90", "gfx9-4-generic", "sm_90", "gfx90é"] {
            assert_eq!(capability(other), None, "{other}");
        }
    }

    #[test]
    fn versions_are_read_as_hip_numbers_them() {
        assert_eq!(version_text(50_221_153), "5.2.21153");
        assert_eq!(version_text(60_242_134), "6.2.42134");
        assert_eq!(version_text(70_053_211), "7.0.53211");
    }
}
