//! The types for a driver chosen at run time: [`DynDevice`](crate::DynDevice) and
//! [`DynStorage`](crate::DynStorage) under the names that programs use, with constructors and
//! accessors for this build's drivers.

mod device;
mod open;
mod storage;

pub use device::AnyDevice;
pub use storage::AnyStorage;
