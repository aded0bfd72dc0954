//! The storage of a device chosen at run time.

use super::device::AnyDevice;
use crate::{
    BackendDevice, BackendStorage, CpuStorage, DynStorage, Error, ErrorKind, Func, KernelArg, LaunchConfig, Layout,
    LoadedBy, Op, Result, Src, transfer,
};
#[cfg(feature = "cuda")]
use isobit_cuda::CudaStorage;
#[cfg(feature = "rocm")]
use isobit_rocm::RocmStorage;
use smallvec::SmallVec;
use std::any::Any;

/// A storage of an [`AnyDevice`].
#[derive(Debug)]
pub struct AnyStorage {
    device: AnyDevice,
    storage: Inner,
}

#[derive(Debug)]
pub(super) enum Inner {
    Cpu(CpuStorage),
    #[cfg(feature = "cuda")]
    Cuda(CudaStorage),
    #[cfg(feature = "rocm")]
    Rocm(RocmStorage),
    Dyn(DynStorage),
}

macro_rules! from {
    ($($(#[$attr:meta])* $variant:ident $storage:ident)*) => {$(
        $(#[$attr])*
        impl From<$storage> for Inner {
            fn from(storage: $storage) -> Self {
                Inner::$variant(storage)
            }
        }
    )*};
}
from! {
    Cpu CpuStorage
    #[cfg(feature = "cuda")]
    Cuda CudaStorage
    #[cfg(feature = "rocm")]
    Rocm RocmStorage
    Dyn DynStorage
}

impl AnyStorage {
    pub(super) fn new(device: AnyDevice, storage: Inner) -> Self {
        Self { device, storage }
    }

    /// The driver's own storage, where it is of that type.
    pub fn downcast_ref<S: BackendStorage>(&self) -> Option<&S> {
        match &self.storage {
            Inner::Dyn(storage) => storage.downcast_ref(),
            _ => self.inside(),
        }
    }

    /// The driver's own storage to write, where it is of that type.
    pub fn downcast_mut<S: BackendStorage>(&mut self) -> Option<&mut S> {
        match &mut self.storage {
            Inner::Dyn(storage) => storage.downcast_mut(),
            other => on!(Inner, other, s => (s as &mut dyn Any).downcast_mut()),
        }
    }

    /// The host storage inside, where the device is the host.
    pub fn as_cpu_storage(&self) -> Option<&CpuStorage> {
        self.inside()
    }

    /// The CUDA storage inside, where the device is an NVIDIA GPU.
    #[cfg(feature = "cuda")]
    pub fn as_cuda_storage(&self) -> Option<&CudaStorage> {
        self.inside()
    }

    /// The ROCm storage inside, where the device is an AMD GPU.
    #[cfg(feature = "rocm")]
    pub fn as_rocm_storage(&self) -> Option<&RocmStorage> {
        self.inside()
    }

    /// What the variant holds, where it is of that type.
    fn inside<S: BackendStorage>(&self) -> Option<&S> {
        on!(Inner, &self.storage, s => (s as &dyn Any).downcast_ref())
    }

    #[cold]
    fn elsewhere(&self, wanted: &impl BackendDevice) -> Error {
        let (own, wanted) = (self.device.location(), wanted.location());
        let message = format!("operands live on different devices, {own} and {wanted}: copy one over first");
        Error::new(ErrorKind::DeviceMismatch, message)
    }

    /// The operand as a device's driver has it.
    fn on<D: BackendDevice>(&self, device: &D) -> Result<&D::Storage> {
        self.inside().ok_or_else(|| self.elsewhere(device))
    }

    fn on_mut<D: BackendDevice>(&mut self, device: &D) -> Result<&mut D::Storage> {
        if self.inside::<D::Storage>().is_none() {
            return Err(self.elsewhere(device));
        }
        let inside = on!(Inner, &mut self.storage, s => (s as &mut dyn Any).downcast_mut());
        Ok(inside.expect("looked at above"))
    }
}

fn apply<S: BackendStorage>(op: &Op, inputs: &[Src<'_, AnyStorage>], dst: &mut S, layout: &Layout) -> Result<()> {
    let inputs = inputs.iter().map(|src| src.try_map(|s| s.on(dst.device()))).collect::<Result<SmallVec<[_; 4]>>>()?;
    S::apply_into(op, &inputs, dst, layout)
}

/// Between devices of one driver by its own way, else through the host.
fn transfer<S: BackendStorage>(src: &AnyStorage, dst: &mut S) -> Result<()> {
    match src.inside::<S>() {
        Some(src) => src.transfer_into(dst),
        None => on!(Inner, &src.storage, src => transfer::through_host(src, dst)),
    }
}

/// # Safety
/// As [`BackendStorage::launch`].
unsafe fn launch<D: BackendDevice>(
    device: &D,
    func: &Func,
    config: LaunchConfig,
    args: &mut [KernelArg<'_, AnyStorage>],
) -> Result<()> {
    let mut args = KernelArg::try_map_all(args, |s| s.on(device), |s| s.on_mut(device))?;
    // SAFETY: passed on.
    unsafe { D::Storage::launch(func, config, &mut args) }
}

macro_rules! forward {
    (
        reads { $(fn $read:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)* }
        writes { $(fn $write:ident($($write_arg:ident: $write_ty:ty),*) -> $write_ret:ty;)* }
    ) => {
        $(fn $read(&self, $($arg: $ty),*) -> $ret {
            on!(Inner, &self.storage, s => s.$read($($arg),*))
        })*
        $(fn $write(&mut self, $($write_arg: $write_ty),*) -> $write_ret {
            on!(Inner, &mut self.storage, s => s.$write($($write_arg),*))
        })*
    };
}

impl BackendStorage for AnyStorage {
    type Device = AnyDevice;

    fn device(&self) -> &AnyDevice {
        &self.device
    }

    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        on!(Inner, &mut dst.storage, d => apply(op, inputs, d, dst_layout))
    }

    fn transfer_into(&self, dst: &mut Self) -> Result<()> {
        on!(Inner, &mut dst.storage, d => transfer(self, d))
    }

    unsafe fn launch(func: &Func, config: LaunchConfig, args: &mut [KernelArg<'_, Self>]) -> Result<()> {
        let (device, func) = LoadedBy::<AnyDevice>::find(func, args)?;
        // SAFETY: passed on.
        on!(AnyDevice, &device, d => unsafe { launch(d, func, config, args) })
    }

    isobit_hal::__storage_methods!(forward);
}
