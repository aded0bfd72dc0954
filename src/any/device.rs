//! The device chosen at run time: each call goes to the driver's own.

use super::AnyStorage;
use crate::{BackendDevice, DynDevice, Func, Result};
use bytemuck::TransparentWrapper;
use std::any::Any;

/// A device of any driver: those of this build, and those that [joined](crate::register_driver) at
/// run time.
///
/// Streams, events, graphs and pinned memory are the driver's own. A kernel loaded here is launched
/// with [`AnyStorage`]s; the [device inside](Self::downcast_ref) gives the driver's own [`Func`].
#[derive(Debug, Clone, TransparentWrapper)]
#[repr(transparent)]
pub struct AnyDevice(DynDevice);

impl AnyDevice {
    /// Over a driver's device: one of this build's drivers, or any other.
    pub fn from_backend<D: BackendDevice>(device: D) -> Self {
        match (&device as &dyn Any).downcast_ref::<Self>() {
            Some(same) => same.clone(),
            None => Self(DynDevice::from_backend(device)),
        }
    }

    /// The driver's own device, where it is of that type.
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

    /// The host; see [`open`](AnyDevice::open) for the others.
    fn new(ordinal: usize) -> Result<Self> {
        DynDevice::new(ordinal).map(Self)
    }

    /// Between devices of one driver what it says; devices of two drivers meet on the host.
    fn can_access_peer(&self, other: &Self) -> bool {
        self.0.can_access_peer(&other.0)
    }

    isobit_hal::__device_methods!(forward);
}
