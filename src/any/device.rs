//! The device type that is chosen at run time: it forwards each call to the driver's device.

use super::AnyStorage;
use crate::{BackendDevice, DynDevice, Func, Result};
use bytemuck::TransparentWrapper;
use std::any::Any;

/// A device of any driver: one of this build's drivers or a [registered](crate::register_driver)
/// one.
///
/// Streams, events, graphs and pinned memory are those of the underlying driver. Kernels loaded
/// through an `AnyDevice` are launched with [`AnyStorage`]s; the [underlying
/// device](Self::downcast_ref) gives the driver's own [`Func`].
///
/// ```
/// use isobit::{AnyDevice, BackendDevice, BackendStorage, BinaryOp, Layout};
///
/// let device = AnyDevice::open("cpu")?; // or "cuda:0", "rocm:0"
/// assert!(device.is_cpu());
///
/// let x = device.storage_from_slice(&[1.0f32, 2.0, 3.0])?;
/// let layout = Layout::contiguous([3]);
/// let sum = x.binary(&layout, &x, &layout, BinaryOp::Add)?;
/// assert_eq!(sum.to_vec::<f32>()?, [2.0, 4.0, 6.0]);
/// # Ok::<(), isobit::Error>(())
/// ```
#[derive(Debug, Clone, TransparentWrapper)]
#[repr(transparent)]
pub struct AnyDevice(DynDevice);

impl AnyDevice {
    /// Wraps a driver's device, whether or not its driver is part of this build. An `AnyDevice` is
    /// returned as it is.
    ///
    /// ```
    /// use isobit::{AnyDevice, CpuDevice};
    ///
    /// let device = AnyDevice::from_backend(CpuDevice);
    /// assert!(device.downcast_ref::<CpuDevice>().is_some());
    /// ```
    pub fn from_backend<D: BackendDevice>(device: D) -> Self {
        match (&device as &dyn Any).downcast_ref::<Self>() {
            Some(same) => same.clone(),
            None => Self(DynDevice::from_backend(device)),
        }
    }

    /// Returns the driver's own device if it has type `D`.
    pub fn downcast_ref<D: BackendDevice>(&self) -> Option<&D> {
        self.0.downcast_ref()
    }
}

macro_rules! forward {
    (
        calls { $($([$unsafe:tt])? fn $call:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)* }
        makes { $($([$make_unsafe:tt])? fn $make:ident($($make_arg:ident: $make_ty:ty),*);)* }
        loads { $(fn $load:ident($($load_arg:ident: $load_ty:ty),*);)* }
    ) => {
        $($($unsafe)? fn $call(&self, $($arg: $ty),*) -> $ret {
            $($unsafe)? { self.0.$call($($arg),*) }
        })*
        $($($make_unsafe)? fn $make(&self, $($make_arg: $make_ty),*) -> Result<AnyStorage> {
            $($make_unsafe)? { self.0.$make($($make_arg),*) }.map(AnyStorage)
        })*
        $(fn $load(&self, $($load_arg: $load_ty),*) -> Result<Func> {
            self.0.$load($($load_arg),*)
        })*
    };
}

#[allow(clippy::undocumented_unsafe_blocks, reason = "the caller's promises are passed on as they are")]
impl BackendDevice for AnyDevice {
    type Storage = AnyStorage;

    /// Returns the CPU device; use [`open`](AnyDevice::open) for other devices.
    fn new(ordinal: usize) -> Result<Self> {
        DynDevice::new(ordinal).map(Self)
    }

    /// Asks the driver if both devices belong to it. Returns false for devices of
    /// different drivers: copies between them go through the host.
    fn can_access_peer(&self, other: &Self) -> bool {
        self.0.can_access_peer(&other.0)
    }

    isobit_hal::__device_methods!(forward);
}
