//! A kernel that stores the device that loaded it. If all arguments of a launch are numbers, there
//! is no storage to take the device from.

use super::device::DynDevice;
use super::storage::DynStorage;
use crate::kernel::{FuncBackend, KernelParam};
use crate::{BackendStorage, DeviceId, Error, ErrorKind, Func, KernelArg, Result};
use std::sync::Arc;

/// A driver's kernel and a handle to the device that loaded it.
#[derive(Debug)]
struct BoundFunc {
    device: DynDevice,
    func: Func,
}

/// Binds a kernel to the device that loaded it.
pub(super) fn bind(device: &DynDevice, func: Func) -> Func {
    Func::from_backend(Arc::new(BoundFunc { device: device.clone(), func }))
}

/// Returns the device to launch on, and the driver's own kernel.
///
/// # Errors
/// `InvalidArgument` if neither the kernel nor the arguments determine the device.
pub(super) fn find<'a>(func: &'a Func, args: &[KernelArg<'_, DynStorage>]) -> Result<(DynDevice, &'a Func)> {
    if let Some(bound) = func.downcast_ref::<BoundFunc>() {
        return Ok((bound.device.clone(), &bound.func));
    }
    let device = args.iter().find_map(|arg| match arg {
        KernelArg::Read(storage, _) => Some(storage.device()),
        KernelArg::Write(storage, _) => Some(storage.device()),
        KernelArg::Value(_) => None,
    });
    device.map(|device| (device.clone(), func)).ok_or_else(|| {
        let name = func.name();
        let message = format!(
            "{name} was loaded by a driver's own device and has no storage argument, so its device is unknown: load it \
             from the device that was chosen at run time"
        );
        Error::new(ErrorKind::InvalidArgument, message).with_kernel(name)
    })
}

impl FuncBackend for BoundFunc {
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
