//! A device as an object.

use super::func;
use super::storage::{DynStorage, ErasedStorage};
use crate::{BackendDevice, BackendStorage, Func, KernelArg, LaunchConfig, Result};
use smallvec::SmallVec;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A device's methods without its types, for the methods that take operands; implemented for every
/// driver.
pub(super) trait ErasedDeviceMethods: Any + Send + Sync + fmt::Debug {
    fn can_access_peer(&self, other: &dyn ErasedDevice) -> bool;

    /// # Safety
    /// As [`LaunchBuilder::launch`](crate::LaunchBuilder::launch).
    unsafe fn launch(&self, func: &Func, config: LaunchConfig, args: &mut [KernelArg<'_, DynStorage>]) -> Result<()>;
}

impl<D: BackendDevice> ErasedDeviceMethods for D {
    fn can_access_peer(&self, other: &dyn ErasedDevice) -> bool {
        (other as &dyn Any).downcast_ref::<D>().is_some_and(|other| BackendDevice::can_access_peer(self, other))
    }

    unsafe fn launch(&self, func: &Func, config: LaunchConfig, args: &mut [KernelArg<'_, DynStorage>]) -> Result<()> {
        let own = args.iter_mut().map(|arg| arg.try_map(|s| s.operand_of(self), |s| s.operand_mut_of(self)));
        let mut own = own.collect::<Result<SmallVec<[_; 8]>>>()?;
        // SAFETY: the arguments are the caller's, who promises what `launch` requires of them.
        unsafe { D::Storage::launch(func, config, &mut own) }
    }
}

macro_rules! erase {
    (
        calls { $($([$unsafe:tt])? fn $call:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)* }
        makes { $($([$make_unsafe:tt])? fn $make:ident($($make_arg:ident: $make_ty:ty),*);)* }
        loads { $(fn $load:ident($($load_arg:ident: $load_ty:ty),*);)* }
    ) => {
        pub(super) trait ErasedDevice: ErasedDeviceMethods {
            $($($unsafe)? fn $call(&self, $($arg: $ty),*) -> $ret;)*
            $($($make_unsafe)? fn $make(&self, $($make_arg: $make_ty),*) -> Result<Box<dyn ErasedStorage>>;)*
            $(fn $load(&self, $($load_arg: $load_ty),*) -> Result<Func>;)*
        }

        #[allow(clippy::undocumented_unsafe_blocks, reason = "the caller's promises are passed on as they are")]
        impl<D: BackendDevice> ErasedDevice for D {
            $($($unsafe)? fn $call(&self, $($arg: $ty),*) -> $ret {
                $($unsafe)? { BackendDevice::$call(self, $($arg),*) }
            })*
            $($($make_unsafe)? fn $make(&self, $($make_arg: $make_ty),*) -> Result<Box<dyn ErasedStorage>> {
                Ok(Box::new($($make_unsafe)? { BackendDevice::$make(self, $($make_arg),*) }?))
            })*
            $(fn $load(&self, $($load_arg: $load_ty),*) -> Result<Func> {
                BackendDevice::$load(self, $($load_arg),*)
            })*
        }
    };
}
crate::__device_methods!(erase);

/// A device of any driver, behind one type. Every call is forwarded to the driver's device.
///
/// Streams, events, graphs and pinned memory are the driver's own. A kernel loaded here is launched
/// with [`DynStorage`]s; get the driver's own [`Func`] from the [device
/// inside](Self::downcast_ref).
///
/// ```rust
/// use isobit_hal::{BackendDevice, CpuDevice, CpuStorage, DynDevice, Layout, UnaryOp};
/// # use isobit_hal::BackendStorage;
///
/// let device = DynDevice::from_backend(CpuDevice);
/// assert_eq!(device.location().to_string(), "cpu:0");
/// let x = device.storage_from_slice(&[1.0f32, 4.0])?;
/// let root = x.unary(&Layout::contiguous(2), UnaryOp::Sqrt)?;
/// assert_eq!(root.to_vec::<f32>()?, [1.0, 2.0]);
/// assert!(device.downcast_ref::<CpuDevice>().is_some());
/// assert!(root.downcast_ref::<CpuStorage>().is_some());
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DynDevice(Arc<dyn ErasedDevice>);

impl DynDevice {
    /// Wraps a driver's device.
    pub fn from_backend<D: BackendDevice>(device: D) -> Self {
        match (&device as &dyn Any).downcast_ref::<Self>() {
            Some(same) => same.clone(),
            None => Self(Arc::new(device)),
        }
    }

    /// Returns the driver's own device, if it has type `D`.
    pub fn downcast_ref<D: BackendDevice>(&self) -> Option<&D> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// # Safety
    /// As [`LaunchBuilder::launch`](crate::LaunchBuilder::launch).
    pub(super) unsafe fn launch(
        &self,
        func: &Func,
        config: LaunchConfig,
        args: &mut [KernelArg<'_, DynStorage>],
    ) -> Result<()> {
        // SAFETY: the caller promises what this call requires.
        unsafe { self.0.launch(func, config, args) }
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
        $($($make_unsafe)? fn $make(&self, $($make_arg: $make_ty),*) -> Result<DynStorage> {
            Ok(DynStorage::new(self, $($make_unsafe)? { self.0.$make($($make_arg),*) }?))
        })*
        $(fn $load(&self, $($load_arg: $load_ty),*) -> Result<Func> {
            self.0.$load($($load_arg),*).map(|func| func::bind(self, func))
        })*
    };
}

#[allow(clippy::undocumented_unsafe_blocks, reason = "the caller's promises are passed on as they are")]
impl BackendDevice for DynDevice {
    type Storage = DynStorage;

    /// Opens the host. To open a device of another driver by name, use `AnyDevice::open` of the
    /// crate `isobit`.
    #[cfg(feature = "cpu")]
    fn new(ordinal: usize) -> Result<Self> {
        crate::CpuDevice::new(ordinal).map(Self::from_backend)
    }

    /// Returns an error: this build does not contain the host's driver.
    #[cfg(not(feature = "cpu"))]
    fn new(ordinal: usize) -> Result<Self> {
        Err(crate::Error::new(
            crate::ErrorKind::InvalidArgument,
            format!(
                "cpu:{ordinal} was requested, but isobit-hal was built without the feature `cpu`: enable it, or pass a \
                 device of another driver to `DynDevice::from_backend`"
            ),
        ))
    }

    fn can_access_peer(&self, other: &Self) -> bool {
        self.0.can_access_peer(&*other.0)
    }

    crate::__device_methods!(forward);
}
