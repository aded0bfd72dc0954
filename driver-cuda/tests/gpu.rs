//! The driver on a card: what holds for any driver.

#[path = "../../kernels-common/tests/driver/mod.rs"]
mod driver;

use isobit_cuda::{CudaDevice as Device, CudaStorage as Storage, device_count};
