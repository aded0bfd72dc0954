//! Blocks of device memory: who owns them, and what must be done before they are reused.

use crate::capture::pool::CapturePool;
use crate::device::{GpuDevice, OnDevice};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::stream::dependencies::{Access, Uses};
use crate::sync::{Mutex, MutexGuard};
use isobit_hal::Result;
use std::ptr::NonNull;
use std::sync::Arc;

/// Where a block goes when its last reference is dropped.
#[derive(Debug)]
pub(crate) enum BlockOwner<R: GpuRuntime> {
    /// The device's pool.
    Device,
    /// The memory of a graph. Its blocks share one record of uses: a replay counts as one use of
    /// all of them.
    Capture(Arc<CapturePool<R>>),
    /// The runtime, as page-locked host memory.
    Pinned,
    /// Nowhere: the memory belongs to another library.
    Foreign,
}

/// A range of memory that the device works on. Storages and graphs share it; dropping the last
/// reference returns it.
#[derive(Debug)]
pub(crate) struct Block<R: GpuRuntime> {
    device: GpuDevice<R>,
    ptr: DevicePtr,
    class: usize,
    owner: BlockOwner<R>,
    /// The block lives within one operation, whose record of uses does not include it.
    scratch: bool,
    uses: Mutex<Uses<R>>,
}

impl<R: GpuRuntime> Block<R> {
    /// # Safety
    /// `ptr` and `class` came from the allocator that `owner` names, with these uses, and nothing
    /// else owns them. Foreign memory lives as long as the block.
    pub(crate) unsafe fn new(
        device: GpuDevice<R>,
        ptr: DevicePtr,
        class: usize,
        owner: BlockOwner<R>,
        scratch: bool,
        uses: Uses<R>,
    ) -> Self {
        Self { device, ptr, class, owner, scratch, uses: Mutex::new(uses) }
    }

    pub(crate) fn device(&self) -> &GpuDevice<R> {
        &self.device
    }

    pub(crate) fn ptr(&self) -> DevicePtr {
        self.ptr
    }

    /// Whether the block belongs to the memory of the graph that a capture creates.
    pub(crate) fn is_of(&self, pool: &CapturePool<R>) -> bool {
        matches!(&self.owner, BlockOwner::Capture(own) if std::ptr::eq(&**own, pool))
    }

    /// Whether the block is page-locked host memory, which the host and several devices access.
    pub(crate) fn is_pinned(&self) -> bool {
        matches!(self.owner, BlockOwner::Pinned)
    }

    /// Makes the host wait until it may access the memory.
    ///
    /// # Errors
    /// Returns the error of the work if it failed.
    pub(crate) fn wait_on_host(&self, access: Access) -> Result<()> {
        // A copy, so that the lock is not held while waiting.
        let uses = self.uses().clone();
        let waited = uses.wait_on_host(self.device.runtime(), access);
        waited.on_device(&self.device)
    }

    /// Returns its uses outside of captures.
    pub(crate) fn uses(&self) -> MutexGuard<'_, Uses<R>> {
        match &self.owner {
            BlockOwner::Capture(pool) => pool.uses(),
            _ => self.uses.lock(),
        }
    }
}

impl<R: GpuRuntime> Drop for Block<R> {
    fn drop(&mut self) {
        if self.class == 0 {
            return;
        }
        let mut uses = std::mem::take(self.uses.get_mut());
        // The operation that used this scratch memory runs on this thread's stream, and its end is
        // not marked yet. Another stream that gets the memory waits for the point after it, even if
        // the caller has disabled tracking, because callers cannot know about such memory.
        let scratch = (self.scratch && !self.device.has_one_stream()).then(|| self.device.stream());
        match &self.owner {
            BlockOwner::Foreign => {}
            BlockOwner::Pinned => {
                // If the wait fails, the device no longer responds and no copy is running either.
                let _ = uses.wait_on_host(self.device.runtime(), Access::Write);
                if let Some(ptr) = NonNull::new(self.ptr.0 as *mut u8) {
                    // SAFETY: the runtime allocated the memory, this is its only owner, and no copy
                    // is pending.
                    unsafe { self.device.runtime().free_pinned(ptr) };
                }
            }
            BlockOwner::Device => {
                if let Some(stream) = scratch {
                    uses.note(self.device.runtime(), Access::Write, stream.next_point());
                }
                // SAFETY: the block came from this pool, and this is its only owner.
                unsafe { self.device.pool().free(self.device.runtime(), self.ptr, self.class, uses) };
            }
            BlockOwner::Capture(pool) => {
                if let Some(stream) = scratch
                    && let Some(capture) = stream.capture()
                {
                    capture.note_scratch(&self.device, self.ptr, stream.next_point());
                }
                // SAFETY: the block came from this pool, and this is its only owner.
                unsafe { pool.free(self.ptr, self.class) };
            }
        }
    }
}
