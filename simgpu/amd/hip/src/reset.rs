//! The reset of a card, with which a program recovers from a failure of its work.

use crate::Code;
use crate::error::call;
use crate::process::{current_device, process};
use isobit_simgpu_amd::dispatch::DEFAULT_STACK;
use isobit_simgpu_core::queue::{EventId, StreamId};
use std::sync::atomic::Ordering;

/// Destroys the memory, streams, events and modules of the current card, restores its limits, and
/// forgets a failure of its work. Kernels that are registered for host functions stay.
#[unsafe(no_mangle)]
pub extern "C" fn hipDeviceReset() -> Code {
    call("hipDeviceReset", || {
        let (process, device) = (process()?, current_device());
        let machine = &process.machine;
        machine.queues.refuse_in_capture()?;
        // Errors of the work are discarded with the card's state. Other cards may use its memory.
        let _ = machine.queues.synchronize_device(device);
        machine.queues.drain(Some(device))?;
        let mut gone = Vec::new();
        process.origins().retain(|&key, origin| {
            let stays = origin.device != device;
            if !stays {
                gone.push(key);
            }
            stays
        });
        for key in gone {
            // The numbers of streams and events are no addresses, and differ from each other.
            let _ = machine.memory.free(key);
            let _ = machine.queues.destroy_stream(StreamId(key));
            let _ = machine.queues.destroy_event(EventId(key));
        }
        process.functions.remove_if(|function| function.device == device);
        process.modules.remove_if(|module| module.device == device);
        process.cards[device].stack.store(DEFAULT_STACK, Ordering::Relaxed);
        process.cards[device].failure.reset();
        Ok(())
    })
}
