//! The host as a device.

use super::CpuStorage;
use crate::{BackendDevice, DType, DeviceId, DeviceInfo, DeviceLocation, Error, ErrorKind, Op, Result, Shape, Support};

/// The host. There is one, so every handle is the same device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuDevice;

impl CpuDevice {
    pub(super) const INSTANCE: &'static CpuDevice = &CpuDevice;
}

impl BackendDevice for CpuDevice {
    type Storage = CpuStorage;

    fn new(ordinal: usize) -> Result<Self> {
        if ordinal == 0 {
            return Ok(CpuDevice);
        }
        Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("there is one CPU device, cpu:0; cpu:{ordinal} was asked for"),
        ))
    }

    fn id(&self) -> DeviceId {
        static ID: std::sync::OnceLock<DeviceId> = std::sync::OnceLock::new();
        *ID.get_or_init(DeviceId::new)
    }

    fn location(&self) -> DeviceLocation {
        DeviceLocation { driver: "cpu", ordinal: 0 }
    }

    fn info(&self) -> Result<DeviceInfo> {
        Ok(DeviceInfo { driver: "cpu".into(), name: "host".into(), warp_size: 1, ..Default::default() })
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

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}
