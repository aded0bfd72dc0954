#![doc = include_str!("../README.md")]

mod any;
mod drivers;
#[cfg(any(feature = "cuda", feature = "rocm"))]
#[doc(hidden)]
pub mod launch_sizes;

pub use any::{AnyDevice, AnyStorage};
pub use drivers::{DriverEntry, DriverStatus, FoundDevice, available_devices, drivers, enumerate, register_driver};
pub use isobit_hal::*;

#[cfg(feature = "cuda")]
pub use isobit_cuda as cuda;
#[cfg(feature = "rocm")]
pub use isobit_rocm as rocm;

#[cfg(any(doc, doctest))]
pub mod guide;
