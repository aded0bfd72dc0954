//! Host memory that a device copies from and to asynchronously, without blocking the host.

use crate::{Result, WithDType};
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;

/// Memory that a driver allocated. Its drop waits for the copies that still use it, and then frees
/// it.
///
/// ```rust
/// use isobit_hal::{PinnedBuffer, pinned::PinnedMemory};
/// use std::ptr::NonNull;
///
/// /// Memory that outlives all copies.
/// #[derive(Debug)]
/// #[repr(align(64))]
/// struct Aligned([u8; 128]);
///
/// #[derive(Debug)]
/// struct Memory(NonNull<Aligned>);
/// // SAFETY: nothing else refers to the memory.
/// unsafe impl Send for Memory {}
/// // SAFETY: as above.
/// unsafe impl Sync for Memory {}
///
/// impl PinnedMemory for Memory {
///     fn as_ptr(&self) -> NonNull<u8> { self.0.cast() }
///     fn len(&self) -> usize { 128 }
/// }
/// let memory = NonNull::from(Box::leak(Box::new(Aligned([0; 128]))));
/// let mut buffer = PinnedBuffer::new(Box::new(Memory(memory)));
/// buffer.bytes_mut()?[0] = 7;
/// assert_eq!(buffer.as_slice::<u32>()?[0], u32::from_ne_bytes([7, 0, 0, 0]));
/// # Ok::<(), isobit_hal::Error>(())
/// ```
pub trait PinnedMemory: Any + Send + Sync + fmt::Debug {
    /// Returns a pointer to the first byte, aligned to at least 64 bytes. The memory is
    /// initialised, and nothing else refers to it.
    fn as_ptr(&self) -> NonNull<u8>;

    /// Returns the size in bytes.
    fn len(&self) -> usize;

    /// Whether the size is 0.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits for the copies that write the memory, including those of graphs. If `to_write` is set,
    /// because the host is about to write, also waits for the copies that read it.
    ///
    /// # Errors
    /// The errors of the copies.
    fn wait(&self, to_write: bool) -> Result<()> {
        let _ = to_write;
        Ok(())
    }
}

/// Page-locked host memory, from which a device copies at full speed without blocking the host.
/// Every access to the bytes waits for the copies that conflict with it, so the host never sees a
/// half-finished copy.
///
/// ```rust
/// use isobit_hal::{BackendDevice, BackendStorage, CpuDevice};
///
/// let mut buffer = CpuDevice.alloc_pinned(16)?;
/// buffer.as_mut_slice::<f32>()?.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
/// let mut x = CpuDevice.storage_from_slice(&[0.0f32; 2])?;
/// x.copy_from_pinned(0, &buffer, 8..16)?;
/// assert_eq!(x.to_vec::<f32>()?, [3.0, 4.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug)]
pub struct PinnedBuffer(Box<dyn PinnedMemory>);

impl PinnedBuffer {
    /// Wraps a driver's memory.
    pub fn new(memory: Box<dyn PinnedMemory>) -> Self {
        Self(memory)
    }

    /// Returns the size in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the size is 0.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the driver's own memory, if it has type `T`.
    pub fn downcast_ref<T: PinnedMemory>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Returns a pointer to the first byte. To access the bytes, use [`bytes`](Self::bytes) and
    /// [`bytes_mut`](Self::bytes_mut), which wait for the copies.
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.0.as_ptr()
    }

    /// Waits for copies into the buffer and returns its bytes.
    ///
    /// # Errors
    /// The device's errors.
    pub fn bytes(&self) -> Result<&[u8]> {
        self.0.wait(false)?;
        // SAFETY: the memory is initialised and owned by this buffer. A copy into it needs `&mut
        // self`, so none can start while the slice lives, and all started copies are done.
        Ok(unsafe { std::slice::from_raw_parts(self.as_ptr().as_ptr(), self.len()) })
    }

    /// Waits for copies from and into the buffer and returns its bytes for writing.
    ///
    /// # Errors
    /// The device's errors.
    pub fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        self.0.wait(true)?;
        // SAFETY: as in `bytes`; a copy from the buffer needs `&self`, so none of those can start
        // either.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.as_ptr().as_ptr(), self.len()) })
    }

    /// Returns the bytes as elements, without an incomplete element at the end.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    pub fn as_slice<T: WithDType>(&self) -> Result<&[T]> {
        let bytes = self.bytes()?;
        Ok(bytemuck::cast_slice(&bytes[..bytes.len() / size_of::<T>() * size_of::<T>()]))
    }

    /// Returns the bytes as elements for writing, without an incomplete element at the end.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    pub fn as_mut_slice<T: WithDType>(&mut self) -> Result<&mut [T]> {
        let bytes = self.bytes_mut()?;
        let whole = bytes.len() / size_of::<T>() * size_of::<T>();
        Ok(bytemuck::cast_slice_mut(&mut bytes[..whole]))
    }
}
