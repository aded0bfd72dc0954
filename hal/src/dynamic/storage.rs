//! A storage as an object.

use super::device::DynDevice;
use super::func;
use crate::cpu_storage::through_host;
use crate::{
    BackendDevice, BackendStorage, CpuStorage, Error, ErrorKind, Func, KernelArg, LaunchConfig, Layout, Matmul,
    MatmulSide, Op, Result, Shape, Src,
};
use smallvec::SmallVec;
use std::any::Any;
use std::fmt;
use std::ops::Range;

/// A storage's methods with operands, without its type; implemented for every driver.
pub(super) trait ErasedStorageMethods: Any + Send + Sync + fmt::Debug {
    /// As [`BackendStorage::apply_into`], with `self` as the destination.
    fn apply_from(&mut self, op: &Op, inputs: &[Src<'_, DynStorage>], layout: &Layout) -> Result<()>;

    fn transfer_range_into(&self, range: Range<usize>, dst: &mut DynStorage, offset: usize) -> Result<()>;

    fn pack_matrix(&self, shape: &Shape, side: MatmulSide, op: Matmul) -> Result<Option<Box<dyn ErasedStorage>>>;
}

impl<S: BackendStorage> ErasedStorageMethods for S {
    fn apply_from(&mut self, op: &Op, inputs: &[Src<'_, DynStorage>], layout: &Layout) -> Result<()> {
        let device = self.device();
        let own = inputs.iter().map(|src| src.try_map(|storage| storage.operand_of(device)));
        let own = own.collect::<Result<SmallVec<[Src<'_, S>; 4]>>>()?;
        S::apply_into(op, &own, self, layout)
    }

    fn transfer_range_into(&self, range: Range<usize>, dst: &mut DynStorage, offset: usize) -> Result<()> {
        match dst.downcast_mut::<S>() {
            Some(dst) => BackendStorage::transfer_range_into(self, range, dst, offset),
            None => through_host(self, range, dst, offset),
        }
    }

    fn pack_matrix(&self, shape: &Shape, side: MatmulSide, op: Matmul) -> Result<Option<Box<dyn ErasedStorage>>> {
        let form = BackendStorage::pack_matrix(self, shape, side, op)?;
        Ok(form.map(|form| Box::new(form) as Box<dyn ErasedStorage>))
    }
}

macro_rules! erase {
    (
        reads { $(fn $read:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)* }
        writes { $(fn $write:ident($($write_arg:ident: $write_ty:ty),*) -> $write_ret:ty;)* }
    ) => {
        pub(super) trait ErasedStorage: ErasedStorageMethods {
            $(fn $read(&self, $($arg: $ty),*) -> $ret;)*
            $(fn $write(&mut self, $($write_arg: $write_ty),*) -> $write_ret;)*
        }

        impl<S: BackendStorage> ErasedStorage for S {
            $(fn $read(&self, $($arg: $ty),*) -> $ret {
                BackendStorage::$read(self, $($arg),*)
            })*
            $(fn $write(&mut self, $($write_arg: $write_ty),*) -> $write_ret {
                BackendStorage::$write(self, $($write_arg),*)
            })*
        }
    };
}
crate::__storage_methods!(erase);

/// A storage of a [`DynDevice`].
///
/// ```rust
/// use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, DynDevice};
///
/// let device = DynDevice::from_backend(CpuDevice);
/// let mut x = device.storage_from_slice(&[1i32, 2])?;
/// x.downcast_mut::<CpuStorage>().unwrap().as_mut_slice::<i32>().unwrap()[0] = 7;
/// assert_eq!(x.to_vec::<i32>()?, [7, 2]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug)]
pub struct DynStorage {
    device: DynDevice,
    storage: Box<dyn ErasedStorage>,
}

impl DynStorage {
    pub(super) fn new(device: &DynDevice, storage: Box<dyn ErasedStorage>) -> Self {
        Self { device: device.clone(), storage }
    }

    /// Returns the driver's own storage, if it has type `S`.
    pub fn downcast_ref<S: BackendStorage>(&self) -> Option<&S> {
        (&*self.storage as &dyn Any).downcast_ref()
    }

    /// Returns the driver's own storage for writing, if it has type `S`.
    pub fn downcast_mut<S: BackendStorage>(&mut self) -> Option<&mut S> {
        (&mut *self.storage as &mut dyn Any).downcast_mut()
    }

    /// Returns the driver's storage as an operand on `device`.
    pub(super) fn operand_of<D: BackendDevice>(&self, device: &D) -> Result<&D::Storage> {
        self.downcast_ref().ok_or_else(|| self.lives_elsewhere(device))
    }

    /// Returns the driver's storage as an operand on `device`, for writing.
    pub(super) fn operand_mut_of<D: BackendDevice>(&mut self, device: &D) -> Result<&mut D::Storage> {
        // Checked first: a borrow that is returned from one arm lasts through the other.
        if self.downcast_ref::<D::Storage>().is_none() {
            return Err(self.lives_elsewhere(device));
        }
        Ok(self.downcast_mut().expect("the line above checked the type"))
    }

    #[cold]
    fn lives_elsewhere(&self, device: &impl BackendDevice) -> Error {
        let (own, wanted) = (self.device.location(), device.location());
        let message =
            format!("operands live on different devices, {own} and {wanted}: copy one to the other device first");
        Error::new(ErrorKind::DeviceMismatch, message)
    }

    /// Returns the host's storage, if that is what is inside.
    pub(crate) fn host_mut(&mut self) -> Option<&mut CpuStorage> {
        (&mut *self.storage as &mut dyn Any).downcast_mut()
    }
}

macro_rules! forward {
    (
        reads { $(fn $read:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)* }
        writes { $(fn $write:ident($($write_arg:ident: $write_ty:ty),*) -> $write_ret:ty;)* }
    ) => {
        $(fn $read(&self, $($arg: $ty),*) -> $ret {
            self.storage.$read($($arg),*)
        })*
        $(fn $write(&mut self, $($write_arg: $write_ty),*) -> $write_ret {
            self.storage.$write($($write_arg),*)
        })*
    };
}

impl BackendStorage for DynStorage {
    type Device = DynDevice;

    fn device(&self) -> &DynDevice {
        &self.device
    }

    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        dst.storage.apply_from(op, inputs, dst_layout)
    }

    fn transfer_range_into(&self, range: Range<usize>, dst: &mut Self, offset: usize) -> Result<()> {
        self.storage.transfer_range_into(range, dst, offset)
    }

    fn pack_matrix(&self, shape: &Shape, side: MatmulSide, op: Matmul) -> Result<Option<Self>> {
        let form = self.storage.pack_matrix(shape, side, op)?;
        Ok(form.map(|form| Self::new(&self.device, form)))
    }

    unsafe fn launch(func: &Func, config: LaunchConfig, args: &mut [KernelArg<'_, Self>]) -> Result<()> {
        let (device, func) = func::find(func, args)?;
        // SAFETY: the caller promises what this call requires.
        unsafe { device.launch(func, config, args) }
    }

    crate::__storage_methods!(forward);
}
