//! Measures how long a device takes.

use isobit::{BackendDevice, Result};
use std::time::Instant;

/// Returns the seconds of `work`, with a wait for the device before and after.
///
/// # Errors
/// Returns the errors of the work and of the device.
pub fn seconds<D: BackendDevice>(device: &D, work: impl FnOnce() -> Result<()>) -> Result<f64> {
    device.synchronize()?;
    let start = Instant::now();
    work()?;
    device.synchronize()?;
    Ok(start.elapsed().as_secs_f64())
}

/// Returns the median of timings: of an even number, the longer of the two in the middle.
///
/// # Panics
/// If there are none.
pub fn median(mut timings: Vec<f64>) -> f64 {
    timings.sort_by(f64::total_cmp);
    timings[timings.len() / 2]
}
