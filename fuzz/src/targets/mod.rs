//! The targets.

pub(crate) mod kernels;
pub(crate) mod reports;
pub(crate) mod simulators;
