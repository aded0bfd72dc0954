//! Ids out of range: kernels find them while they run, and the device reports them at its next
//! synchronising call.
//!
//! Each operation with ids has a flag of its own in device memory, which a kernel that meets such
//! an id sets; the host keeps what each flag stands for. So no error overwrites another, and the
//! flags are read only where an operation with ids ran since they were read last.

mod graph;

use crate::device::GpuDevice;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::stream::GpuStream;
use graph::OfGraph;
use isobit_hal::{Error, ErrorKind, Op, Result};
use parking_lot::Mutex;
use std::collections::VecDeque;

pub(crate) use graph::GraphFaults;

/// Flags of a chunk of memory, each a u32. Those of eager operations are one chunk; they are taken
/// in turn, and read when all are taken.
const FLAGS: usize = 1024;
const FLAG_BYTES: usize = size_of::<u32>();
const CHUNK_BYTES: usize = FLAGS * FLAG_BYTES;

/// An operation with ids, and the size of the dimension that they count along.
#[derive(Debug)]
struct Indexing {
    op: Op,
    size: usize,
    /// Its fault was found while other streams were still at work, so the flag is still set.
    found: bool,
}

/// Flags in device memory, and what each was given to last.
#[derive(Debug, Default)]
struct Flags {
    chunks: Vec<DevicePtr>,
    given: Vec<Indexing>,
}

impl Flags {
    fn at(&self, i: usize) -> DevicePtr {
        DevicePtr(self.chunks[i / FLAGS].0 + (i % FLAGS * FLAG_BYTES) as u64)
    }

    /// Sets all flags to 0, in stream order.
    fn clear<R: GpuRuntime>(&self, runtime: &R, stream: &R::Stream) -> Result<()> {
        // SAFETY: a chunk has as many bytes.
        self.chunks.iter().try_for_each(|&chunk| unsafe { runtime.set_bytes(stream, chunk, 0, CHUNK_BYTES) })
    }

    /// Collects what kernels found, in the order of the operations, of which that of flag `first`
    /// is the oldest. Where all launches with these flags are `over`, those that are set are
    /// cleared: whether there were such.
    fn read<R: GpuRuntime>(
        &mut self,
        device: &GpuDevice<R>,
        stream: &GpuStream<R>,
        (first, over): (usize, bool),
        found: &mut VecDeque<Error>,
    ) -> Result<bool> {
        let runtime = device.runtime();
        let mut bytes = vec![0; self.chunks.len() * CHUNK_BYTES];
        for (&chunk, bytes) in self.chunks.iter().zip(bytes.chunks_exact_mut(CHUNK_BYTES)) {
            // SAFETY: a chunk has as many bytes.
            unsafe { runtime.copy_to_host(stream, bytes, chunk)? };
        }
        let mut cleared = false;
        for i in (first..self.given.len()).chain(0..first) {
            if bytes[i * FLAG_BYTES..][..FLAG_BYTES] == [0; FLAG_BYTES] {
                continue;
            }
            if over {
                cleared = true;
                // SAFETY: one of the flags.
                unsafe { runtime.set_bytes(stream, self.at(i), 0, FLAG_BYTES)? };
            }
            let Indexing { op, size, found: known } = &mut self.given[i];
            if !std::mem::replace(known, !over) {
                let message = format!(
                    "{op}: an id lies outside the dimension that it counts along, which has size {size}; its element was left out. \
                     u32::MAX and i64::MAX mark elements that are left out without an error"
                );
                let error = Error::new(ErrorKind::IndexOutOfRange, message).with_op(op);
                found.push_back(error.with_device(device.location_of()));
            }
        }
        Ok(cleared)
    }
}

#[derive(Debug, Default)]
struct State {
    /// Of eager operations.
    flags: Flags,
    /// The flag to give next, which is the one given longest ago.
    next: usize,
    /// Flags given since they were read.
    unread: usize,
    /// Whether launches were made with a flag since they were read.
    launched: bool,
    /// Of graphs.
    graphs: Vec<OfGraph>,
    /// Chunks of graphs that are gone.
    spare: Vec<DevicePtr>,
    /// Errors found and not reported yet.
    found: VecDeque<Error>,
}

