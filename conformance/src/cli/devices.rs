//! Selects the devices to run, by the names that reports use.

use super::simulated::Simulated;
use anyhow::{Context, Result, bail};
use isobit::{AnyDevice, BackendDevice};
use isobit_conformance::report::{DeviceRow, NotRun};

/// The driver names that a device id may start with.
const DRIVERS: &[&str] = &["cpu", "cuda", "rocm", "sim-cuda", "sim-rocm"];

/// The devices to run.
#[derive(Debug, Default)]
pub struct Plan {
    /// Whether the CPU runs as a subject of its own.
    pub cpu: bool,
    /// The other devices, one worker each.
    pub workers: Vec<String>,
    /// Default devices that are absent.
    pub not_run: Vec<NotRun>,
    /// Whether the user named the devices: an absent one is then an error.
    pub asked: bool,
}

/// Returns the requested devices; by default, the CPU, every GPU found, and the simulated GPUs of
/// each vendor without a real one.
///
/// # Errors
/// Fails if a name is not a device name, or if a requested simulated device cannot be started.
pub fn plan(asked: &[String]) -> Result<Plan> {
    if !asked.is_empty() {
        let mut plan = Plan { asked: true, ..Plan::default() };
        for id in asked {
            let id = canonical(id)?;
            if let Some(simulated) = Simulated::of(&id) {
                simulated.ready()?;
            }
            match id {
                id if id == "cpu" => plan.cpu = true,
                id if plan.workers.contains(&id) => {}
                id => plan.workers.push(id),
            }
        }
        return Ok(plan);
    }
    let mut plan = Plan { cpu: true, ..Plan::default() };
    let drivers = isobit::drivers();
    for (driver, absent) in [("cuda", AnyDevice::new_cuda as fn(usize) -> _), ("rocm", AnyDevice::new_rocm)] {
        let none = |reason: String| NotRun { id: driver.into(), reason };
        match drivers.iter().find(|s| s.driver == driver).map(|s| &s.devices) {
            Some(Ok(0)) => plan.not_run.push(none("the driver is installed but finds no device".into())),
            Some(Ok(n)) => plan.workers.extend((0..*n).map(|i| format!("{driver}:{i}"))),
            Some(Err(e)) => plan.not_run.push(none(e.message().into())),
            // The driver is not in this build; opening a device returns the reason.
            None => plan.not_run.extend(absent(0).err().map(|e: isobit::Error| none(e.message().into()))),
        }
    }
    let (real, instead) = (plan.workers.clone(), ["cuda", "rocm"]);
    for driver in instead.into_iter().filter(|driver| !real.iter().any(|id| id.split(':').next() == Some(driver))) {
        for simulated in Simulated::instead_of(driver) {
            match simulated.ready() {
                Ok(()) => plan.workers.push(simulated.id()),
                Err(e) => plan.not_run.push(NotRun { id: simulated.id(), reason: format!("{e:#}") }),
            }
        }
    }
    Ok(plan)
}

/// Returns the name that reports use: `cpu` for `cpu:0`, `cuda:0` for `cuda`.
///
/// # Errors
/// Fails if the name is not a device name.
pub fn canonical(id: &str) -> Result<String> {
    let (driver, rest) = id.split_once(':').map_or((id, None), |(d, r)| (d, Some(r)));
    super::select::known("driver", driver, DRIVERS)?;
    if driver.starts_with("sim-") {
        return Ok(Simulated::named(driver, rest)?.id());
    }
    match (driver, rest) {
        ("cpu", None | Some("0")) => Ok("cpu".into()),
        (_, None) => Ok(format!("{driver}:0")),
        (_, Some(n)) if n.parse::<usize>().is_ok() => Ok(id.into()),
        (_, Some(n)) => bail!("{id}: `{n}` is not an ordinal; name a device like {driver}:0"),
    }
}

/// Opens a device. A simulated device opens only in a process that was started for it.
///
/// # Errors
/// Returns the driver's error if the driver or the device is absent.
pub fn open(id: &str) -> Result<AnyDevice> {
    let name = Simulated::of(id).map_or_else(|| id.into(), Simulated::opened_as);
    AnyDevice::open(&name).with_context(|| format!("device {id}"))
}

/// Opens `count` further devices of the driver, from the given one on, and further instances of the
/// given one where there are not so many.
pub fn open_others(id: &str, count: usize) -> Vec<AnyDevice> {
    let name = Simulated::of(id).map_or_else(|| id.into(), Simulated::opened_as);
    let next = |n: usize| {
        let (driver, ordinal) = name.split_once(':')?;
        AnyDevice::open(&format!("{driver}:{}", ordinal.parse::<usize>().ok()? + n)).ok()
    };
    let others: Vec<AnyDevice> = (1..=count).map_while(next).collect();
    let again = others.len()..count;
    others.into_iter().chain(again.map_while(|_| open(id).ok())).collect()
}

/// Returns the device's description of itself.
///
/// # Errors
/// Returns the driver's error if the query fails.
pub fn row(id: &str, device: &AnyDevice) -> Result<DeviceRow> {
    let info = device.info().with_context(|| format!("device {id}"))?;
    Ok(DeviceRow {
        id: id.into(),
        driver: info.driver,
        name: info.name,
        arch: info.arch,
        simulated: info.simulated,
        warp_size: info.warp_size,
        memory_bytes: info.memory_total,
        driver_version: info.driver_version,
        instructions_executed: None,
        launch_sizes: Vec::new(),
    })
}
