//! Host memory that a device copies from and to by itself, while the host goes on.

use crate::{Result, WithDType};
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;

/// Memory of a driver's. When it is dropped, the driver waits for the copies that it is still at,
/// and frees it.
pub trait PinnedMemory: Any + Send + Sync + fmt::Debug {
    /// The first byte, aligned to 64 bytes at least. The memory is initialised, and nothing else
    /// refers to it.
    fn as_ptr(&self) -> NonNull<u8>;

    /// Its size in bytes.
    fn len(&self) -> usize;

    /// True where it has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits for the copies that write the memory, those of graphs included; before the host writes
    /// it itself, `to_write`, also for those that read it.
    ///
    /// # Errors
    /// Those of the copies.
    fn wait(&self, to_write: bool) -> Result<()> {
        let _ = to_write;
        Ok(())
    }
}

/// Page-locked host memory, from which a device copies at full speed and without the host waiting.
/// Whoever looks at its bytes waits for the copies that concern them, so no copy is ever seen half
/// done.
#[derive(Debug)]
pub struct PinnedBuffer(Box<dyn PinnedMemory>);

impl PinnedBuffer {
    /// Over a driver's memory.
    pub fn new(memory: Box<dyn PinnedMemory>) -> Self {
        Self(memory)
    }

    /// Its size in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True where it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The driver's own memory, where it is of that type.
    pub fn downcast_ref<T: PinnedMemory>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// The first byte. The bytes are [`bytes`](Self::bytes) and [`bytes_mut`](Self::bytes_mut),
    /// which wait for the copies.
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.0.as_ptr()
    }

    /// The bytes, after copies to them are done.
    ///
    /// # Errors
    /// Those of the device.
    pub fn bytes(&self) -> Result<&[u8]> {
        self.0.wait(false)?;
        // SAFETY: the memory is initialised and ours; a copy to it needs `&mut self`, so none can
        // begin while the slice lives, and those begun are done.
        Ok(unsafe { std::slice::from_raw_parts(self.as_ptr().as_ptr(), self.len()) })
    }

    /// The bytes to write, after copies from and to them are done.
    ///
    /// # Errors
    /// Those of the device.
    pub fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        self.0.wait(true)?;
        // SAFETY: as in `bytes`; a copy from it needs `&self`, so none can begin either.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.as_ptr().as_ptr(), self.len()) })
    }

    /// The bytes as elements; what is left over at the end is not shown.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    pub fn as_slice<T: WithDType>(&self) -> Result<&[T]> {
        let bytes = self.bytes()?;
        Ok(bytemuck::cast_slice(&bytes[..bytes.len() / size_of::<T>() * size_of::<T>()]))
    }

    /// The bytes as elements to write; what is left over at the end is not shown.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    pub fn as_mut_slice<T: WithDType>(&mut self) -> Result<&mut [T]> {
        let bytes = self.bytes_mut()?;
        let whole = bytes.len() / size_of::<T>() * size_of::<T>();
        Ok(bytemuck::cast_slice_mut(&mut bytes[..whole]))
    }
}
