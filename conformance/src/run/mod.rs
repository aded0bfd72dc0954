//! Runs a case on a device, twice between guard bands and against the reference; runs the cases of
//! a cell; and shrinks a failure.

mod buffer;
mod cell;
mod check;
mod digest;
mod exec;
mod fault;
mod launches;
mod shrink;
mod watch;

pub(crate) use buffer::pack;
pub use cell::{CellRun, Failure, Options, run_cell};
#[cfg(test)]
pub(crate) use check::exact_inputs;
pub use check::{Bench, CaseRun, Reference, run_case};
pub use digest::{CellDigests, DeviceDigests, Digests, KnownResult, KnownResults, result_digest};
#[cfg(test)]
pub(crate) use exec::Operands;
pub(crate) use exec::caught;
pub use exec::in_call;
pub use fault::Fault;
pub use launches::Launches;
pub use shrink::shrink;
pub use watch::{Sighting, Watch};
