//! Copies between two devices of one vendor.

use crate::bench::{Action, Outcome};
use crate::calls::{Call, Expected};
use isobit::{AnyDevice, BackendDevice as _, BackendStorage as _, Result};

/// Copies to the other card, with both devices opened for it: access is enabled once.
fn copies(device: &AnyDevice) -> Result<Action> {
    let driver = device.location().driver;
    let [one, other] = [0, 1].map(|card| AnyDevice::open(&format!("{driver}:{card}")));
    let (one, other) = (one?, other?);
    let data: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let storage = one.storage_from_slice(&data)?;
    Ok(Box::new(move || {
        let copy = storage.to_device(&other)?;
        assert_eq!(copy.to_vec::<f32>()?, data);
        Ok(())
    }))
}

const fn peer(what: &'static str, names: [&'static str; 2], expected: Expected) -> Call {
    Call { what, names, nth: "1", expected, prepare: copies }
}

pub const CALLS: &[Call] = &[
    peer(
        "whether two devices are peers",
        ["cuDeviceCanAccessPeer", "hipDeviceCanAccessPeer"],
        Expected::Always(Outcome::Works),
    ),
    peer(
        "access to a peer",
        ["cuCtxEnablePeerAccess", "hipDeviceEnablePeerAccess"],
        Expected::ItsKind("enabling access to another device's memory"),
    ),
    peer(
        "access to a peer that is enabled already",
        ["cuCtxEnablePeerAccess", "hipDeviceEnablePeerAccess"],
        Expected::One(["CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "hipErrorPeerAccessAlreadyEnabled"], Outcome::Works),
    ),
    peer(
        "a copy from a peer",
        ["cuMemcpyPeerAsync", "hipMemcpyPeerAsync"],
        Expected::ItsKind("copying from another device"),
    ),
];
