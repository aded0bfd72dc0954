//! The vendor-independent part of the simulated GPUs: device memory that tracks its allocations,
//! checks of every access, findings, streams, and the scheduling of work groups over threads.
//!
//! A simulated device gets its memory from [`memory::Memory`], whose addresses are addresses of
//! this process. A launch creates a [`check::Launch`]. Every memory instruction of a wave asks it
//! which lanes may make the access, and makes those accesses itself. An invalid access is reported
//! to [`finding::Findings`] and does not stop the kernel; a launch that made one fails at its end
//! if a card would ([`check::Launch::outcome`]). Launches and copies are submitted to a device as
//! work of [`queue::Queues`].

pub mod check;
pub mod coverage;
pub mod deadlock;
pub mod engine;
pub mod finding;
pub mod local;
pub mod memory;
pub mod print;
pub mod queue;
mod race;
pub mod schedule;
pub mod settings;
pub mod undefined;
pub mod vector;
pub mod watch;
