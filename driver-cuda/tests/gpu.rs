//! Tests that hold for any driver, on a card, or on simulated ones.

#[path = "../../kernels-common/tests/driver/mod.rs"]
mod driver;
mod simulated;

use isobit_cuda::{CudaDevice as Device, CudaStorage as Storage, device_count, devices};

#[test]
fn on_simulated_cards() {
    simulated::again("on_simulated_cards");
}
