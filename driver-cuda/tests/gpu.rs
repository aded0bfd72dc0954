//! The driver on a card, and on simulated ones where there is none: what holds for any driver.

#[path = "../../kernels-common/tests/driver/mod.rs"]
mod driver;
mod simulated;

use isobit_cuda::{CudaDevice as Device, CudaStorage as Storage, device_count, devices};

#[test]
fn on_simulated_cards() {
    simulated::again("on_simulated_cards");
}
