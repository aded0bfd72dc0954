//! The simulator's own functions, which extend CUDA's API.

use crate::Code;
use crate::current::current_slot;
use crate::process::process;
use isobit_simgpu_fault::Vendor;
use isobit_simgpu_runtime_common::fault::Calls;

/// Every call of the interface.
pub(crate) static CALLS: Calls = Calls::new(Vendor::Nvidia, || {
    if let Some(context) = current_slot().and_then(|(_, slot)| slot.get()) {
        context.failure.lose();
    }
});

isobit_simgpu_runtime_common::fault_functions!(CALLS, Code);

isobit_simgpu_runtime_common::report_functions!(
    process().ok().map(|process| &process.machine),
    process().map_or(0, |process| process.cards.iter().map(|card| card.gpu.instructions()).sum())
);
