//! Models of candle-transformers with weights from a seed, and what is claimed of their results:
//! they are close to candle's own CPU backend, and with portable numerics they have the same bits
//! on every device.

pub mod compare;
pub mod models;
pub mod training;
pub mod weights;

use candle_core::{Device, Result};

/// Returns the device that `Device::new_cuda(0)` means.
///
/// # Errors
/// If there is none.
pub fn device() -> Result<Device> {
    Device::new_cuda(0)
}
