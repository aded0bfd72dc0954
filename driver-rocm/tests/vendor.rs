//! MIOpen and rocRAND through the driver, on a card, and on simulated ones where there is none:
//! what holds for the libraries of any vendor.

mod simulated;
#[path = "../../kernels-common/tests/driver/vendor.rs"]
mod vendor;

use isobit_rocm::{RocmDevice as Device, RocmStorage as Storage, device_count};

#[test]
fn on_simulated_cards() {
    simulated::again("on_simulated_cards");
}
