//! Blocks of device memory: who owns them, and what must be over before they are used again.

use crate::capture::pool::CapturePool;
use crate::device::{GpuDevice, OnDevice};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::stream::dependencies::{Access, Uses};
use isobit_hal::Result;
use parking_lot::{Mutex, MutexGuard};
use std::ptr::NonNull;
use std::sync::Arc;

/// Where a block goes when nothing refers to it any more.
#[derive(Debug)]
pub(crate) enum BlockOwner<R: GpuRuntime> {
    /// To the device's pool.
    Device,
    /// To the memory of a graph, whose blocks share one record of uses: a replay is one use of all
    /// of them.
    Capture(Arc<CapturePool<R>>),
    /// To the runtime, as page-locked memory of the host.
    Pinned,
    /// Nowhere: it belongs to another library.
    Foreign,
}

/// A range of memory that the device works on. Storages and graphs share it; the last of them gives
/// it back.
#[derive(Debug)]
pub(crate) struct Block<R: GpuRuntime> {
    device: GpuDevice<R>,
    ptr: DevicePtr,
    class: usize,
    owner: BlockOwner<R>,
    /// It lives within one operation, whose record does not name it.
    scratch: bool,
    uses: Mutex<Uses<R>>,
}

impl<R: GpuRuntime> Block<R> {
    /// # Safety
    /// `ptr` and `class` came from what `owner` names, with these uses, and nothing else owns them;
    /// a foreign one lives as long as the block.
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

    /// Whether it is memory of the graph that a capture makes.
    pub(crate) fn is_of(&self, pool: &CapturePool<R>) -> bool {
        matches!(&self.owner, BlockOwner::Capture(own) if std::ptr::eq(&**own, pool))
    }

    /// Whether it is page-locked host memory, which the host and several devices use.
    pub(crate) fn is_pinned(&self) -> bool {
        matches!(self.owner, BlockOwner::Pinned)
    }

    /// Has the host wait until it may use the memory itself.
    ///
    /// # Errors
    /// Those of the work.
    pub(crate) fn wait_on_host(&self, access: Access) -> Result<()> {
        // A copy, so that the lock is not held meanwhile.
        let uses = self.uses().clone();
        let waited = uses.wait_on_host(self.device.runtime(), access);
        waited.on_device(&self.device)
    }

    /// Its uses outside of captures.
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
        // The operation that used scratch memory runs on this thread's stream and is not marked
        // yet. Another stream that gets the memory waits for the point after it, whether or not the
        // caller has turned tracking off: it cannot know of such memory.
        let scratch = (self.scratch && !self.device.has_one_stream()).then(|| self.device.stream());
        match &self.owner {
            BlockOwner::Foreign => {}
            BlockOwner::Pinned => {
                // A device that does not answer any more copies nothing either.
                let _ = uses.wait_on_host(self.device.runtime(), Access::Write);
                if let Some(ptr) = NonNull::new(self.ptr.0 as *mut u8) {
                    // SAFETY: the runtime gave it, this is its only owner, and no copy is pending.
                    unsafe { self.device.runtime().free_pinned(ptr) };
                }
            }
            BlockOwner::Device => {
                if let Some(stream) = scratch {
                    uses.note(self.device.runtime(), Access::Write, stream.next_point());
                }
                // SAFETY: the block came from this pool and this is its only owner.
                unsafe { self.device.pool().free(self.device.runtime(), self.ptr, self.class, uses) };
            }
            BlockOwner::Capture(pool) => {
                if let Some(stream) = scratch
                    && let Some(capture) = stream.capture()
                {
                    capture.note_scratch(&self.device, self.ptr, stream.next_point());
                }
                // SAFETY: as above.
                unsafe { pool.free(self.ptr, self.class) };
            }
        }
    }
}
