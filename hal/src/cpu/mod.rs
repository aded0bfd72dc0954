//! The CPU driver: the reference that every other driver is held to, and the default where there is no GPU.

mod device;
mod storage;

pub use device::CpuDevice;
pub use storage::CpuStorage;
