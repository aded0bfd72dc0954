//! The device of an external driver: what `BackendDevice` requires and nothing more.

use crate::storage::TinyStorage;
use isobit_hal::{
    BackendDevice, CpuDevice, DType, DeviceId, DeviceInfo, DeviceLocation, Error, ErrorKind, Op, Result, Shape, Support,
};

/// The number of devices that the machine would have if they were real.
pub const DEVICES: usize = 2;

/// A handle to an opened device.
#[derive(Debug, Clone)]
pub struct TinyDevice {
    id: DeviceId,
    ordinal: usize,
}

impl TinyDevice {
    /// Returns what is known about every device without opening it.
    pub fn enumerate() -> Result<Vec<DeviceInfo>> {
        let info = |ordinal| {
            let mut info = DeviceInfo::default();
            (info.driver, info.name, info.arch) = ("tiny".into(), format!("Tiny {ordinal}"), "host".into());
            (info.driver_version, info.warp_size, info.multiprocessors) = ("1".into(), 1, 1);
            info
        };
        Ok((0..DEVICES).map(info).collect())
    }
}

impl BackendDevice for TinyDevice {
    type Storage = TinyStorage;

    fn new(ordinal: usize) -> Result<Self> {
        if ordinal < DEVICES {
            return Ok(Self { id: DeviceId::new(), ordinal });
        }
        let message = format!("there is no tiny:{ordinal}; there are {DEVICES} devices: tiny:0 and tiny:1");
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    fn id(&self) -> DeviceId {
        self.id
    }

    fn location(&self) -> DeviceLocation {
        DeviceLocation { driver: "tiny", ordinal: self.ordinal }
    }

    fn info(&self) -> Result<DeviceInfo> {
        Ok(Self::enumerate()?.swap_remove(self.ordinal))
    }

    fn supports(&self, op: &Op, dtypes: &[DType]) -> Support {
        // The processor beside the memory is the host's CPU, and supports what the host supports.
        CpuDevice.supports(op, dtypes)
    }

    unsafe fn alloc_uninit(&self, shape: &Shape, dtype: DType) -> Result<TinyStorage> {
        TinyStorage::new(self, dtype, shape.elem_count())
    }

    fn storage_from_bytes(&self, dtype: DType, bytes: &[u8]) -> Result<TinyStorage> {
        if !bytes.len().is_multiple_of(dtype.size_in_bytes()) {
            let message = format!("{} bytes are not a whole number of elements of {dtype}", bytes.len());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let mut storage = TinyStorage::new(self, dtype, bytes.len() / dtype.size_in_bytes())?;
        storage.upload(bytes);
        Ok(storage)
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}
