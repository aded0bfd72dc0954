//! The simulator's own functions, in addition to HIP's.

use crate::process::process;

isobit_simgpu_runtime_common::report_functions!(
    process().ok().map(|process| &process.machine),
    process().map_or(0, |process| process.cards.iter().map(|card| card.gpu.instructions()).sum())
);
