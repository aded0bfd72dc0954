//! The memory that a graph owns: what its step allocated.

use crate::device::GpuDevice;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::stream::dependencies::Uses;
use isobit_hal::Result;
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Default)]
struct State {
    free: BTreeMap<usize, Vec<DevicePtr>>,
    /// All blocks, with their classes.
    taken: Vec<(DevicePtr, usize)>,
}

/// The memory of a graph: taken from the device's pool while the graph was captured, and given back
/// when the graph and all storages in it are gone.
#[derive(Debug)]
pub(crate) struct CapturePool<R: GpuRuntime> {
    device: GpuDevice<R>,
    state: Mutex<State>,
    /// Uses of any of it outside of captures: a replay is one use of all of it.
    uses: Mutex<Uses<R>>,
}

impl<R: GpuRuntime> CapturePool<R> {
    pub(crate) fn new(device: &GpuDevice<R>) -> Arc<Self> {
        Arc::new(Self { device: device.clone(), state: Mutex::default(), uses: Mutex::default() })
    }

    pub(crate) fn uses(&self) -> MutexGuard<'_, Uses<R>> {
        self.uses.lock()
    }

    /// A block of at least `bytes`, and the size to give it back with.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn alloc(&self, bytes: usize) -> Result<(DevicePtr, usize)> {
        let pool = self.device.pool();
        let mut state = self.state.lock();
        if let Some(class) = pool.block_of(bytes)
            && let Some(ptr) = state.free.get_mut(&class).and_then(Vec::pop)
        {
            return Ok((ptr, class));
        }
        let (ptr, class, uses) = pool.alloc(self.device.runtime(), bytes, |_| true)?;
        if class > 0 {
            state.taken.push((ptr, class));
        }
        // A replay waits for what was still going on with it.
        self.uses().merge(self.device.runtime(), uses);
        Ok((ptr, class))
    }

    /// Takes a block back, for the rest of the capture.
    ///
    /// # Safety
    /// `ptr` and `class` came from [`alloc`](Self::alloc) and are given back once.
    pub(crate) unsafe fn free(&self, ptr: DevicePtr, class: usize) {
        self.state.lock().free.entry(class).or_default().push(ptr);
    }
}

impl<R: GpuRuntime> Drop for CapturePool<R> {
    fn drop(&mut self) {
        let taken = std::mem::take(&mut self.state.lock().taken);
        for (ptr, class) in taken {
            let uses = self.uses().clone();
            // SAFETY: taken from this pool; the graph and the storages in this memory, which hold
            // this, are gone.
            unsafe { self.device.pool().free(self.device.runtime(), ptr, class, uses) };
        }
    }
}
