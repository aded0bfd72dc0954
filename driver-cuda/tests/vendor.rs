//! cuDNN and cuRAND through the driver, on a card: what holds for the libraries of any vendor.

#[path = "../../kernels-common/tests/driver/vendor.rs"]
mod vendor;

use isobit_cuda::{CudaDevice as Device, CudaStorage as Storage, device_count};
