//! The table of drivers: those of this build and those registered while the program runs.

use crate::{AnyDevice, BackendDevice, CpuDevice, DeviceInfo, DeviceLocation, Error, ErrorKind, Result};
use parking_lot::RwLock;
use std::fmt;
use std::sync::{Arc, LazyLock};

type Enumerate = dyn Fn() -> Result<Vec<DeviceInfo>> + Send + Sync;
type Open = dyn Fn(usize) -> Result<AnyDevice> + Send + Sync;

/// How to find and open the devices of a driver; the argument of [`register_driver`].
#[derive(Clone)]
pub struct DriverEntry {
    enumerate: Arc<Enumerate>,
    open: Arc<Open>,
}

impl DriverEntry {
    /// Describes a driver by two functions. `enumerate` returns what is known of each device
    /// without opening it, in the order of the ordinals. `open` opens a device by its ordinal, and
    /// returns `InvalidArgument` if there is none.
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

/// Returns a copy of the table. Driver functions are called without holding the lock, because they
/// may read the table themselves.
fn table() -> Table {
    DRIVERS.read().clone()
}

/// Opens a device of a driver. Returns `None` if no driver has that name.
pub(crate) fn open(driver: &str, ordinal: usize) -> Option<Result<AnyDevice>> {
    let (_, entry) = table().into_iter().find(|(name, _)| *name == driver)?;
    Some((entry.open)(ordinal))
}

pub(crate) fn names() -> Vec<&'static str> {
    table().into_iter().map(|(name, _)| name).collect()
}

/// Registers an out-of-tree driver for the rest of the process. [`AnyDevice::open`], [`drivers`],
/// [`enumerate`] and [`available_devices`] include it from then on. `name` must be the driver name
/// in the [`location`](BackendDevice::location) of its devices.
///
/// To use a single device without registering a driver, see [`AnyDevice::from_backend`].
///
/// ```
/// use isobit::{AnyDevice, BackendDevice, CpuDevice, DriverEntry, register_driver};
///
/// // A real driver passes the constructor of its own device type.
/// let entry = DriverEntry::new(|| Ok(vec![CpuDevice.info()?]), CpuDevice::new);
/// register_driver("second-cpu", entry)?;
/// assert!(AnyDevice::open("second-cpu:0")?.is_cpu());
/// # Ok::<(), isobit::Error>(())
/// ```
///
/// # Errors
/// Returns `InvalidArgument` if another driver has the name, or if the name is empty or has a
/// colon, a comma or white space.
pub fn register_driver(name: &'static str, entry: DriverEntry) -> Result<()> {
    let refuse = |why: &str| {
        let message = format!("cannot register the driver `{name}`: {why}");
        Err(Error::new(ErrorKind::InvalidArgument, message))
    };
    if name.is_empty() || name.contains(|c: char| c == ':' || c == ',' || c.is_whitespace()) {
        return refuse("the name must not be empty or have a colon, a comma or white space");
    }
    let mut drivers = DRIVERS.write();
    // The names of this workspace's drivers are reserved, also in builds without those drivers.
    if ["cuda", "rocm"].contains(&name) || drivers.iter().any(|(known, _)| *known == name) {
        return refuse("another driver has this name");
    }
    drivers.push((name, entry));
    Ok(())
}

/// A driver and the number of devices that it finds.
#[derive(Debug)]
pub struct DriverStatus {
    /// Its name: `cpu`, `cuda`, `rocm`, or the name it was registered under.
    pub driver: &'static str,
    /// The number of devices it finds, or the error that keeps it from finding any.
    pub devices: Result<usize>,
}

/// A device that can be opened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FoundDevice {
    /// Its name for [`AnyDevice::open`].
    pub location: DeviceLocation,
    /// What is known of the device without opening it. For a GPU, this excludes free memory and
    /// libraries.
    pub info: DeviceInfo,
}

/// Returns every driver with the number of devices it finds on this machine. Creates no context.
///
/// ```
/// let cpu = &isobit::drivers()[0];
/// assert_eq!((cpu.driver, *cpu.devices.as_ref().unwrap()), ("cpu", 1));
/// ```
pub fn drivers() -> Vec<DriverStatus> {
    let status = |(driver, entry): (_, DriverEntry)| {
        let devices = (entry.enumerate)().map(|found| found.len());
        DriverStatus { driver, devices }
    };
    table().into_iter().map(status).collect()
}

/// Describes every device of this machine without opening any: first the CPU, then GPUs, then
/// devices of registered drivers. Drivers that find no device are omitted; [`drivers`] returns the
/// reason. Creates no context.
///
/// ```
/// let found = isobit::enumerate();
/// assert_eq!(found[0].location.to_string(), "cpu:0");
/// for device in &found {
///     println!("{}: {}", device.location, device.info.name);
/// }
/// ```
pub fn enumerate() -> Vec<FoundDevice> {
    let found = |(driver, entry): (&'static str, DriverEntry)| {
        let infos = (entry.enumerate)().unwrap_or_default();
        let place = move |(ordinal, info)| FoundDevice { location: DeviceLocation { driver, ordinal }, info };
        infos.into_iter().enumerate().map(place)
    };
    table().into_iter().flat_map(found).collect()
}

/// Returns the names of the devices that can be opened on this machine; see [`enumerate`].
pub fn available_devices() -> Vec<DeviceLocation> {
    enumerate().into_iter().map(|found| found.location).collect()
}
