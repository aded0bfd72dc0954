//! What surrounds the operations, held to its contract group by group: streams, events, memory,
//! graphs, kernels of a user's own, errors, threads.
//!
//! A group is drawn in cases from (seed, group, index) alone, as cells are. A case is a small
//! random program; where it computes, the CPU does the same program eagerly, and every bit must
//! agree. What a device lacks it must do in the plain meaning that the HAL documents; where a
//! capability's absence leaves nothing to do, the calls must refuse, and the row says which
//! capability it is.
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
mod case;
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
