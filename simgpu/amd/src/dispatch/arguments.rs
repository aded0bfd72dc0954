//! The argument segment of a launch, and the dispatch packet that some kernels read.

use crate::loader::{ArgKind, Kernel};
use crate::service::{HostCalls, Running};
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::memory::{Kind, Memory};
use parking_lot::Mutex;
use std::sync::Arc;

/// Slots of device memory for the arguments of launches. They are reused, because an allocation per
/// launch would change the table of allocations each time.
pub(super) struct Arguments {
    memory: Arc<Memory>,
    free: Mutex<Vec<Slot>>,
}

#[derive(Clone, Copy)]
struct Slot {
    base: u64,
    bytes: usize,
}

/// The arguments of one launch.
pub(super) struct Filled<'a> {
    owner: &'a Arguments,
    slot: Slot,
    /// The address of the segment.
    pub(super) kernarg: u64,
    /// The address of the dispatch packet.
    pub(super) packet: u64,
}

impl Drop for Filled<'_> {
    fn drop(&mut self) {
        self.owner.free.lock().push(self.slot);
    }
}

/// The size of a dispatch packet in bytes.
const PACKET: usize = 64;
/// The minimum size of a slot in bytes; no kernel of the tree has more arguments.
const SLOT: usize = 4096;

impl Arguments {
    pub(super) fn new(memory: Arc<Memory>) -> Self {
        Self { memory, free: Mutex::default() }
    }

    fn take(&self, bytes: usize) -> Result<Slot, Fault> {
        let mut free = self.free.lock();
        if let Some(at) = free.iter().position(|slot| slot.bytes >= bytes) {
            return Ok(free.swap_remove(at));
        }
        let bytes = bytes.max(SLOT);
        let base =
            self.memory.alloc(bytes, Kind::Constant, "kernel arguments").map_err(|e| Fault::new(e.to_string()))?;
        Ok(Slot { base, bytes })
    }

    #[expect(clippy::too_many_arguments, reason = "a launch has that many properties")]
    pub(super) fn fill(
        &self,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_lds: u32,
        stack: u32,
        explicit: &[u8],
        services: &Running<'_>,
    ) -> Result<Filled<'_>, Fault> {
        let bytes = (kernel.kernarg_bytes as usize).next_multiple_of(PACKET);
        let mut segment = vec![0; bytes + PACKET];
        let given = explicit.len().min(kernel.kernarg_bytes as usize);
        segment[..given].copy_from_slice(&explicit[..given]);
        for arg in &kernel.args {
            let value = match arg.kind {
                ArgKind::Explicit => continue,
                ArgKind::BlockCount(d) => grid[d].into(),
                ArgKind::GroupSize(d) => block[d].into(),
                ArgKind::GridDims => 1 + u64::from(grid[1] * block[1] > 1) + u64::from(grid[2] * block[2] > 1),
                ArgKind::DynamicLds => dynamic_lds.into(),
                ArgKind::PrivateBase => super::PRIVATE_APERTURE.into(),
                ArgKind::SharedBase => super::SHARED_APERTURE.into(),
                ArgKind::HostCalls => services.host_calls().map_or(0, HostCalls::address),
                ArgKind::Records => services.records(),
                ArgKind::Remainder(_) | ArgKind::GlobalOffset(_) | ArgKind::Null => 0u64,
            };
            let (at, size) = (arg.offset as usize, (arg.bytes as usize).min(8));
            let place = segment[..bytes].get_mut(at..at + size);
            let place = place
                .ok_or_else(|| Fault::new(format!("{}: an argument lies outside the argument segment", kernel.name)))?;
            place.copy_from_slice(&value.to_le_bytes()[..size]);
        }
        let slot = self.take(segment.len())?;
        let filled = Filled { owner: self, slot, kernarg: slot.base, packet: slot.base + bytes as u64 };
        let packet = &mut segment[bytes..];
        packet[4..10].copy_from_slice(&[block[0], block[1], block[2]].map(|n| (n as u16).to_le_bytes()).concat());
        let items = [0, 1, 2].map(|d| grid[d].wrapping_mul(block[d]).to_le_bytes()).concat();
        packet[12..24].copy_from_slice(&items);
        packet[24..28].copy_from_slice(&kernel.private_with(stack).to_le_bytes());
        packet[28..32].copy_from_slice(&(kernel.lds_bytes + dynamic_lds).to_le_bytes());
        packet[40..48].copy_from_slice(&filled.kernarg.to_le_bytes());
        // SAFETY: the slot is an allocation of at least `segment.len()` bytes that only this launch
        // uses.
        unsafe { std::ptr::copy_nonoverlapping(segment.as_ptr(), slot.base as *mut u8, segment.len()) };
        Ok(filled)
    }
}
