//! candle's device backend on Isobit: NVIDIA, AMD and simulated GPUs, and Isobit's CPU, as candle's
//! `Device::Cuda`. This folder is part of Isobit; `cargo xtask candle` puts it into candle-core.

pub(crate) mod convert;
mod device;
mod reduced_precision;
mod storage;

pub use device::{CudaDevice, DeviceId};
pub use isobit_candle_glue::isobit;
pub use reduced_precision::*;
pub use storage::CudaStorage;

pub(crate) use isobit_candle_glue as glue;
