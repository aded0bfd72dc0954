//! The storage type of a device that is chosen at run time.

use super::AnyDevice;
use crate::{
    BackendStorage, CpuStorage, DynStorage, Func, KernelArg, LaunchConfig, Layout, Matmul, MatmulSide, Op, Result,
    Shape, Src,
};
use bytemuck::TransparentWrapper;
#[cfg(feature = "cuda")]
use isobit_cuda::CudaStorage;
#[cfg(feature = "rocm")]
use isobit_rocm::RocmStorage;
use smallvec::SmallVec;
use std::ops::Range;

/// A storage on an [`AnyDevice`].
///
/// ```
/// use isobit::{AnyDevice, BackendDevice, BackendStorage, CpuStorage, Layout, UnaryOp};
///
/// let x = AnyDevice::cpu().storage_from_slice(&[1.0f32, -2.0])?;
/// let y = x.unary(&Layout::contiguous([2]), UnaryOp::Neg)?;
/// assert_eq!(y.to_vec::<f32>()?, [-1.0, 2.0]);
///
/// // Code that is specific to one driver can reach the driver's own storage.
/// let host: &CpuStorage = y.downcast_ref().unwrap();
/// assert_eq!(host.len(), 2);
/// # Ok::<(), isobit::Error>(())
/// ```
#[derive(Debug)]
pub struct AnyStorage(pub(super) DynStorage);

impl AnyStorage {
    /// Returns the driver's own storage if it has type `S`.
    pub fn downcast_ref<S: BackendStorage>(&self) -> Option<&S> {
        self.0.downcast_ref()
    }

    /// Returns the driver's own storage for writing if it has type `S`.
    pub fn downcast_mut<S: BackendStorage>(&mut self) -> Option<&mut S> {
        self.0.downcast_mut()
    }

    /// Returns the underlying CPU storage if the device is the CPU.
    pub fn as_cpu_storage(&self) -> Option<&CpuStorage> {
        self.downcast_ref()
    }

    /// Returns the underlying CUDA storage if the device is an NVIDIA GPU.
    #[cfg(feature = "cuda")]
    pub fn as_cuda_storage(&self) -> Option<&CudaStorage> {
        self.downcast_ref()
    }

    /// Returns the underlying ROCm storage if the device is an AMD GPU.
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
        let inputs = inputs.iter().map(|src| src.try_map(|storage| Ok(&storage.0)));
        let inputs = inputs.collect::<Result<SmallVec<[_; 4]>>>()?;
        DynStorage::apply_into(op, &inputs, &mut dst.0, dst_layout)
    }

    fn transfer_range_into(&self, range: Range<usize>, dst: &mut Self, offset: usize) -> Result<()> {
        self.0.transfer_range_into(range, &mut dst.0, offset)
    }

    fn pack_matrix(&self, shape: &Shape, side: MatmulSide, op: Matmul) -> Result<Option<Self>> {
        Ok(self.0.pack_matrix(shape, side, op)?.map(Self))
    }

    unsafe fn launch(func: &Func, config: LaunchConfig, args: &mut [KernelArg<'_, Self>]) -> Result<()> {
        let args = args.iter_mut().map(|arg| arg.try_map(|s| Ok(&s.0), |s| Ok(&mut s.0)));
        let mut args = args.collect::<Result<SmallVec<[_; 8]>>>()?;
        // SAFETY: the kernel and the arguments are the same, and the caller upholds what `launch`
        // requires of them.
        unsafe { DynStorage::launch(func, config, &mut args) }
    }

    isobit_hal::__storage_methods!(forward);
}
