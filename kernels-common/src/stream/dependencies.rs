//! The order of work on different streams: what each block of memory was last used for, and who
//! must wait for that.
//!
//! While a device has its default stream alone nothing of this happens: an operation costs two
//! loads of a flag. Once there is a second stream, each operation waits for what other streams did
//! with its operands, and marks its own end with one event, to which the blocks of its operands
//! refer. Blocks without a record are ready on every stream, because a new stream begins after
//! everything that ran before there were several.

use crate::device::GpuDevice;
use crate::memory::block::Block;
use crate::runtime::GpuRuntime;
use crate::stream::GpuStream;
use crate::stream::event::OrderEvent;
use isobit_hal::{Result, StreamId};
use smallvec::SmallVec;
use std::sync::Arc;

/// A point in a stream's work: all that was given to the stream before it was marked.
#[derive(Debug)]
pub(crate) struct Point<R: GpuRuntime> {
    pub(crate) stream: StreamId,
    /// Points of a stream are numbered in order.
    pub(crate) number: u64,
    /// What others wait for; `None` where it is yet to be marked, which any later point of the
    /// stream does.
    pub(crate) event: Option<Arc<OrderEvent<R>>>,
}

impl<R: GpuRuntime> Clone for Point<R> {
    fn clone(&self) -> Self {
        Self { stream: self.stream, number: self.number, event: self.event.clone() }
    }
}

/// What work does with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// What must be over before a block is used again.
#[derive(Debug)]
pub(crate) struct Uses<R: GpuRuntime> {
    /// The last work that wrote it.
    write: Option<Point<R>>,
    /// Since then, the last work of each stream that read it.
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
    /// Readers beyond this are asked whether they are done: streams come and go, while a block of
    /// weights is never written.
    const READERS: usize = 8;

    pub(crate) fn is_empty(&self) -> bool {
        self.write.is_none() && self.reads.is_empty()
    }

    /// Whether there was work that wrote.
    pub(crate) fn writes(&self) -> bool {
        self.write.is_some()
    }

    fn before(&self, access: Access) -> impl Iterator<Item = &Point<R>> {
        let reads = if access == Access::Write { &self.reads[..] } else { &[] };
        self.write.iter().chain(reads)
    }

    /// Whether a stream may use the block for anything without waiting.
    pub(crate) fn are_done_for(&self, stream: &GpuStream<R>) -> bool {
        self.before(Access::Write).all(|point| stream.has_waited_for(point))
    }

    /// Has a stream wait until it may use the block.
    ///
    /// # Errors
    /// Those of the driver.
    pub(crate) fn wait(&self, device: &GpuDevice<R>, stream: &GpuStream<R>, access: Access) -> Result<()> {
        self.before(access).try_for_each(|point| device.wait_for(stream, point))
    }

    /// Has the host wait until it may use the memory itself; what is marked alone counts.
    ///
    /// # Errors
    /// The first of the work's.
    pub(crate) fn wait_on_host(&self, runtime: &R, access: Access) -> Result<()> {
        let mut outcome = Ok(());
        for event in self.before(access).filter_map(|point| point.event.as_ref()) {
            outcome = outcome.and(runtime.synchronize_event(event.raw()));
        }
        outcome
    }

    /// Remembers a use. Whoever writes has waited for all earlier uses, so they are forgotten.
    pub(crate) fn note(&mut self, runtime: &R, access: Access, point: Point<R>) {
        match access {
            Access::Write => {
                self.write = Some(point);
                self.reads.clear();
            }
            Access::Read => match self.reads.iter_mut().find(|read| read.stream == point.stream) {
                // Threads that share a stream may come here in another order than they marked their
                // points in.
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

    /// Adds what another record of the same memory says.
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

/// The blocks of an operation, and what it does with them. A block that it reads and writes is
/// named once, as written.
pub(crate) type Operands<'a, R> = SmallVec<[(&'a Arc<Block<R>>, Access); 5]>;

/// One operation's place among the work of all streams: made before its work is given to the
/// stream, ended after.
#[derive(Debug)]
#[must_use = "`after` remembers the operation's uses"]
pub(crate) struct Order<R: GpuRuntime> {
    /// Where it runs; `None` where there was one stream when it began.
    stream: Option<Arc<GpuStream<R>>>,
}

impl<R: GpuRuntime> Order<R> {
    /// Has this thread's stream wait for what other streams did with the operands.
    ///
    /// # Errors
    /// Those of the driver.
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

    /// Remembers what the operation's work, which was given to the stream by now, does with the
    /// operands. Gives its end where that was marked.
    ///
    /// # Errors
    /// Those of the driver.
    #[inline]
    pub(crate) fn after<'a>(
        self,
        device: &GpuDevice<R>,
        operands: impl FnOnce() -> Operands<'a, R>,
    ) -> Result<Option<Point<R>>> {
        // A second stream that another thread made in the meantime may have begun before this work,
        // which then needs a record. Where none is seen here, its beginning comes after the work:
        // it is marked after the flag that is read here is set.
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

/// Does work that needs no mutable storage, in its place: [`Order::before`] and [`Order::after`]
/// around it.
///
/// # Errors
/// Those of the work, else those of the driver.
pub(crate) fn with<R: GpuRuntime, T>(
    device: &GpuDevice<R>,
    operands: &[(&Arc<Block<R>>, Access)],
    work: impl FnOnce(&GpuStream<R>) -> Result<T>,
) -> Result<T> {
    let order = Order::before(device, || operands.iter().copied().collect())?;
    let done = work(&device.stream());
    // Also where it failed: a part of it may have been given to the stream.
    let noted = order.after(device, || operands.iter().copied().collect());
    done.and_then(|value| noted.map(|_| value))
}
