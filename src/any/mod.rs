//! The driver chosen at run time: [`DynDevice`](crate::DynDevice) and
//! [`DynStorage`](crate::DynStorage) under the names that a program uses, with ways to open and to
//! look inside this build's drivers.

mod device;
mod open;
mod storage;

pub use device::AnyDevice;
pub use storage::AnyStorage;
