#![doc = include_str!("../README.md")]

mod any;

pub use any::{AnyDevice, AnyStorage};
pub use isobit_hal::*;

#[cfg(feature = "cuda")]
pub use isobit_cuda as cuda;
#[cfg(feature = "rocm")]
pub use isobit_rocm as rocm;

/// A driver that this build carries, and what it found.
#[derive(Debug)]
pub struct DriverStatus {
    /// Its name: `cpu`, `cuda`, `rocm`.
    pub driver: &'static str,
    /// How many devices it sees, or why it cannot see any.
    pub devices: Result<usize>,
}

/// Every driver of this build with what it finds on this machine. Creates no context.
pub fn drivers() -> Vec<DriverStatus> {
    vec![
        DriverStatus { driver: "cpu", devices: Ok(1) },
        #[cfg(feature = "cuda")]
        DriverStatus { driver: "cuda", devices: isobit_cuda::device_count() },
        #[cfg(feature = "rocm")]
        DriverStatus { driver: "rocm", devices: isobit_rocm::device_count() },
    ]
}

/// The devices that can be opened on this machine: `cpu:0`, then every GPU. Creates no context.
pub fn available_devices() -> Vec<DeviceLocation> {
    drivers()
        .into_iter()
        .flat_map(|s| (0..s.devices.unwrap_or(0)).map(move |ordinal| DeviceLocation { driver: s.driver, ordinal }))
        .collect()
}
