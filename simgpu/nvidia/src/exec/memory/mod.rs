//! Instructions that reach memory: loads, stores, atomics, asynchronous copies and matrix loads, in
//! every state space.
//!
//! What an instruction does with the bytes of its lanes is its [`Form`]; `checked_access` checks
//! the lanes' accesses, in global, shared or local memory or among the arguments, and has the form
//! do it for those that may. Between threads nothing but atomics and barriers orders accesses, as
//! `order` says.

mod address;
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
mod symbol;
mod width;

pub use operation::Form;
pub use pending::Pending;
pub use private::Private;
pub use symbol::symbol;

/// Where shared memory begins in the generic address space: above what a process of the host can
/// map, as local memory does.
pub const SHARED_APERTURE: u64 = 1 << 48;
/// Where local memory begins in the generic address space.
pub const LOCAL_APERTURE: u64 = 2 << 48;
/// Bytes of the generic address space that shared memory takes, and local memory.
pub const APERTURE: u64 = 1 << 32;

/// Their tables.
pub const TABLES: &[crate::lower::Table] =
    &[load_store::TABLE, atomic::TABLE, copy::TABLE, matrix::TABLE, fence::TABLE, hint::TABLE, symbol::TABLE];
