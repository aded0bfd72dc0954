//! Streams: queues of work on one device, and which of them a thread's work goes to.
//!
//! A device has one stream to begin with, and everything runs on it in order. Further streams run
//! beside it. A thread chooses one with
//! [`BackendDevice::with_stream`](crate::BackendDevice::with_stream); operations then run there,
//! whatever stream their operands were made on, and a driver orders them after the work of other
//! streams that they depend on
//! ([`BackendDevice::is_event_tracking`](crate::BackendDevice::is_event_tracking)).

use crate::{DeviceId, Error, ErrorKind, Event, Result};
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies one stream for the life of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(u64);

impl StreamId {
    /// An id that no other stream has.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The number, for people.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The id of a device's default stream, where the device keeps no stream that has one. No
    /// counter comes so far.
    pub(crate) const fn default_of(device: DeviceId) -> Self {
        Self(device.0 | 1 << 63)
    }
}

/// What a driver implements for its streams; users call [`Stream`].
pub trait StreamBackend: Any + Send + Sync + fmt::Debug {
    /// Unique per stream.
    fn id(&self) -> StreamId;

    /// The device it belongs to.
    fn device(&self) -> DeviceId;

    /// As [`Stream::raw`].
    fn raw(&self) -> u64;

    /// As [`Stream::synchronize`].
    ///
    /// # Errors
    /// As there.
    fn synchronize(&self) -> Result<()>;

    /// As [`Stream::query`].
    ///
    /// # Errors
    /// As there.
    fn query(&self) -> Result<bool>;

    /// As [`Stream::record`], for an event of the same device.
    ///
    /// # Errors
    /// As there.
    fn record(&self, event: &Event) -> Result<()>;

    /// As [`Stream::wait_event`].
    ///
    /// # Errors
    /// As there.
    fn wait_event(&self, event: &Event) -> Result<()>;

    /// As [`Stream::join`], for another stream of the same device.
    ///
    /// # Errors
    /// As there.
    fn join(&self, other: &Stream) -> Result<()>;

    /// As [`Stream::fork`].
    ///
    /// # Errors
    /// As there.
    fn fork(&self) -> Result<Stream>;
}

/// A queue of work on a device, done in order. Clones are handles to one stream, which closes with
/// the last of them.
#[derive(Debug, Clone)]
pub struct Stream(Arc<dyn StreamBackend>);

impl Stream {
    /// A driver's stream.
    pub fn from_backend(stream: Arc<dyn StreamBackend>) -> Self {
        Self(stream)
    }

    /// The driver's own stream, where it is of that type.
    pub fn downcast_ref<T: StreamBackend>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Unique per stream; clones share it.
    pub fn id(&self) -> StreamId {
        self.0.id()
    }

    /// The device it belongs to.
    pub fn device(&self) -> DeviceId {
        self.0.device()
    }

    /// The vendor's handle (`CUstream`, `hipStream_t`) as a number, for interop; 0 where there is
    /// none. Valid as long as the stream.
    pub fn raw(&self) -> u64 {
        self.0.raw()
    }

    /// Waits until all of its work is done.
    ///
    /// # Errors
    /// Those of the work, as [`BackendDevice::synchronize`](crate::BackendDevice::synchronize);
    /// `CaptureViolation` while it is captured.
    pub fn synchronize(&self) -> Result<()> {
        self.0.synchronize()
    }

    /// Whether all of its work is done, without waiting.
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize).
    pub fn query(&self) -> Result<bool> {
        self.0.query()
    }

    /// Marks the present point with an event, which is reached when all work given to the stream so
    /// far is done.
    ///
    /// # Errors
    /// `DeviceMismatch` for an event of another device.
    pub fn record(&self, event: &Event) -> Result<()> {
        self.same_device(event.device(), "event")?;
        self.0.record(event)
    }

    /// Work given to the stream from now on runs after the event's point; nothing for an event that
    /// was never recorded. Does not wait itself.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        self.0.wait_event(event)
    }

    /// Work given to this stream from now on runs after all that was given to the other so far.
    /// Does not wait itself.
    ///
    /// # Errors
    /// `DeviceMismatch` for a stream of another device: streams of two devices are ordered by an
    /// event.
    pub fn join(&self, other: &Stream) -> Result<()> {
        self.same_device(other.device(), "stream")?;
        self.0.join(other)
    }

    /// A new stream, whose work runs after all that was given to this one so far.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn fork(&self) -> Result<Stream> {
        self.0.fork()
    }

    fn same_device(&self, other: DeviceId, what: &str) -> Result<()> {
        if self.device() == other {
            return Ok(());
        }
        let message = format!("the {what} belongs to another device than the stream: use one made by the same device");
        Err(Error::new(ErrorKind::DeviceMismatch, message))
    }
}

thread_local! {
    /// The streams that this thread's work goes to, innermost last.
    static ENTERED: RefCell<Vec<Stream>> = const { RefCell::new(Vec::new()) };
}

/// Runs a function with the stream of a device that this thread's work goes to, where it chose one.
pub fn with_entered<T>(device: DeviceId, f: impl FnOnce(Option<&Stream>) -> T) -> T {
    // Taken out by a clone rather than lent, so that `f` may enter streams itself.
    let entered = ENTERED.with_borrow(|all| all.iter().rev().find(|s| s.device() == device).cloned());
    f(entered.as_ref())
}

/// While it lives, this thread's work on the stream's device goes to the stream. See
/// [`BackendDevice::enter_stream`](crate::BackendDevice::enter_stream).
#[derive(Debug)]
#[must_use = "the stream is left when the guard is dropped"]
pub struct StreamGuard {
    stream: StreamId,
    // Entered and left on one thread.
    thread: PhantomData<*const ()>,
}

impl StreamGuard {
    pub(crate) fn enter(stream: &Stream) -> Self {
        ENTERED.with_borrow_mut(|all| all.push(stream.clone()));
        Self { stream: stream.id(), thread: PhantomData }
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        // Guards may be dropped in any order: the innermost entry of this stream goes.
        let left = ENTERED.with_borrow_mut(|all| {
            let place = all.iter().rposition(|s| s.id() == self.stream)?;
            Some(all.remove(place))
        });
        // Outside the borrow: closing a stream may run a driver's code.
        drop(left);
    }
}
