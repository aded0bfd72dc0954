//! The order of work on different streams: the last uses of each memory block, and who must wait
//! for them.
//!
//! While a device has only its default stream, nothing is recorded: an operation costs two loads of
//! a flag. With a second stream, each operation waits for what other streams did with its operands,
//! and marks its own end with one event, which the blocks of its operands refer to. Blocks without
//! a record are ready on every stream, because a new stream starts after everything that ran while
//! there was only one.

use crate::device::GpuDevice;
use crate::memory::block::Block;
use crate::runtime::GpuRuntime;
use crate::stream::GpuStream;
use crate::stream::event::OrderEvent;
use isobit_hal::{Result, StreamId};
use smallvec::SmallVec;
use std::sync::Arc;

/// A point in a stream: stands for all work enqueued before the point was marked.
#[derive(Debug)]
pub(crate) struct Point<R: GpuRuntime> {
    pub(crate) stream: StreamId,
    /// The position among the points of the stream.
    pub(crate) number: u64,
    /// The event that others wait for. `None` if the point is not marked yet; marking any later
    /// point of the stream also covers it.
    pub(crate) event: Option<Arc<OrderEvent<R>>>,
}

impl<R: GpuRuntime> Clone for Point<R> {
    fn clone(&self) -> Self {
        Self { stream: self.stream, number: self.number, event: self.event.clone() }
    }
}

/// How work accesses a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The uses that must be done before a block is used again.
#[derive(Debug)]
pub(crate) struct Uses<R: GpuRuntime> {
    /// The last work that wrote the block.
    write: Option<Point<R>>,
    /// The last work of each stream that read the block since then.
    reads: Vec<Point<R>>,
}

impl<R: GpuRuntime> Clone for Uses<R> {
    fn clone(&self) -> Self {
        Self { write: self.write.clone(), reads: self.reads.clone() }
    }
}

impl<R: GpuRuntime> Default for Uses<R> {
    fn default() -> Self {
        Self { write: None, reads: Vec::new() }
    }
}

impl<R: GpuRuntime> Uses<R> {
    /// Above this number, the readers are polled for completion. Streams come and go, while a block
    /// of weights may never be written.
    const READERS: usize = 8;

    pub(crate) fn is_empty(&self) -> bool {
        self.write.is_none() && self.reads.is_empty()
    }

    /// Whether there is a recorded write.
    pub(crate) fn writes(&self) -> bool {
        self.write.is_some()
    }

    fn before(&self, access: Access) -> impl Iterator<Item = &Point<R>> {
        let reads = if access == Access::Write { &self.reads[..] } else { &[] };
        self.write.iter().chain(reads)
    }

    /// Whether a stream may use the block for any access without waiting.
    pub(crate) fn are_done_for(&self, stream: &GpuStream<R>) -> bool {
        self.before(Access::Write).all(|point| stream.has_waited_for(point))
    }

    /// Makes a stream wait until it may use the block.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    pub(crate) fn wait(&self, device: &GpuDevice<R>, stream: &GpuStream<R>, access: Access) -> Result<()> {
        self.before(access).try_for_each(|point| device.wait_for(stream, point))
    }

    /// Makes the host wait until it may access the memory. Only marked points are considered.
    ///
    /// # Errors
    /// Returns the first error of the work.
    pub(crate) fn wait_on_host(&self, runtime: &R, access: Access) -> Result<()> {
        let mut outcome = Ok(());
        for event in self.before(access).filter_map(|point| point.event.as_ref()) {
            outcome = outcome.and(runtime.synchronize_event(event.raw()));
        }
        outcome
    }

    /// Records a use. A writer has waited for all earlier uses, so they are removed.
    pub(crate) fn note(&mut self, runtime: &R, access: Access, point: Point<R>) {
        match access {
            Access::Write => {
                self.write = Some(point);
                self.reads.clear();
            }
            Access::Read => match self.reads.iter_mut().find(|read| read.stream == point.stream) {
                // Threads that share a stream may record their points in a different order than
                // they marked them.
                Some(read) if read.number > point.number => {}
                Some(read) => *read = point,
                None => {
                    if self.reads.len() >= Self::READERS {
                        self.reads.retain(|read| !read.is_over(runtime));
                    }
                    self.reads.push(point);
                }
            },
        }
    }

    /// Adds the uses of another record for the same memory.
    pub(crate) fn merge(&mut self, runtime: &R, other: Self) {
        for point in other.write.into_iter().chain(other.reads) {
            self.note(runtime, Access::Read, point);
        }
    }
}

