//! What NCCL and RCCL do on simulated GPUs: communicators between the threads and processes of one
//! machine, and collectives that are computed on the host in stream order. Both vendors have one
//! interface under the same names, so their libraries only declare it ([`collective_functions!`]).
//!
//! A communicator has a *hub*, in the process that made its id. Ranks of that process call the hub;
//! ranks of other processes reach it through a socket whose name is in the id. The part of a rank
//! in a collective is work of its stream: it passes the rank's elements to the hub, waits there for
//! the other ranks, and writes the result.
//!
//! Sums are made in the order of a ring, another one for each chunk, and never depend on time. NCCL
//! promises no order, so a program that relies on that of the ranks is wrong.
//!
//! Where NCCL would wait for ever or compute nonsense, there is an error: calls of ranks that do
//! not fit together, ranks that never come, ranks that have ended.

pub mod api;
mod batch;
mod call;
mod combine;
mod communicator;
mod exports;
mod hub;
mod id;
mod launch;
mod link;
mod number;
mod packet;
mod request;
mod server;
mod status;
mod transfer;

pub use id::UniqueId;
pub use isobit_simgpu_library_common as common;
pub use status::{Failure, Status};
