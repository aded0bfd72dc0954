//! rocBLAS, MIOpen and rocRAND through the driver: tests that hold for the libraries of any vendor,
//! on a card, or on simulated ones.

#[path = "../../kernels-common/tests/driver/byte_products.rs"]
mod byte_products;
#[path = "../../kernels-common/tests/driver/scaled_products.rs"]
mod scaled_products;
mod simulated;
#[path = "../../kernels-common/tests/driver/vendor.rs"]
mod vendor;

use isobit_rocm::{RocmDevice as Device, RocmStorage as Storage, device_count};

#[test]
fn on_simulated_cards() {
    simulated::again("on_simulated_cards");
}
