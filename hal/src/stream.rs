//! Streams: queues of work on one device, and the selection of the stream that a thread's work goes
//! to.
//!
//! A device starts with one stream, and everything runs on it in order. Further streams run
//! concurrently. A thread selects one with
//! [`BackendDevice::with_stream`](crate::BackendDevice::with_stream). Its operations then run on
//! that stream, whichever stream created their operands, and a driver orders them after the work of
//! other streams that they depend on
//! ([`BackendDevice::is_event_tracking`](crate::BackendDevice::is_event_tracking)).

use crate::{DeviceId, Error, ErrorKind, Event, Result};
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies one stream for the lifetime of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(u64);

impl StreamId {
    /// Returns an id that no other stream has.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the number of the stream, for display.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Returns the id of a device's default stream, for a device that does not store a stream with
    /// an id. The counter of [`new`](Self::new) never reaches these numbers.
    pub(crate) const fn default_of(device: DeviceId) -> Self {
        Self(device.0 | 1 << 63)
    }
}

/// The interface that a driver implements for its streams; users call [`Stream`].
///
/// ```rust
/// use isobit_hal::{DeviceId, Event, Result, Stream, StreamId, stream::StreamBackend};
/// use std::sync::Arc;
///
/// /// A stream of a device that finishes every operation before it returns.
/// #[derive(Debug)]
/// struct Immediate(StreamId, DeviceId);
///
/// impl StreamBackend for Immediate {
///     fn id(&self) -> StreamId { self.0 }
///     fn device(&self) -> DeviceId { self.1 }
///     fn raw(&self) -> u64 { 0 }
///     fn synchronize(&self) -> Result<()> { Ok(()) }
///     fn query(&self) -> Result<bool> { Ok(true) }
///     // ...
/// #     fn record(&self, _: &Event) -> Result<()> { Ok(()) }
/// #     fn wait_event(&self, _: &Event) -> Result<()> { Ok(()) }
/// #     fn join(&self, _: &Stream) -> Result<()> { Ok(()) }
/// #     fn fork(&self) -> Result<Stream> {
/// #         Ok(Stream::from_backend(Arc::new(Immediate(StreamId::new(), self.1))))
/// #     }
/// }
/// let stream = Stream::from_backend(Arc::new(Immediate(StreamId::new(), DeviceId::new())));
/// assert!(stream.query()? && stream.downcast_ref::<Immediate>().is_some());
/// # Ok::<(), isobit_hal::Error>(())
/// ```
pub trait StreamBackend: Any + Send + Sync + fmt::Debug {
    /// Returns the id, which is unique per stream.
    fn id(&self) -> StreamId;

    /// Returns the device that the stream belongs to.
    fn device(&self) -> DeviceId;

    /// As [`Stream::raw`].
    fn raw(&self) -> u64;

    /// As [`Stream::synchronize`].
    ///
    /// # Errors
    /// As [`Stream::synchronize`].
    fn synchronize(&self) -> Result<()>;

    /// As [`Stream::query`].
    ///
    /// # Errors
    /// As [`Stream::query`].
    fn query(&self) -> Result<bool>;

    /// As [`Stream::record`], for an event of the same device.
    ///
    /// # Errors
    /// As [`Stream::record`].
    fn record(&self, event: &Event) -> Result<()>;

    /// As [`Stream::wait_event`].
    ///
    /// # Errors
    /// As [`Stream::wait_event`].
    fn wait_event(&self, event: &Event) -> Result<()>;

    /// As [`Stream::join`], for another stream of the same device.
    ///
    /// # Errors
    /// As [`Stream::join`].
    fn join(&self, other: &Stream) -> Result<()>;

    /// As [`Stream::fork`].
    ///
    /// # Errors
    /// As [`Stream::fork`].
    fn fork(&self) -> Result<Stream>;

    /// As [`Stream::is_capturing`].
    fn is_capturing(&self) -> bool {
        false
    }
}

/// A queue of work on a device, which runs in order. Clones are handles to one stream, which closes
/// when the last handle is dropped.
///
/// ```rust
/// use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, UnaryOp};
///
/// let (main, side) = (CpuDevice.default_stream()?, CpuDevice.new_stream()?);
/// let x = CpuDevice.storage_from_slice(&[1.0f32, 4.0])?;
/// let root = CpuDevice.with_stream(&side, || {
///     assert_eq!(CpuDevice.current_stream()?.id(), side.id());
///     x.unary(&Layout::contiguous(2), UnaryOp::Sqrt)
/// })?;
/// main.join(&side)?;
/// assert_eq!(root.to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Stream(Arc<dyn StreamBackend>);

impl Stream {
    /// Wraps a driver's stream.
    pub fn from_backend(stream: Arc<dyn StreamBackend>) -> Self {
        Self(stream)
    }

