//! Drivers as objects: [`DynDevice`] and [`DynStorage`] hold a device or storage of any driver,
//! including drivers unknown when the program was written.
//!
//! The lists in `methods.rs` generate most methods. The few methods that take storages as operands
//! are written by hand in `device.rs` and `storage.rs`.

mod device;
mod func;
mod methods;
mod storage;

pub use device::DynDevice;
pub use storage::DynStorage;
