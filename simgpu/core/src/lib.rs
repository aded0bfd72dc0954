//! What the simulated GPUs share: device memory that knows its allocations, checks on every access,
//! findings, streams, and the running of work groups over threads. It knows no vendor.
//!
//! A simulated device gets its memory from [`memory::Memory`], whose addresses are addresses of
//! this process. A launch makes a [`check::Launch`]; every memory instruction of a wave asks it
//! which lanes may make the access, and makes those accesses itself. What is wrong with an access
//! is told to [`finding::Findings`] and does not stop the kernel. Launches and copies reach a
//! device as work of [`queue::Queues`].

pub mod check;
pub mod engine;
pub mod finding;
pub mod local;
pub mod memory;
pub mod queue;
mod race;
pub mod schedule;
pub mod settings;
pub mod vector;
