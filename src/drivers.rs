//! The drivers that there are: those of this build, and those that join while a program runs.

use crate::{AnyDevice, BackendDevice, CpuDevice, DeviceInfo, DeviceLocation, Error, ErrorKind, Result};
use parking_lot::RwLock;
use std::fmt;
use std::sync::{Arc, LazyLock};

type Enumerate = dyn Fn() -> Result<Vec<DeviceInfo>> + Send + Sync;
type Open = dyn Fn(usize) -> Result<AnyDevice> + Send + Sync;

/// How a driver's devices are found and opened: what [`register_driver`] takes.
#[derive(Clone)]
pub struct DriverEntry {
    enumerate: Arc<Enumerate>,
    open: Arc<Open>,
}

impl DriverEntry {
    /// A driver by two functions. `enumerate` tells of each device what is known without opening
    /// it, in the order of their ordinals; `open` opens one by its ordinal, and answers
    /// `InvalidArgument` where there is none.
    pub fn new<D: BackendDevice>(
        enumerate: impl Fn() -> Result<Vec<DeviceInfo>> + Send + Sync + 'static,
        open: impl Fn(usize) -> Result<D> + Send + Sync + 'static,
    ) -> Self {
        Self {
            enumerate: Arc::new(enumerate),
            open: Arc::new(move |ordinal| open(ordinal).map(AnyDevice::from_backend)),
        }
    }
}

impl fmt::Debug for DriverEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DriverEntry")
    }
}

type Table = Vec<(&'static str, DriverEntry)>;

static DRIVERS: LazyLock<RwLock<Table>> = LazyLock::new(|| {
    RwLock::new(vec![
        ("cpu", DriverEntry::new(|| Ok(vec![CpuDevice.info()?]), CpuDevice::new)),
        #[cfg(feature = "cuda")]
        ("cuda", DriverEntry::new(isobit_cuda::devices, isobit_cuda::CudaDevice::new)),
        #[cfg(feature = "rocm")]
        ("rocm", DriverEntry::new(isobit_rocm::devices, isobit_rocm::RocmDevice::new)),
    ])
});

/// The table as it is now: what a driver does is called without the lock, for it may ask for the
/// table itself.
fn table() -> Table {
    DRIVERS.read().clone()
}

/// Opens a driver's device; `None` where no driver has the name.
pub(crate) fn open(driver: &str, ordinal: usize) -> Option<Result<AnyDevice>> {
    let (_, entry) = table().into_iter().find(|(name, _)| *name == driver)?;
    Some((entry.open)(ordinal))
}

pub(crate) fn names() -> Vec<&'static str> {
    table().into_iter().map(|(name, _)| name).collect()
}

/// Has a driver from elsewhere join those of this build, for the rest of the process:
/// [`AnyDevice::open`], [`drivers`], [`enumerate`] and [`available_devices`] know it from then on.
/// The name is that which its devices' [`location`](BackendDevice::location) gives.
///
/// A single device needs no name: [`AnyDevice::from_backend`].
///
/// # Errors
/// `InvalidArgument` for a name that another driver has, and for one that could not stand before an
/// ordinal.
pub fn register_driver(name: &'static str, entry: DriverEntry) -> Result<()> {
    let refuse = |why: &str| {
        let message = format!("no driver can join as `{name}`: {why}");
        Err(Error::new(ErrorKind::InvalidArgument, message))
    };
    if name.is_empty() || name.contains(|c: char| c == ':' || c == ',' || c.is_whitespace()) {
        return refuse("a name has no colon, comma or space, as in `cuda`, of which `cuda:0` is a device");
    }
    let mut drivers = DRIVERS.write();
    // The names of this workspace's drivers stay theirs in builds without them.
    if ["cuda", "rocm"].contains(&name) || drivers.iter().any(|(known, _)| *known == name) {
        return refuse("another driver has the name; choose another");
    }
    drivers.push((name, entry));
    Ok(())
}

/// A driver, and what it found.
#[derive(Debug)]
pub struct DriverStatus {
    /// Its name: `cpu`, `cuda`, `rocm`, or that under which it joined.
    pub driver: &'static str,
    /// How many devices it sees, or why it cannot see any.
    pub devices: Result<usize>,
}

/// A device that can be opened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FoundDevice {
    /// Its name for [`AnyDevice::open`].
    pub location: DeviceLocation,
    /// What is known of it while it is not opened: of a GPU no free memory, and no libraries.
    pub info: DeviceInfo,
}

/// Every driver with what it finds on this machine. Creates no context.
pub fn drivers() -> Vec<DriverStatus> {
    let status = |(driver, entry): (_, DriverEntry)| {
        let devices = (entry.enumerate)().map(|found| found.len());
        DriverStatus { driver, devices }
    };
    table().into_iter().map(status).collect()
}

/// What can be told of every device of this machine without opening any: the host, then every GPU,
/// then those of drivers from elsewhere. A driver that sees none is left out; [`drivers`] says why.
/// Creates no context.
pub fn enumerate() -> Vec<FoundDevice> {
    let found = |(driver, entry): (&'static str, DriverEntry)| {
        let infos = (entry.enumerate)().unwrap_or_default();
        let place = move |(ordinal, info)| FoundDevice { location: DeviceLocation { driver, ordinal }, info };
        infos.into_iter().enumerate().map(place)
    };
    table().into_iter().flat_map(found).collect()
}

/// The devices that can be opened on this machine, by name; see [`enumerate`].
pub fn available_devices() -> Vec<DeviceLocation> {
    enumerate().into_iter().map(|found| found.location).collect()
}
