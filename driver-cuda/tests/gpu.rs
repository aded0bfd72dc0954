//! Tests that hold for any driver, on a card, or on simulated ones.

#[path = "../../kernels-common/tests/driver/mod.rs"]
mod driver;
mod simulated;

use isobit_cuda::{CudaDevice as Device, CudaStorage as Storage, device_count, devices};
use isobit_hal::BackendDevice;

#[test]
fn on_simulated_cards() {
    simulated::again("on_simulated_cards");
}

/// The simulated cards have the numbers that NVIDIA publishes: multiprocessors from the data
/// sheets, the rest from the table of compute capabilities.
#[test]
fn limits_are_those_of_the_card() {
    let Some(device) = driver::device() else { return };
    let info = device.info().unwrap();
    let multiprocessors = match info.arch.as_str() {
        "sm_80" => 108,
        "sm_90" => 132,
        _ => return eprintln!("skipped: {} is not one of the cards that are simulated", info.name),
    };
    if !info.simulated {
        return eprintln!("skipped: cards of {} differ in their multiprocessors", info.arch);
    }
    let limits = info.limits.unwrap();
    assert_eq!((limits.multiprocessors, info.multiprocessors), (multiprocessors, multiprocessors as usize));
    assert_eq!((limits.warp_size, info.warp_size), (32, 32));
    assert_eq!((limits.max_grid_x, limits.max_grid_yz), (i32::MAX as u32, 65535));
    assert_eq!((limits.max_threads_per_block, limits.max_threads_per_multiprocessor), (1024, 2048));
    assert_eq!(limits.shared_memory_per_block, 48 << 10);
}
