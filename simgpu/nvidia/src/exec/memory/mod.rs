//! Instructions that access memory: loads, stores, atomics, asynchronous copies and matrix loads,
//! in every state space.
//!
//! A [`Form`] describes what an instruction does with the bytes of its lanes. `checked_access`
//! checks the lanes' accesses to global, shared or local memory or to the arguments, and runs the
//! form for the lanes that pass. Only atomics and barriers order accesses of different threads, as
//! `order` describes.

mod address;
mod arguments;
mod atomic;
mod atomic_op;
mod checked_access;
mod copy;
mod fence;
mod hint;
mod load_store;
mod matrix;
mod operation;
mod pending;
mod private;
mod reading;
mod symbol;
mod width;

pub use operation::{Form, lanes_in};
pub use pending::Pending;
pub use private::Private;
pub use reading::{read, text};
pub use symbol::{function, symbol};

/// The start of shared memory in the generic address space. Like that of local memory, it is above
/// every address that a host process can map.
pub const SHARED_APERTURE: u64 = 1 << 48;
/// The start of local memory in the generic address space.
pub const LOCAL_APERTURE: u64 = 2 << 48;
/// The start of the addresses of functions, where no memory is.
pub const FUNCTION_APERTURE: u64 = 3 << 48;
/// The size of each of the two windows in the generic address space, in bytes.
pub const APERTURE: u64 = 1 << 32;

/// The tables of these instructions.
pub const TABLES: &[crate::lower::Table] =
    &[load_store::TABLE, atomic::TABLE, copy::TABLE, matrix::TABLE, fence::TABLE, hint::TABLE, symbol::TABLE];
