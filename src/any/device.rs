//! The device chosen at run time: each call goes to the driver's own.

use super::storage::AnyStorage;
use crate::{BackendDevice, CpuDevice, DynDevice, Func, LoadedBy, Result};
#[cfg(feature = "cuda")]
use isobit_cuda::CudaDevice;
#[cfg(feature = "rocm")]
use isobit_rocm::RocmDevice;
use std::any::Any;

/// A device of any driver: those of this build, and those that [joined](crate::register_driver) at run time.
///
/// Streams, events, graphs and pinned memory are the driver's own. A kernel loaded here is launched with [`AnyStorage`]s; the driver's own [`Func`] is to be
/// had from the [device inside](Self::downcast_ref).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AnyDevice {
    /// The host.
    Cpu(CpuDevice),
    /// An NVIDIA GPU.
    #[cfg(feature = "cuda")]
    Cuda(CudaDevice),
    /// An AMD GPU.
    #[cfg(feature = "rocm")]
    Rocm(RocmDevice),
    /// A device of a driver from elsewhere.
    Dyn(DynDevice),
}

impl AnyDevice {
    /// Over a driver's device: one of this build's drivers, or any other.
    pub fn from_backend<D: BackendDevice>(device: D) -> Self {
        let any = &device as &dyn Any;
        if let Some(same) = any.downcast_ref::<Self>() {
            return same.clone();
        }
        if let Some(&cpu) = any.downcast_ref() {
            return AnyDevice::Cpu(cpu);
        }
        #[cfg(feature = "cuda")]
        if let Some(cuda) = any.downcast_ref::<CudaDevice>() {
            return AnyDevice::Cuda(cuda.clone());
        }
        #[cfg(feature = "rocm")]
        if let Some(rocm) = any.downcast_ref::<RocmDevice>() {
            return AnyDevice::Rocm(rocm.clone());
        }
        AnyDevice::Dyn(DynDevice::from_backend(device))
    }

    /// The driver's own device, where it is of that type.
    pub fn downcast_ref<D: BackendDevice>(&self) -> Option<&D> {
        match self {
            AnyDevice::Dyn(device) => device.downcast_ref(),
            _ => self.inside(),
        }
    }

    /// What the variant holds, where it is of that type.
    fn inside<D: BackendDevice>(&self) -> Option<&D> {
        on!(AnyDevice, self, d => (d as &dyn Any).downcast_ref())
    }
}

macro_rules! forward {
    (
        calls { $($([$unsafe:tt])? fn $call:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)* }
        makes { $($([$make_unsafe:tt])? fn $make:ident($($make_arg:ident: $make_ty:ty),*);)* }
        loads { $(fn $load:ident($($load_arg:ident: $load_ty:ty),*);)* }
    ) => {
        $($($unsafe)? fn $call(&self, $($arg: $ty),*) -> $ret {
            on!(AnyDevice, self, d => $($unsafe)? { d.$call($($arg),*) })
        })*
        $($($make_unsafe)? fn $make(&self, $($make_arg: $make_ty),*) -> Result<AnyStorage> {
            let inner = on!(AnyDevice, self, d => $($make_unsafe)? { d.$make($($make_arg),*) }?.into());
            Ok(AnyStorage::new(self.clone(), inner))
        })*
        $(fn $load(&self, $($load_arg: $load_ty),*) -> Result<Func> {
            Ok(LoadedBy::bind(self, on!(AnyDevice, self, d => d.$load($($load_arg),*)?)))
        })*
    };
}

#[allow(clippy::undocumented_unsafe_blocks, reason = "the caller's promises are passed on as they are")]
impl BackendDevice for AnyDevice {
    type Storage = AnyStorage;

    /// The host; see [`open`](AnyDevice::open) for the others.
    fn new(ordinal: usize) -> Result<Self> {
        CpuDevice::new(ordinal).map(AnyDevice::Cpu)
    }

    /// Between devices of one driver what it says; devices of two drivers meet on the host.
    fn can_access_peer(&self, other: &Self) -> bool {
        on!(AnyDevice, self, d => other.inside().is_some_and(|other| d.can_access_peer(other)))
    }

    isobit_hal::__device_methods!(forward);
}
