//! Copies between devices that know nothing of each other.

use crate::{BackendStorage, CpuStorage, DynStorage, Result, validate};
use std::any::Any;

/// Copies a whole storage into one of the same dtype and length, of whatever driver, by way of the host; where one of the two is the host's, with no copy more than it takes.
/// Synchronises.
///
/// # Errors
/// `UnsupportedDtype` and `ShapeMismatch` where the storages differ; those of the drivers.
pub fn through_host<S: BackendStorage, D: BackendStorage>(src: &S, dst: &mut D) -> Result<()> {
    validate::transfer(src, dst)?;
    if let Some(host) = host_mut(dst) {
        return src.read_bytes(0, host.as_bytes_mut());
    }
    match (src as &dyn Any).downcast_ref::<CpuStorage>() {
        Some(host) => dst.write_bytes(0, host.as_bytes()),
        None => dst.write_bytes(0, src.to_cpu_storage()?.as_bytes()),
    }
}

/// The host's storage, also one that is held as an object.
fn host_mut(storage: &mut dyn Any) -> Option<&mut CpuStorage> {
    if storage.is::<DynStorage>() {
        return storage.downcast_mut::<DynStorage>()?.host_mut();
    }
    storage.downcast_mut()
}
