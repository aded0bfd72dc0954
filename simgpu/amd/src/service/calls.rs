//! Calls of the host by waves, and the services that the device library asks for.

use super::messages::Messages;
use super::packets::{Packet, Packets, SLOT};
use isobit_simgpu_core::check::lanes_of;
use isobit_simgpu_core::memory::Memory;
use isobit_simgpu_core::print::Output;
use isobit_simgpu_core::watch::has_effect;
use parking_lot::Mutex;
use std::fmt;

/// The services, as `services.cl` of ROCm's device library numbers them.
const FUNCTION_CALL: u32 = 1;
const PRINTF: u32 = 2;
const DEVICE_MEMORY: u32 = 3;
const SANITIZER: u32 = 4;

/// The host's side of the calls of one launch.
pub struct HostCalls<'a> {
    packets: Packets,
    memory: &'a Memory,
    output: &'a Output,
    /// The messages that are not complete. The lock is held while calls are answered.
    messages: Mutex<Messages>,
}

impl fmt::Debug for HostCalls<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostCalls").field("packets", &self.packets).finish_non_exhaustive()
    }
}

/// A function of the host that a kernel calls: up to seven words in, two out.
type HostFunction = unsafe extern "C" fn(*mut u64, *const u64);

impl<'a> HostCalls<'a> {
    /// Creates it with a buffer of [`BYTES`](super::packets::BYTES) bytes.
    pub(super) fn new(base: u64, memory: &'a Memory, output: &'a Output) -> Self {
        Self { packets: Packets::new(base), memory, output, messages: Mutex::default() }
    }

    /// Returns the address of the buffer.
    pub(crate) fn address(&self) -> u64 {
        self.packets.address()
    }

    /// Answers all calls that wait. When it returns, the calls made before are answered, by this
    /// host thread or by another one, so the caller's wave does not spin.
    ///
    /// # Errors
    /// Fails if a call cannot be answered.
    pub(crate) fn answer(&self) -> Result<(), String> {
        has_effect();
        let mut messages = self.messages.lock();
        let mut outcome = Ok(());
        for packet in self.packets.ready() {
            outcome = outcome.and(self.serve(packet, &mut messages));
            packet.done();
        }
        outcome
    }

    fn serve(&self, packet: Packet, messages: &mut Messages) -> Result<(), String> {
        let service = packet.service();
        for lane in lanes_of(packet.lanes()) {
            let slot = packet.slot(lane);
            match service {
                FUNCTION_CALL => packet.answer(lane, &self.call(&slot)?),
                PRINTF => packet.answer(lane, &[messages.receive(&slot, self.output)?]),
                DEVICE_MEMORY => return Err(refused(service, "memory that kernels allocate")),
                SANITIZER => return Err(refused(service, "reports of the address sanitizer")),
                _ => return Err(refused(service, "not a known one")),
            }
        }
        Ok(())
    }

    /// Calls a function of the program.
    fn call(&self, slot: &[u64; SLOT]) -> Result<[u64; 2], String> {
        let [function, inputs @ ..] = slot;
        if *function == 0 || self.memory.holds(*function) {
            return Err(format!("the kernel calls a function of the host at {function:#x}, where there is none"));
        }
        let mut outputs = [0; 2];
        // SAFETY: the kernel got the address of the function from the program, which promises that
        // it is one of this type, as it must with the real runtime.
        unsafe {
            let function = std::mem::transmute::<usize, HostFunction>(*function as usize);
            function(outputs.as_mut_ptr(), inputs.as_ptr());
        }
        Ok(outputs)
    }
}

fn refused(service: u32, what: &str) -> String {
    format!("the kernel asks the host for service {service} ({what}), which is not simulated")
}