impl<R: GpuRuntime> Point<R> {
    /// Whether the work is known to be done.
    pub(crate) fn is_over(&self, runtime: &R) -> bool {
        self.event.as_ref().is_some_and(|event| matches!(runtime.event_is_done(event.raw()), Ok(true)))
    }
}

/// The blocks of an operation and how it accesses them. A block that is read and written is listed
/// once, as written.
pub(crate) type Operands<'a, R> = SmallVec<[(&'a Arc<Block<R>>, Access); 5]>;

/// One operation's place in the order of all streams: created before its work is enqueued and ended
/// afterwards.
#[derive(Debug)]
#[must_use = "`after` remembers the operation's uses"]
pub(crate) struct Order<R: GpuRuntime> {
    /// The stream it runs on; `None` if there was only one stream when it started.
    stream: Option<Arc<GpuStream<R>>>,
}

impl<R: GpuRuntime> Order<R> {
    /// Makes this thread's stream wait for what other streams did with the operands.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    #[inline]
    pub(crate) fn before<'a>(device: &GpuDevice<R>, operands: impl FnOnce() -> Operands<'a, R>) -> Result<Self> {
        if device.has_one_stream() {
            return Ok(Self { stream: None });
        }
        Self::wait(device, operands())
    }

    #[cold]
    fn wait(device: &GpuDevice<R>, operands: Operands<'_, R>) -> Result<Self> {
        let stream = device.stream().shared().clone();
        if let Some(capture) = stream.capture() {
            for (block, access) in operands {
                capture.wait(device, &stream, block, access)?;
            }
        } else if device.tracks_events() {
            for (block, access) in operands {
                block.uses().wait(device, &stream, access)?;
            }
        }
        Ok(Self { stream: Some(stream) })
    }

    /// Records how the operation, whose work has been enqueued, accesses the operands. Returns the
    /// end of the operation if it was marked.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    #[inline]
    pub(crate) fn after<'a>(
        self,
        device: &GpuDevice<R>,
        operands: impl FnOnce() -> Operands<'a, R>,
    ) -> Result<Option<Point<R>>> {
        // A second stream that another thread created in the meantime may have started before this
        // work, which then needs a record. If none is seen here, that stream starts after the work,
        // because its start is marked after the flag that is read here is set.
        if self.stream.is_none() && device.has_one_stream() {
            return Ok(None);
        }
        self.note(device, operands())
    }

    #[cold]
    fn note(self, device: &GpuDevice<R>, operands: Operands<'_, R>) -> Result<Option<Point<R>>> {
        let stream = match self.stream {
            Some(stream) => stream,
            None => device.stream().shared().clone(),
        };
        let capture = stream.capture();
        if operands.is_empty() || (capture.is_none() && !device.tracks_events()) {
            return Ok(None);
        }
        let point = device.mark(&stream)?;
        for (block, access) in operands {
            match &capture {
                Some(capture) => capture.note(device, block, access, point.clone()),
                None => block.uses().note(device.runtime(), access, point.clone()),
            }
        }
        Ok(Some(point))
    }
}

/// Runs work that needs no mutable storage between [`Order::before`] and [`Order::after`].
///
/// # Errors
/// Returns the error of the work or the driver's error.
pub(crate) fn with<R: GpuRuntime, T>(
    device: &GpuDevice<R>,
    operands: &[(&Arc<Block<R>>, Access)],
    work: impl FnOnce(&GpuStream<R>) -> Result<T>,
) -> Result<T> {
    let order = Order::before(device, || operands.iter().copied().collect())?;
    let done = work(&device.stream());
    // Also after a failure: part of the work may have been enqueued.
    let noted = order.after(device, || operands.iter().copied().collect());
    done.and_then(|value| noted.map(|_| value))
}