impl State {
    /// Collects what kernels found. Where all streams have been waited for, the flags can be given
    /// anew.
    fn read<R: GpuRuntime>(&mut self, device: &GpuDevice<R>, stream: &GpuStream<R>, all_done: bool) -> Result<()> {
        let mut cleared = false;
        if self.launched {
            cleared |=
                self.flags.read(device, stream, (self.next % self.flags.given.len(), all_done), &mut self.found)?;
            if all_done {
                (self.unread, self.launched) = (0, false);
            }
        }
        for graph in &mut self.graphs {
            cleared |= graph.read(device, stream, all_done, &mut self.found)?;
        }
        // Before work on another stream uses a flag again.
        if cleared { device.runtime().synchronize(stream) } else { Ok(()) }
    }

    fn is_unread(&self) -> bool {
        self.launched || self.graphs.iter().any(OfGraph::is_unread)
    }
}

/// The flags of a device.
#[derive(Debug, Default)]
pub(crate) struct IndexFaults(Mutex<State>);

impl IndexFaults {
    /// A flag for an operation whose ids count along a dimension of `size`, which this thread's
    /// stream, not captured, is about to do.
    ///
    /// # Errors
    /// Those of the driver.
    pub(crate) fn flag<R: GpuRuntime>(&self, device: &GpuDevice<R>, op: &Op, size: usize) -> Result<DevicePtr> {
        let (mut state, stream) = (self.0.lock(), device.stream());
        if state.flags.chunks.is_empty() {
            let chunk = device.runtime().alloc(CHUNK_BYTES)?;
            state.flags.chunks.push(chunk);
            state.flags.clear(device.runtime(), &stream)?;
            if !device.has_one_stream() {
                device.runtime().synchronize(&stream)?;
            }
        }
        if state.unread == FLAGS {
            device.wait_all()?;
            state.read(device, &stream, true)?;
        }
        let (i, indexing) = (state.next, Indexing { op: op.clone(), size, found: false });
        match state.flags.given.get_mut(i) {
            Some(given) => *given = indexing,
            None => state.flags.given.push(indexing),
        }
        state.next = (i + 1) % FLAGS;
        state.unread += 1;
        Ok(state.flags.at(i))
    }

    /// Launches were made with a flag: the next synchronising call must read it.
    fn launched(&self) {
        self.0.lock().launched = true;
    }

    /// The first error that was found and not reported yet, after a stream has been waited for, or
    /// all have been.
    ///
    /// # Errors
    /// That error; those of the driver.
    pub(crate) fn report<R: GpuRuntime>(
        &self,
        device: &GpuDevice<R>,
        stream: &GpuStream<R>,
        all_done: bool,
    ) -> Result<()> {
        let mut state = self.0.lock();
        if state.is_unread() {
            state.read(device, stream, all_done || device.has_one_stream())?;
        }
        state.found.pop_front().map_or(Ok(()), Err)
    }

    /// Gives the flags' memory back.
    pub(crate) fn release<R: GpuRuntime>(&self, runtime: &R) {
        let mut state = std::mem::take(&mut *self.0.lock());
        let graphs = state.graphs.iter_mut().flat_map(|graph| graph.take_chunks());
        for chunk in state.flags.chunks.drain(..).chain(state.spare.drain(..)).chain(graphs) {
            // SAFETY: allocated by this runtime and taken out of the state, so freed once; the
            // device is closing, and the driver's free waits for pending work.
            unsafe { runtime.free(chunk) };
        }
    }
}

/// The flag of one operation, held while its kernels are launched: they get [`ptr`](Self::ptr) as a
/// `u32 *` for `report_fault` of `device_lib/ids.cuh`.
pub(crate) struct FaultFlag<'a> {
    /// `None` for one of a graph, which is set by its replays.
    faults: Option<&'a IndexFaults>,
    ptr: DevicePtr,
}

impl<'a> FaultFlag<'a> {
    /// A flag for this thread's next operation.
    ///
    /// # Errors
    /// Those of the driver.
    pub(crate) fn new<R: GpuRuntime>(
        faults: &'a IndexFaults,
        device: &GpuDevice<R>,
        op: &Op,
        size: usize,
    ) -> Result<Self> {
        match device.stream().capture() {
            None => Ok(Self { faults: Some(faults), ptr: faults.flag(device, op, size)? }),
            Some(capture) => Ok(Self { faults: None, ptr: faults.flag_of_graph(device, capture.faults(), op, size)? }),
        }
    }

    /// The flag's address.
    pub(crate) fn ptr(&self) -> DevicePtr {
        self.ptr
    }
}

impl Drop for FaultFlag<'_> {
    fn drop(&mut self) {
        if let Some(faults) = self.faults {
            faults.launched();
        }
    }
}
