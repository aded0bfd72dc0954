//! The simulator's own functions, in addition to HIP's.

use crate::Code;
use crate::process::{current_device, process};
use isobit_simgpu_fault::Vendor;
use isobit_simgpu_runtime_common::fault::Calls;

/// Every call of the interface.
pub(crate) static CALLS: Calls = Calls::new(Vendor::Amd, || {
    if let Some(card) = process().ok().and_then(|process| process.cards.get(current_device())) {
        card.failure.lose();
    }
});

isobit_simgpu_runtime_common::fault_functions!(CALLS, Code);

isobit_simgpu_runtime_common::report_functions!(
    process().ok().map(|process| &process.machine),
    process().map_or(0, |process| process.cards.iter().map(|card| card.gpu.instructions()).sum())
);
