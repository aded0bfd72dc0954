//! The host as a device.

use super::CpuStorage;
use crate::{
    BackendDevice, DType, DeviceId, DeviceInfo, DeviceLocation, Error, ErrorKind, Op, RandomState, Result, Shape,
    Support,
};
use std::sync::OnceLock;

/// The host CPU as a device. There is only one, so all handles are equal. It always uses the
/// portable numerics, even if a call names [`Numerics::Vendor`](crate::Numerics::Vendor).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuDevice;

impl CpuDevice {
    pub(super) const INSTANCE: &'static CpuDevice = &CpuDevice;
}

/// Returns the first value of `name` in a Linux `/proc` file with lines of the form `name : value`.
fn proc_field(path: &str, name: &str) -> Option<String> {
    let table = std::fs::read_to_string(path).ok()?;
    let (_, value) = table.lines().filter_map(|line| line.split_once(':')).find(|(n, _)| n.trim() == name)?;
    Some(value.trim().to_string())
}

/// Returns a field of `/proc/meminfo` in bytes, or 0 if it is missing.
fn memory(name: &str) -> u64 {
    let kib = proc_field("/proc/meminfo", name).and_then(|v| v.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

impl BackendDevice for CpuDevice {
    type Storage = CpuStorage;

    fn new(ordinal: usize) -> Result<Self> {
        if ordinal == 0 {
            return Ok(CpuDevice);
        }
        Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("there is only one CPU device, cpu:0; cpu:{ordinal} does not exist"),
        ))
    }

    fn id(&self) -> DeviceId {
        static ID: OnceLock<DeviceId> = OnceLock::new();
        *ID.get_or_init(DeviceId::new)
    }

    fn location(&self) -> DeviceLocation {
        DeviceLocation { driver: "cpu", ordinal: 0 }
    }

    fn info(&self) -> Result<DeviceInfo> {
        Ok(DeviceInfo {
            driver: "cpu".into(),
            name: proc_field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown CPU".into()),
            arch: super::vector::arch(),
            warp_size: 1,
            multiprocessors: std::thread::available_parallelism().map_or(1, |n| n.get()),
            memory_total: memory("MemTotal"),
            memory_free: memory("MemAvailable"),
            driver_version: env!("CARGO_PKG_VERSION").into(),
            ..Default::default()
        })
    }

    fn supports(&self, op: &Op, dtypes: &[DType]) -> Support {
        op.check_dtypes(dtypes).into()
    }

    unsafe fn alloc_uninit(&self, shape: &Shape, dtype: DType) -> Result<CpuStorage> {
        CpuStorage::zeros(shape.elem_count(), dtype)
    }

    fn storage_from_bytes(&self, dtype: DType, bytes: &[u8]) -> Result<CpuStorage> {
        CpuStorage::from_bytes(dtype, bytes)
    }

    fn storage_from_cpu_storage_owned(&self, storage: CpuStorage) -> Result<CpuStorage> {
        Ok(storage)
    }

    fn random_state(&self) -> Option<&RandomState> {
        static STATE: OnceLock<RandomState> = OnceLock::new();
        Some(STATE.get_or_init(RandomState::default))
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}
