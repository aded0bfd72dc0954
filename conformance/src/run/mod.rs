//! Running: a case on a device between guard bands, twice, and against the reference; a cell of cases; a failure made small.

mod buffer;
mod cell;
mod digest;
mod exec;
mod fault;
mod shrink;

pub use cell::{CellRun, Failure, Options, run_cell};
pub use digest::{CellDigests, DigestFile, DigestHeader, result_digest};
pub use exec::{CaseRun, Reference, in_call, run_case};
pub use fault::Fault;
pub use shrink::shrink;
