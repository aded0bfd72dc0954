//! Allocates the memory of a device's storages, from the pool or from the memory of the graph that
//! is being captured.

use crate::device::{GpuDevice, OnDevice};
use crate::memory::block::{Block, BlockOwner};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use crate::stream::dependencies::{Access, Uses};
use isobit_hal::{DType, Result};
use std::sync::Arc;

impl<R: GpuRuntime> GpuDevice<R> {
    /// Allocates scratch memory that an operation uses on this thread's stream and drops before it
    /// ends.
    ///
    /// # Errors
    /// Returns `OutOfMemory` if the memory cannot be allocated.
    pub(crate) fn alloc(&self, len: usize, dtype: DType) -> Result<GpuStorage<R>> {
        self.alloc_storage(len, dtype, true)
    }

    pub(crate) fn alloc_storage(&self, len: usize, dtype: DType, scratch: bool) -> Result<GpuStorage<R>> {
        let bytes = len.saturating_mul(dtype.size_in_bytes());
        let block = self.alloc_block(bytes, scratch).on_device(self)?;
        // SAFETY: the block is new and large enough.
        Ok(unsafe { GpuStorage::from_block(Arc::new(block), dtype, len) })
    }

    #[inline]
    fn alloc_block(&self, bytes: usize, scratch: bool) -> Result<Block<R>> {
        if !self.has_one_stream() {
            return self.alloc_among_streams(bytes, scratch);
        }
        let (ptr, class, uses) = self.pool().alloc(self.runtime(), bytes, |_| true)?;
        // Checked again now that the block is taken: if there still is only one stream, the new
        // work runs after whatever used the block.
        let uses = if uses.is_empty() || self.has_one_stream() { Uses::default() } else { uses };
        self.ready(ptr, class, BlockOwner::Device, scratch, uses)
    }

    #[cold]
    fn alloc_among_streams(&self, bytes: usize, scratch: bool) -> Result<Block<R>> {
        let stream = self.stream();
        if let Some(capture) = stream.capture() {
            let pool = capture.pool();
            let (ptr, class) = pool.alloc(bytes)?;
            let block = self.ready(ptr, class, BlockOwner::Capture(pool.clone()), scratch, Uses::default())?;
            capture.wait_at(self, &stream, ptr, Access::Write)?;
            return Ok(block);
        }
        let suits = |uses: &Uses<R>| uses.are_done_for(&stream);
        let (ptr, class, uses) = self.pool().alloc(self.runtime(), bytes, suits)?;
        self.ready(ptr, class, BlockOwner::Device, scratch, uses)
    }

    /// Wraps a newly allocated block and makes this thread's stream wait for its earlier uses. They
    /// stay recorded for use on other streams.
    fn ready(
        &self,
        ptr: DevicePtr,
        class: usize,
        owner: BlockOwner<R>,
        scratch: bool,
        uses: Uses<R>,
    ) -> Result<Block<R>> {
        let waits = !uses.is_empty();
        // SAFETY: the block was just allocated by that owner and given to nothing else.
        let block = unsafe { Block::new(self.clone(), ptr, class, owner, scratch, uses) };
        if waits {
            block.uses().wait(self, &self.stream(), Access::Write)?;
        }
        Ok(block)
    }
}
