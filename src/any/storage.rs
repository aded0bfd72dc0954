//! The storage of a device chosen at run time.

use super::AnyDevice;
use crate::{BackendStorage, CpuStorage, DynStorage, Func, KernelArg, LaunchConfig, Layout, Op, Result, Src};
use bytemuck::TransparentWrapper;
#[cfg(feature = "cuda")]
use isobit_cuda::CudaStorage;
#[cfg(feature = "rocm")]
use isobit_rocm::RocmStorage;
use smallvec::SmallVec;

/// A storage of an [`AnyDevice`].
#[derive(Debug)]
pub struct AnyStorage(pub(super) DynStorage);

impl AnyStorage {
    /// The driver's own storage, where it is of that type.
    pub fn downcast_ref<S: BackendStorage>(&self) -> Option<&S> {
        self.0.downcast_ref()
    }

    /// The driver's own storage to write, where it is of that type.
    pub fn downcast_mut<S: BackendStorage>(&mut self) -> Option<&mut S> {
        self.0.downcast_mut()
    }

    /// The host storage inside, where the device is the host.
    pub fn as_cpu_storage(&self) -> Option<&CpuStorage> {
        self.downcast_ref()
    }

    /// The CUDA storage inside, where the device is an NVIDIA GPU.
    #[cfg(feature = "cuda")]
    pub fn as_cuda_storage(&self) -> Option<&CudaStorage> {
        self.downcast_ref()
    }

    /// The ROCm storage inside, where the device is an AMD GPU.
    #[cfg(feature = "rocm")]
    pub fn as_rocm_storage(&self) -> Option<&RocmStorage> {
        self.downcast_ref()
    }
}

macro_rules! forward {
    (
        reads { $(fn $read:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)* }
        writes { $(fn $write:ident($($write_arg:ident: $write_ty:ty),*) -> $write_ret:ty;)* }
    ) => {
        $(fn $read(&self, $($arg: $ty),*) -> $ret {
            self.0.$read($($arg),*)
        })*
        $(fn $write(&mut self, $($write_arg: $write_ty),*) -> $write_ret {
            self.0.$write($($write_arg),*)
        })*
    };
}

impl BackendStorage for AnyStorage {
    type Device = AnyDevice;

    fn device(&self) -> &AnyDevice {
        AnyDevice::wrap_ref(self.0.device())
    }

    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        let inputs = inputs.iter().map(|&src| match src {
            Src::Storage(storage, layout) => Src::Storage(&storage.0, layout),
            Src::InPlace => Src::InPlace,
        });
        let inputs: SmallVec<[_; 4]> = inputs.collect();
        DynStorage::apply_into(op, &inputs, &mut dst.0, dst_layout)
    }

    fn transfer_into(&self, dst: &mut Self) -> Result<()> {
        self.0.transfer_into(&mut dst.0)
    }

    unsafe fn launch(func: &Func, config: LaunchConfig, args: &mut [KernelArg<'_, Self>]) -> Result<()> {
        let args = args.iter_mut().map(|arg| arg.try_map(|s| Ok(&s.0), |s| Ok(&mut s.0)));
        let mut args = args.collect::<Result<SmallVec<[_; 8]>>>()?;
        // SAFETY: the same kernel with the same arguments, of which the caller promises what
        // `launch` asks.
        unsafe { DynStorage::launch(func, config, &mut args) }
    }

    isobit_hal::__storage_methods!(forward);
}
