//! Opening and describing a device.

use crate::bench::{Action, Outcome};
use crate::calls::{Call, Expected};
use isobit::{AnyDevice, BackendDevice as _, Result};

/// Opens the device once more.
fn open(device: &AnyDevice) -> Result<Action> {
    let name = device.location().to_string();
    Ok(Box::new(move || AnyDevice::open(&name).map(drop)))
}

pub fn describe(device: &AnyDevice) -> Result<Action> {
    let device = device.clone();
    Ok(Box::new(move || device.info().map(drop)))
}

const fn opens(what: &'static str, names: [&'static str; 2], words: &'static str) -> Call {
    Call::new(what, names, words, open)
}

const fn describes(what: &'static str, names: [&'static str; 2], words: &'static str) -> Call {
    Call::new(what, names, words, describe)
}

pub const CALLS: &[Call] = &[
    opens("initialising the driver", ["cuInit", ""], "initialising the NVIDIA driver"),
    opens("counting the devices", ["cuDeviceGetCount", "hipGetDeviceCount"], "counting"),
    opens("finding the device", ["cuDeviceGet", ""], "finding the device"),
    opens("creating the context", ["cuDevicePrimaryCtxRetain", ""], "creating a context on the device"),
    opens("making the device current", ["cuCtxSetCurrent", "hipSetDevice"], "making the device current"),
    opens("the first attribute", ["cuDeviceGetAttribute", "hipDeviceGetAttribute"], "querying an attribute"),
    Call {
        nth: "5",
        ..opens("the fifth attribute", ["cuDeviceGetAttribute", "hipDeviceGetAttribute"], "querying an attribute")
    },
    opens("the device's properties", ["", "hipGetDevicePropertiesR0600"], "querying the device's properties"),
    opens("the default stream", ["cuStreamCreate", "hipStreamCreateWithFlags"], "creating a stream"),
    Call {
        expected: Expected::Always(Outcome::Works),
        ..opens("the end of the context", ["cuDevicePrimaryCtxRelease_v2", ""], "")
    },
    describes("the device's name", ["cuDeviceGetName", "hipDeviceGetName"], "querying the device's name"),
    describes("the device's memory", ["cuDeviceTotalMem_v2", "hipDeviceTotalMem"], "querying the device's memory"),
    describes("the driver's version", ["cuDriverGetVersion", "hipDriverGetVersion"], "querying the driver's version"),
    describes("the runtime's version", ["", "hipRuntimeGetVersion"], "querying the runtime's version"),
    describes("the free memory", ["cuMemGetInfo_v2", "hipMemGetInfo"], "querying the free memory"),
];
