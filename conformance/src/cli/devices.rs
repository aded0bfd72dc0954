//! Which devices run, by the names that reports give them.

use super::simulated::Simulated;
use super::simulator::Simulator;
use anyhow::{Context, Result, bail};
use isobit::{AnyDevice, BackendDevice};
use isobit_conformance::report::{DeviceRow, NotRun};

/// The drivers whose names a device's id may start with.
const DRIVERS: &[&str] = &["cpu", "cuda", "rocm", "sim-cuda", "sim-rocm"];

/// What is to run.
#[derive(Debug, Default)]
pub struct Plan {
    /// The CPU, as a subject of its own.
    pub cpu: bool,
    /// The others, a worker each.
    pub workers: Vec<String>,
    /// Those that are not here, where nobody asked for them.
    pub not_run: Vec<NotRun>,
    /// True where they were asked for: an absent one is an error.
    pub asked: bool,
}

/// The devices asked for; without any, the CPU, every GPU found, and for a vendor of which there is
/// none its simulated ones.
///
/// # Errors
/// A name that is no device; a simulated one that cannot be started.
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
            Some(Ok(0)) => plan.not_run.push(none("the driver is here and sees no device".into())),
            Some(Ok(n)) => plan.workers.extend((0..*n).map(|i| format!("{driver}:{i}"))),
            Some(Err(e)) => plan.not_run.push(none(e.message().into())),
            // Not in this build: opening one says so.
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

/// The name in reports: `cpu` for `cpu:0`, `cuda:0` for `cuda`.
///
/// # Errors
/// A name that is no device's.
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

/// Opens a device; a simulated one, in a process that was started for it.
///
/// # Errors
/// Those of the driver: it is not here, or there is no such device.
pub fn open(id: &str) -> Result<AnyDevice> {
    let name = Simulated::of(id).map_or_else(|| id.into(), Simulated::opened_as);
    AnyDevice::open(&name).with_context(|| format!("device {id}"))
}

/// The next device of the driver where there is one, else another instance of the one named.
///
/// # Errors
/// As [`open`].
pub fn open_another(id: &str) -> Result<AnyDevice> {
    let next = match id.split_once(':').map(|(driver, ordinal)| (driver, ordinal.parse::<usize>())) {
        Some((driver, Ok(ordinal))) => AnyDevice::open(&format!("{driver}:{}", ordinal + 1)).ok(),
        _ => None,
    };
    next.map_or_else(|| open(id), Ok)
}

/// What a device says of itself, and whether it is simulated, which its driver cannot know.
///
/// # Errors
/// Those of the driver while asking.
pub fn row(id: &str, device: &AnyDevice) -> Result<DeviceRow> {
    let info = device.info().with_context(|| format!("device {id}"))?;
    let simulated = info.simulated || info.driver != "cpu" && Simulator::loaded().is_some();
    Ok(DeviceRow {
        id: id.into(),
        driver: info.driver,
        name: info.name,
        arch: info.arch,
        simulated,
        warp_size: info.warp_size,
        memory_bytes: info.memory_total,
        driver_version: info.driver_version,
        instructions_executed: None,
    })
}