    /// Returns the driver's own stream, if it has type `T`.
    pub fn downcast_ref<T: StreamBackend>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Returns the id, which is unique per stream; clones share it.
    pub fn id(&self) -> StreamId {
        self.0.id()
    }

    /// Returns the device that the stream belongs to.
    pub fn device(&self) -> DeviceId {
        self.0.device()
    }

    /// Returns the vendor's handle (`CUstream`, `hipStream_t`) as a number, for interop; 0 if there
    /// is none. It is valid as long as the stream.
    pub fn raw(&self) -> u64 {
        self.0.raw()
    }

    /// Waits until all of the stream's work is done.
    ///
    /// # Errors
    /// The errors of the work, as for
    /// [`BackendDevice::synchronize`](crate::BackendDevice::synchronize); `CaptureViolation` while
    /// the stream is being captured.
    pub fn synchronize(&self) -> Result<()> {
        self.0.synchronize()
    }

    /// Returns whether all of the stream's work is done, without waiting.
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize).
    pub fn query(&self) -> Result<bool> {
        self.0.query()
    }

    /// Records an event: the event is reached when all work enqueued on the stream so far is done.
    ///
    /// # Errors
    /// `DeviceMismatch` if the event belongs to another device.
    pub fn record(&self, event: &Event) -> Result<()> {
        self.same_device(event.device(), "event")?;
        self.0.record(event)
    }

    /// Makes work that is enqueued on the stream from now on run after the event is reached. Has no
    /// effect if the event was never recorded. The call itself does not wait.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        self.0.wait_event(event)
    }

    /// Makes work that is enqueued on this stream from now on run after all work enqueued on
    /// `other` so far. The call itself does not wait.
    ///
    /// # Errors
    /// `DeviceMismatch` if `other` belongs to another device; use an event to order streams of two
    /// devices.
    pub fn join(&self, other: &Stream) -> Result<()> {
        self.same_device(other.device(), "stream")?;
        self.0.join(other)
    }

    /// Creates a stream whose work runs after all work enqueued on this stream so far.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn fork(&self) -> Result<Stream> {
        self.0.fork()
    }

    /// Whether work that is enqueued on the stream is recorded for a
    /// [graph](crate::BackendDevice::capture), instead of run.
    pub fn is_capturing(&self) -> bool {
        self.0.is_capturing()
    }

    fn same_device(&self, other: DeviceId, what: &str) -> Result<()> {
        if self.device() == other {
            return Ok(());
        }
        let message =
            format!("the {what} belongs to another device than the stream: use one created by the same device");
        Err(Error::new(ErrorKind::DeviceMismatch, message))
    }
}

#[cfg(not(loom))]
thread_local! {
    /// The streams that this thread's work goes to, innermost last.
    static ENTERED: RefCell<Vec<Stream>> = const { RefCell::new(Vec::new()) };
}

#[cfg(loom)]
loom::thread_local! {
    static ENTERED: RefCell<Vec<Stream>> = RefCell::new(Vec::new());
}

/// Calls `f` with the stream of a device that this thread has entered, or with `None`.
pub fn with_entered<T>(device: DeviceId, f: impl FnOnce(Option<&Stream>) -> T) -> T {
    // Clones the stream instead of borrowing it, so that `f` may enter streams itself.
    let entered = ENTERED.with(|all| all.borrow().iter().rev().find(|s| s.device() == device).cloned());
    f(entered.as_ref())
}

/// While the guard lives, this thread's work on the stream's device goes to the stream. See
/// [`BackendDevice::enter_stream`](crate::BackendDevice::enter_stream).
///
/// ```rust
/// use isobit_hal::{BackendDevice, CpuDevice};
///
/// let side = CpuDevice.new_stream()?;
/// let guard = CpuDevice.enter_stream(&side)?;
/// assert_eq!(CpuDevice.current_stream()?.id(), side.id());
/// drop(guard);
/// assert_ne!(CpuDevice.current_stream()?.id(), side.id());
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "the stream is left when the guard is dropped"]
pub struct StreamGuard {
    stream: StreamId,
    // Not `Send`: a stream is entered and left on one thread.
    thread: PhantomData<*const ()>,
}

impl StreamGuard {
    pub(crate) fn enter(stream: &Stream) -> Self {
        ENTERED.with(|all| all.borrow_mut().push(stream.clone()));
        Self { stream: stream.id(), thread: PhantomData }
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        // Guards may be dropped in any order: remove the innermost entry of this stream.
        let left = ENTERED.with(|all| {
            let mut all = all.borrow_mut();
            let place = all.iter().rposition(|s| s.id() == self.stream)?;
            Some(all.remove(place))
        });
        // Dropped outside the borrow: closing a stream may run a driver's code.
        drop(left);
    }
}
