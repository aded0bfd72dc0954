//! The argument buffer of a launch, in device memory.

use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::memory::{Kind, Memory};
use parking_lot::Mutex;
use std::sync::Arc;

/// Slots in which launches put their arguments. Launches reuse them, because one allocation per
/// launch would change the table of allocations each time.
pub(super) struct Arguments {
    memory: Arc<Memory>,
    free: Mutex<Vec<Slot>>,
}

#[derive(Clone, Copy)]
struct Slot {
    base: u64,
    room: usize,
}

/// The arguments of one launch.
pub(super) struct Filled<'a> {
    owner: &'a Arguments,
    slot: Slot,
    bytes: usize,
}

impl Drop for Filled<'_> {
    fn drop(&mut self) {
        self.owner.free.lock().push(self.slot);
    }
}

/// The minimum size of a slot: the maximum size of kernel arguments until CUDA 12.1.
const SLOT: usize = 4096;

impl Arguments {
    pub(super) fn new(memory: Arc<Memory>) -> Self {
        Self { memory, free: Mutex::default() }
    }

    fn take(&self, bytes: usize) -> Result<Slot, Fault> {
        let mut free = self.free.lock();
        if let Some(at) = free.iter().position(|slot| slot.room >= bytes) {
            return Ok(free.swap_remove(at));
        }
        let room = bytes.max(SLOT);
        let base =
            self.memory.alloc(room, Kind::Constant, "kernel arguments").map_err(|e| Fault::new(e.to_string()))?;
        Ok(Slot { base, room })
    }

    /// Copies the first `bytes` bytes of `given` to a slot and pads them with zeros.
    pub(super) fn fill(&self, bytes: usize, given: &[u8]) -> Result<Filled<'_>, Fault> {
        let slot = self.take(bytes)?;
        let taken = &given[..given.len().min(bytes)];
        // SAFETY: the slot is an allocation of at least `bytes` bytes, and only this launch uses
        // it.
        unsafe {
            std::ptr::copy_nonoverlapping(taken.as_ptr(), slot.base as *mut u8, taken.len());
            std::ptr::write_bytes((slot.base as *mut u8).add(taken.len()), 0, bytes - taken.len());
        }
        Ok(Filled { owner: self, slot, bytes })
    }
}

impl Filled<'_> {
    /// Returns the address of the arguments.
    pub(super) fn address(&self) -> u64 {
        self.slot.base
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the slot has this number of bytes. `fill` wrote them, kernels may only read them,
        // and the slot belongs to this launch while `self` lives.
        unsafe { std::slice::from_raw_parts(self.slot.base as *const u8, self.bytes) }
    }
}
