//! A driver as an object: [`DynDevice`] and [`DynStorage`] hold any driver's, also one that was not
//! known when the program that uses them was written.
//!
//! Beside what the lists in `methods.rs` make, the few methods that take storages as operands are
//! written out in `device.rs` and `storage.rs`.

mod device;
mod func;
mod methods;
mod storage;

pub use device::DynDevice;
pub use storage::DynStorage;
