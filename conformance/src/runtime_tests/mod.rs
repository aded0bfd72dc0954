//! Tests of what surrounds the operations, one group per topic: streams, events, memory, graphs,
//! user kernels, errors, threads.
//!
//! The cases of a group are drawn from (seed, group, index) alone, like those of cells. A case is a
//! small random program. If it computes, the CPU runs the same program eagerly, and every bit must
//! agree. If a device lacks a capability, it must use the fallback that the HAL documents. If
//! nothing can be done without the capability, the calls must refuse, and the row names the
//! capability.
//!
//! ```
//! use isobit_conformance::runtime_tests::{self, Options};
//! use isobit_hal::CpuDevice;
//!
//! for group in runtime_tests::groups() {
//!     let options = Options::new(0, 4);
//!     let run = runtime_tests::run_group(&CpuDevice, "cpu", group, &options, |_case| {});
//!     assert_eq!(run.row.failed, 0, "{:?}", run.row.worst);
//! }
//! ```

mod capture_errors;
pub(crate) mod case;
mod collectives;
mod counters;
mod errors;
mod events;
mod failures;
mod graphs;
mod group;
mod info;
mod interop;
mod kernels;
mod memory;
mod mirror;
mod pinned;
mod pool;
mod program;
mod source;
mod step;
mod streams;
mod stress;
mod threads;
mod transfer;

pub use group::{Group, GroupRun, Options, groups, run_group};
pub use stress::{Stress, StressError, Stressed, stress};
