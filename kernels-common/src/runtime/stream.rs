//! The stream and event parts of a driver.

use isobit_hal::Result;
use std::fmt::Debug;

/// Creates and synchronises streams. Work on one stream runs in order.
///
/// ```
/// use isobit_hal::Result;
/// use isobit_kernels::GpuRuntime;
///
/// /// Enqueues work on a new stream and waits for it.
/// fn on_new_stream<R: GpuRuntime>(
///     runtime: &R,
///     work: impl FnOnce(&R::Stream) -> Result<()>,
/// ) -> Result<()> {
///     let stream = runtime.new_stream()?;
///     work(&stream)?;
///     runtime.synchronize(&stream)?;
///     assert!(runtime.stream_is_idle(&stream)?);
///     Ok(())
/// }
/// ```
pub trait StreamRuntime: Sized + Send + Sync + Debug + 'static {
    /// A stream. It is destroyed when dropped.
    type Stream: Send + Sync + Debug;

    /// Creates a stream that does not synchronise with the legacy default stream.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    fn new_stream(&self) -> Result<Self::Stream>;

    /// Wraps a stream of another library, given as the vendor's handle. Dropping the result does
    /// not destroy the stream.
    ///
    /// # Safety
    /// `raw` is a stream of this device and outlives the result.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    unsafe fn stream_from_raw(&self, raw: u64) -> Result<Self::Stream>;

    /// Returns the vendor's handle of a stream.
    fn raw_stream(&self, stream: &Self::Stream) -> u64;

    /// Waits for all work on a stream.
    ///
    /// # Errors
    /// Returns the error of the work if it failed.
    fn synchronize(&self, stream: &Self::Stream) -> Result<()>;

    /// Whether all work on a stream is done.
    ///
    /// # Errors
    /// Returns the error of the work if it failed.
    fn stream_is_idle(&self, stream: &Self::Stream) -> Result<bool>;
}

/// Records events: points in a stream that other streams or the host wait for.
///
/// ```
/// use isobit_hal::Result;
/// use isobit_kernels::GpuRuntime;
///
/// /// Measures, in milliseconds, the work that `work` enqueues on a stream.
/// fn time<R: GpuRuntime>(
///     runtime: &R,
///     stream: &R::Stream,
///     work: impl FnOnce() -> Result<()>,
/// ) -> Result<f32> {
///     let (from, to) = (runtime.new_event()?, runtime.new_event()?);
///     runtime.record(&from, stream)?;
///     work()?;
///     runtime.record(&to, stream)?;
///     runtime.elapsed_ms(&from, &to)
/// }
/// ```
pub trait EventRuntime: StreamRuntime {
    /// An event. It is destroyed when dropped.
    type Event: Send + Sync + Debug;

    /// Creates an event that can measure time.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    fn new_event(&self) -> Result<Self::Event>;

    /// Creates an event that only orders work, which is cheaper than one that measures time.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    fn new_ordering_event(&self) -> Result<Self::Event>;

    /// Records the event at the current end of a stream.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    fn record(&self, event: &Self::Event, stream: &Self::Stream) -> Result<()>;

    /// Makes later work on the stream wait for the event.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    fn wait_event(&self, stream: &Self::Stream, event: &Self::Event) -> Result<()>;

    /// Whether the work before the event is done.
    ///
    /// # Errors
    /// Returns the error of earlier work if it failed.
    fn event_is_done(&self, event: &Self::Event) -> Result<bool>;

    /// Waits for the work before the event.
    ///
    /// # Errors
    /// Returns the error of earlier work if it failed.
    fn synchronize_event(&self, event: &Self::Event) -> Result<()>;

    /// Returns the milliseconds between two recorded events. Waits for the second.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    fn elapsed_ms(&self, from: &Self::Event, to: &Self::Event) -> Result<f32>;
}
