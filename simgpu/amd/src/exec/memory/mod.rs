//! Memory instructions: an operation (a load, a store, an atomic) in a space, which computes the
//! addresses and accesses global, group or private memory with them.

#[doc(hidden)]
pub mod atomic;
pub(super) mod buffer;
mod cache;
mod checked_access;
mod flat;
mod global;
#[doc(hidden)]
pub mod operation;
mod private;
mod scalar;
mod scratch;
mod share;
mod space;
mod width;

pub use private::Private;

/// The tables of these instructions.
pub const TABLES: &[super::Table] = &[
    scalar::TABLE,
    share::TABLE,
    share::TWO,
    share::TWO_FAR,
    share::ATOMICS,
    global::TABLE,
    global::ATOMICS,
    flat::TABLE,
    flat::ATOMICS,
    scratch::TABLE,
    buffer::TABLE,
    buffer::ATOMICS,
    cache::TABLE,
];
