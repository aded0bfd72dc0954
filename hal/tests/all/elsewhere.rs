//! A driver with streams and kernels but without memory and operations, for calls that fail before
//! they need those.

use isobit_hal::kernel::{FuncBackend, KernelParam};
use isobit_hal::{
    BackendDevice, BackendStorage, CpuStorage, DType, DeviceId, DeviceInfo, DeviceLocation, Func, Layout, Op, Result,
    Shape, Src, Support,
};
use std::sync::Arc;

#[derive(Debug, Clone)]
pub struct Elsewhere(DeviceId);

impl BackendDevice for Elsewhere {
    type Storage = Never;

    fn new(_: usize) -> Result<Self> {
        Ok(Elsewhere(DeviceId::new()))
    }

    fn id(&self) -> DeviceId {
        self.0
    }

    fn location(&self) -> DeviceLocation {
        DeviceLocation { driver: "elsewhere", ordinal: 3 }
    }

    fn info(&self) -> Result<DeviceInfo> {
        Ok(DeviceInfo::default())
    }

    fn supports(&self, _: &Op, _: &[DType]) -> Support {
        Support::Supported
    }

    unsafe fn alloc_uninit(&self, _: &Shape, _: DType) -> Result<Never> {
        unreachable!("nothing allocates here")
    }

    fn storage_from_bytes(&self, _: DType, _: &[u8]) -> Result<Never> {
        unreachable!("nothing allocates here")
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn get_or_load_func(&self, name: &str) -> Result<Func> {
        Ok(Func::from_backend(Arc::new(Named { name: name.into(), device: self.0 })))
    }
}

#[derive(Debug)]
pub enum Never {}

impl BackendStorage for Never {
    type Device = Elsewhere;

    fn dtype(&self) -> DType {
        match *self {}
    }

    fn len(&self) -> usize {
        match *self {}
    }

    fn device(&self) -> &Elsewhere {
        match *self {}
    }

    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        match *self {}
    }

    fn apply_into(_: &Op, _: &[Src<'_, Self>], dst: &mut Self, _: &Layout) -> Result<()> {
        match *dst {}
    }
}

/// A kernel that consists only of a name.
#[derive(Debug)]
struct Named {
    name: String,
    device: DeviceId,
}

impl FuncBackend for Named {
    fn name(&self) -> &str {
        &self.name
    }

    fn device(&self) -> DeviceId {
        self.device
    }

    fn params(&self) -> Option<&[KernelParam]> {
        None
    }
}
