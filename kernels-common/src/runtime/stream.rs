//! Streams and events as a driver gives them.

use isobit_hal::Result;
use std::fmt::Debug;

/// Streams: work given to one runs in order.
pub trait StreamRuntime: Sized + Send + Sync + Debug + 'static {
    /// A stream; destroyed when dropped.
    type Stream: Send + Sync + Debug;

    /// A new stream that does not wait for the legacy default stream.
    ///
    /// # Errors
    /// Those of the driver.
    fn new_stream(&self) -> Result<Self::Stream>;

    /// A stream of another library's by the vendor's handle; it is not destroyed with what is
    /// returned.
    ///
    /// # Safety
    /// The handle is a stream of this device and lives longer.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn stream_from_raw(&self, raw: u64) -> Result<Self::Stream>;

    /// The vendor's handle of a stream.
    fn raw_stream(&self, stream: &Self::Stream) -> u64;

    /// Waits for all work of a stream.
    ///
    /// # Errors
    /// Those of the work.
    fn synchronize(&self, stream: &Self::Stream) -> Result<()>;

    /// Whether all work of a stream is done.
    ///
    /// # Errors
    /// Those of the work.
    fn stream_is_idle(&self, stream: &Self::Stream) -> Result<bool>;
}

/// Events: points in a stream that others wait for.
pub trait EventRuntime: StreamRuntime {
    /// An event; destroyed when dropped.
    type Event: Send + Sync + Debug;

    /// A new event that can measure time.
    ///
    /// # Errors
    /// Those of the driver.
    fn new_event(&self) -> Result<Self::Event>;

    /// A new event that orders work and measures no time, which is cheaper.
    ///
    /// # Errors
    /// Those of the driver.
    fn new_ordering_event(&self) -> Result<Self::Event>;

    /// Marks a point in a stream.
    ///
    /// # Errors
    /// Those of the driver.
    fn record(&self, event: &Self::Event, stream: &Self::Stream) -> Result<()>;

    /// Work given to the stream from now on runs after the event's point.
    ///
    /// # Errors
    /// Those of the driver.
    fn wait_event(&self, stream: &Self::Stream, event: &Self::Event) -> Result<()>;

    /// Whether the event's point is reached.
    ///
    /// # Errors
    /// Those of the work before it.
    fn event_is_done(&self, event: &Self::Event) -> Result<bool>;

    /// Waits for the event's point.
    ///
    /// # Errors
    /// Those of the work before it.
    fn synchronize_event(&self, event: &Self::Event) -> Result<()>;

    /// Milliseconds between two recorded events; waits for the second.
    ///
    /// # Errors
    /// Those of the driver.
    fn elapsed_ms(&self, from: &Self::Event, to: &Self::Event) -> Result<f32>;
}
