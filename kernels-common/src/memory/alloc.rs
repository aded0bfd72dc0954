//! Where a device's storages get their memory: the pool, or the memory of the graph that is being
//! captured.

use crate::device::{GpuDevice, OnDevice};
use crate::memory::block::{Block, BlockOwner};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use crate::stream::dependencies::{Access, Uses};
use isobit_hal::{DType, Result};
use std::sync::Arc;

impl<R: GpuRuntime> GpuDevice<R> {
    /// Memory that an operation uses on this thread's stream and drops before it ends.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn alloc(&self, len: usize, dtype: DType) -> Result<GpuStorage<R>> {
        self.alloc_storage(len, dtype, true)
    }

    pub(crate) fn alloc_storage(&self, len: usize, dtype: DType, scratch: bool) -> Result<GpuStorage<R>> {
        let bytes = len.saturating_mul(dtype.size_in_bytes());
        let block = self.alloc_block(bytes, scratch).on_device(self)?;
        // SAFETY: the block is new and at least as large.
        Ok(unsafe { GpuStorage::from_block(Arc::new(block), dtype, len) })
    }

    #[inline]
    fn alloc_block(&self, bytes: usize, scratch: bool) -> Result<Block<R>> {
        if !self.has_one_stream() {
            return self.alloc_among_streams(bytes, scratch);
        }
        let (ptr, class, uses) = self.pool().alloc(self.runtime(), bytes, |_| true)?;
        // Looked at again once the block is ours: where there still is one stream, it runs after
        // whatever used the block.
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

    /// A block just allocated, after its earlier uses on this thread's stream. They stay known for
    /// those who use it on another one.
    fn ready(
        &self,
        ptr: DevicePtr,
        class: usize,
        owner: BlockOwner<R>,
        scratch: bool,
        uses: Uses<R>,
    ) -> Result<Block<R>> {
        let waits = !uses.is_empty();
        // SAFETY: allocated from that owner just now and given to nobody else.
        let block = unsafe { Block::new(self.clone(), ptr, class, owner, scratch, uses) };
        if waits {
            block.uses().wait(self, &self.stream(), Access::Write)?;
        }
        Ok(block)
    }
}
