//! Kernels and their arguments where the driver is chosen at run time.

use crate::kernel::{FuncBackend, KernelParam};
use crate::{BackendDevice, BackendStorage, DeviceId, Error, ErrorKind, Func, KernelArg, Result};
use smallvec::SmallVec;

/// A driver's kernel and the handle of the device that loaded it. A launch whose arguments are all numbers has no storage to tell its device by.
#[derive(Debug)]
pub struct LoadedBy<D> {
    device: D,
    func: Func,
}

impl<D: BackendDevice> LoadedBy<D> {
    /// Binds a kernel to the device that loaded it.
    pub fn bind(device: &D, func: Func) -> Func {
        Func::from_backend(std::sync::Arc::new(Self { device: device.clone(), func }))
    }

    /// The device to launch on, and the driver's own kernel.
    ///
    /// # Errors
    /// `InvalidArgument` where neither kernel nor arguments say which device.
    pub fn find<'a>(func: &'a Func, args: &[KernelArg<'_, D::Storage>]) -> Result<(D, &'a Func)> {
        if let Some(bound) = func.downcast_ref::<Self>() {
            return Ok((bound.device.clone(), &bound.func));
        }
        let device = args.iter().find_map(|arg| match arg {
            KernelArg::Read(storage, _) => Some(storage.device().clone()),
            KernelArg::Write(storage, _) => Some(storage.device().clone()),
            KernelArg::Value(_) => None,
        });
        device.map(|device| (device, func)).ok_or_else(|| {
            let name = func.name();
            let message = format!(
                "{name} was loaded by a driver's own device and takes no storage, so nothing says what launches it: load it from the device that was chosen at run time"
            );
            Error::new(ErrorKind::InvalidArgument, message).with_kernel(name)
        })
    }
}

impl<D: BackendDevice> FuncBackend for LoadedBy<D> {
    fn name(&self) -> &str {
        self.func.name()
    }

    fn device(&self) -> DeviceId {
        self.func.device()
    }

    fn params(&self) -> Option<&[KernelParam]> {
        self.func.params()
    }

    fn max_threads_per_block(&self) -> Option<u32> {
        self.func.max_threads_per_block()
    }
}

impl<S> KernelArg<'_, S> {
    /// The argument for a driver whose storages lie inside these.
    ///
    /// # Errors
    /// Those of the functions.
    pub fn try_map<'a, T>(
        &'a mut self,
        read: impl FnOnce(&'a S) -> Result<&'a T>,
        write: impl FnOnce(&'a mut S) -> Result<&'a mut T>,
    ) -> Result<KernelArg<'a, T>> {
        Ok(match self {
            KernelArg::Read(storage, offset) => KernelArg::Read(read(storage)?, *offset),
            KernelArg::Write(storage, offset) => KernelArg::Write(write(storage)?, *offset),
            KernelArg::Value(value) => KernelArg::Value(value.clone()),
        })
    }

    /// As [`try_map`](Self::try_map) for all arguments of a launch.
    ///
    /// # Errors
    /// Those of the functions.
    pub fn try_map_all<'a, T>(
        args: &'a mut [Self],
        read: impl Fn(&'a S) -> Result<&'a T>,
        write: impl Fn(&'a mut S) -> Result<&'a mut T>,
    ) -> Result<SmallVec<[KernelArg<'a, T>; 8]>> {
        args.iter_mut().map(|arg| arg.try_map(&read, &write)).collect()
    }
}
