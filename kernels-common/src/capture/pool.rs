//! The memory that a graph owns: the allocations of its step.

use crate::device::GpuDevice;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::stream::dependencies::Uses;
use crate::sync::{Mutex, MutexGuard};
use isobit_hal::Result;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Default)]
struct State {
    free: BTreeMap<usize, Vec<DevicePtr>>,
    /// All blocks with their size classes.
    taken: Vec<(DevicePtr, usize)>,
}

/// The memory of a graph. It is taken from the device's pool during the capture, and returned when
/// the graph and all storages in this memory are dropped.
#[derive(Debug)]
pub(crate) struct CapturePool<R: GpuRuntime> {
    device: GpuDevice<R>,
    state: Mutex<State>,
    /// The uses of this memory outside of captures. A replay counts as one use of all of it.
    uses: Mutex<Uses<R>>,
}

impl<R: GpuRuntime> CapturePool<R> {
    pub(crate) fn new(device: &GpuDevice<R>) -> Arc<Self> {
        Arc::new(Self { device: device.clone(), state: Mutex::default(), uses: Mutex::default() })
    }

    pub(crate) fn uses(&self) -> MutexGuard<'_, Uses<R>> {
        self.uses.lock()
    }

    /// Allocates a block of at least `bytes` bytes. Also returns its size class, which
    /// [`free`](Self::free) takes.
    ///
    /// # Errors
    /// Returns `OutOfMemory` if the memory cannot be allocated.
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
        // A replay waits for the work that still uses the block.
        self.uses().merge(self.device.runtime(), uses);
        Ok((ptr, class))
    }

    /// Takes a block back, for reuse during the rest of the capture.
    ///
    /// # Safety
    /// `ptr` and `class` were returned by [`alloc`](Self::alloc) and are freed once.
    pub(crate) unsafe fn free(&self, ptr: DevicePtr, class: usize) {
        self.state.lock().free.entry(class).or_default().push(ptr);
    }
}

impl<R: GpuRuntime> Drop for CapturePool<R> {
    fn drop(&mut self) {
        let taken = std::mem::take(&mut self.state.lock().taken);
        for (ptr, class) in taken {
            let uses = self.uses().clone();
            // SAFETY: the memory was taken from this pool. The graph and the storages in this
            // memory hold a reference to `self`, so they are gone.
            unsafe { self.device.pool().free(self.device.runtime(), ptr, class, uses) };
        }
    }
}
