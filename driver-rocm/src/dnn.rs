//! MIOpen. The operation surface has no convolution yet, so nothing of it reaches a tensor: a handle on the device's stream, for those who must,
//! and the hook's typed answer.

use crate::RocmDevice;
use crate::error::static_text;
use crate::library::MIOPEN;
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::Vendor;
use miopen_sys::*;

/// A handle of MIOpen's on a device's stream.
#[derive(Debug)]
pub struct Dnn {
    device: RocmDevice,
    library: &'static Miopen,
    handle: miopenHandle_t,
}

// SAFETY: nothing here but `drop` uses the handle, which has the only reference then; who takes it raw sees to its threads.
unsafe impl Send for Dnn {}
// SAFETY: as above.
unsafe impl Sync for Dnn {}

fn check(library: &Miopen, status: miopenStatus_t, doing: &str) -> Result<()> {
    if status == miopenStatusSuccess {
        return Ok(());
    }
    // SAFETY: MIOpen returns a static string for every status.
    let name = unsafe { static_text((library.miopenGetErrorString)(status), "unknown") };
    let kind = match status {
        miopenStatusAllocFailed => ErrorKind::OutOfMemory,
        _ => ErrorKind::LibraryFailure,
    };
    Err(Error::new(kind, format!("MIOpen, {doing}: {name}")).with_native(i64::from(status), name))
}

/// The library's version.
pub(crate) fn version() -> Result<String> {
    let library = MIOPEN.require()?;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: plain out-parameters.
    let status = unsafe { (library.miopenGetVersion)(&mut major, &mut minor, &mut patch) };
    check(library, status, "asking for its version")?;
    Ok(format!("{major}.{minor}.{patch}"))
}

/// The hook for convolutions.
///
/// # Errors
/// `UnsupportedOp`, always: the operation surface has no convolution yet.
pub fn convolution() -> Result<Vendor> {
    Err(Error::new(ErrorKind::UnsupportedOp, "the ROCm driver asks MIOpen for no convolution yet"))
}

impl Dnn {
    /// A handle whose work goes to the device's stream.
    ///
    /// # Errors
    /// `LibraryUnavailable` where MIOpen is not on this machine, and those of the library.
    pub fn new(device: &RocmDevice) -> Result<Self> {
        let library = MIOPEN.require()?;
        device.runtime().context().bind()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: an out-parameter; the stream lives as long as the device that the handle will hold.
        let status = unsafe { (library.miopenCreateWithStream)(&mut handle, device.stream().raw()) };
        check(library, status, "making a handle")?;
        Ok(Self { device: device.clone(), library, handle })
    }

    /// MIOpen's own handle; valid as long as `self`, used by one thread at a time.
    pub fn raw(&self) -> miopenHandle_t {
        self.handle
    }
}

impl Drop for Dnn {
    fn drop(&mut self) {
        let context = self.device.runtime().context();
        let destroyed = context.bind().and_then(|()| {
            // SAFETY: made in `new`, destroyed once.
            check(self.library, unsafe { (self.library.miopenDestroy)(self.handle) }, "destroying the handle")
        });
        context.deferred().keep(destroyed);
    }
}
