//! Tests that hold for any driver, on a card, or on simulated ones.

#[path = "../../kernels-common/tests/driver/mod.rs"]
mod driver;
mod simulated;

use driver::device;
use isobit_cuda::{CudaDevice as Device, CudaStorage as Storage, device_count, devices};

#[test]
fn on_simulated_cards() {
    simulated::again("on_simulated_cards");
}

/// From the CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability",
/// and NVIDIA's data sheets for the number of multiprocessors.
#[test]
fn the_limits_are_those_that_nvidia_documents() {
    let Some(device) = device() else { return };
    let limits = device.runtime().limits();
    assert_eq!((limits.warp_size, limits.max_threads_per_block), (32, 1024));
    assert_eq!((limits.max_grid_x, limits.max_grid_yz), (i32::MAX as u32, 65_535));
    assert_eq!(limits.shared_memory_per_block, 48 << 10);
    let arch = device.runtime().arch().to_string();
    let threads = match arch.as_str() {
        "sm_75" => 1024,
        "sm_86" | "sm_87" | "sm_89" | "sm_120" => 1536,
        _ => 2048,
    };
    assert_eq!(limits.max_threads_per_multiprocessor, threads, "{arch}");
    let name = device.info().unwrap().name;
    let known = [("Tesla T4", 40), ("A100-SXM4-80GB", 108), ("H100 80GB HBM3", 132), ("H200", 132)];
    if let Some((_, count)) = known.iter().find(|(card, _)| name.contains(card)) {
        assert_eq!(limits.multiprocessors, *count, "{name}");
    }
}
