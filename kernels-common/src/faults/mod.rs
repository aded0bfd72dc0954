//! Indices out of range: kernels detect them while they run, and the device reports them at its
//! next synchronising call.
//!
//! Each operation with indices has its own flag in device memory, which a kernel sets when it finds
//! an index out of range. The host remembers which operation each flag stands for. So no error
//! overwrites another, and the flags are read only if an operation with indices ran since the last
//! read.

mod graph;

use crate::device::GpuDevice;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::stream::GpuStream;
use crate::sync::Mutex;
use graph::OfGraph;
use isobit_hal::{Error, ErrorKind, Op, Result};
use std::collections::VecDeque;

pub(crate) use graph::GraphFaults;

/// The number of flags, each a u32, in a chunk of memory. Eager operations use one chunk; its flags
/// are taken in turn and read when all are taken.
const FLAGS: usize = 1024;
const FLAG_BYTES: usize = size_of::<u32>();
const CHUNK_BYTES: usize = FLAGS * FLAG_BYTES;

/// An operation with indices and the size of the dimension that they address.
#[derive(Debug)]
struct Indexing {
    op: Op,
    size: usize,
    /// The fault was reported while other streams were still running, so the flag is still set.
    found: bool,
}

/// Flags in device memory, and the operation that each was last given to.
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
        // SAFETY: a chunk has `CHUNK_BYTES` bytes.
        self.chunks.iter().try_for_each(|&chunk| unsafe { runtime.set_bytes(stream, chunk, 0, CHUNK_BYTES) })
    }

    /// Collects the faults that kernels found, in the order of the operations; flag `first` belongs
    /// to the oldest one. If `over`, all launches with these flags are done, and set flags are
    /// cleared. Returns whether any flag was cleared.
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
            // SAFETY: `bytes` is not longer than a chunk.
            unsafe { runtime.copy_to_host(stream, bytes, chunk)? };
        }
        let mut cleared = false;
        for i in (first..self.given.len()).chain(0..first) {
            if bytes[i * FLAG_BYTES..][..FLAG_BYTES] == [0; FLAG_BYTES] {
                continue;
            }
            if over {
                cleared = true;
                // SAFETY: `at(i)` is one of the flags.
                unsafe { runtime.set_bytes(stream, self.at(i), 0, FLAG_BYTES)? };
            }
            let Indexing { op, size, found: known } = &mut self.given[i];
            if !std::mem::replace(known, !over) {
                let message = format!(
                    "{op}: an id is out of range for a dimension of size {size}; its element was skipped. \
                     u32::MAX, i32::MAX and i64::MAX mark elements that are skipped without an error"
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
    /// The flags of eager operations.
    flags: Flags,
    /// The flag to give out next, which is the one given out longest ago.
    next: usize,
    /// The number of flags given out since the last read.
    unread: usize,
    /// Whether a kernel with a flag was launched since the last read.
    launched: bool,
    /// The flags of graphs.
    graphs: Vec<OfGraph>,
    /// Chunks of graphs that were dropped.
    spare: Vec<DevicePtr>,
    /// Errors that were found and not reported yet.
    found: VecDeque<Error>,
}

impl State {
    /// Collects the faults that kernels found. If all streams are done, the flags can be reused.
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
        // The clearing must be done before work on another stream uses a flag again.
        if cleared { device.runtime().synchronize(stream) } else { Ok(()) }
    }

    fn is_unread(&self) -> bool {
        self.launched || self.graphs.iter().any(OfGraph::is_unread)
    }
}

/// The fault flags of a device.
#[derive(Debug, Default)]
pub(crate) struct IndexFaults(Mutex<State>);

impl IndexFaults {
    /// Returns a flag for an operation whose indices address a dimension of `size`, and which runs
    /// next on this thread's stream. The stream is not being captured.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
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

    /// Records that kernels with a flag were launched: the next synchronising call must read it.
    fn launched(&self) {
        self.0.lock().launched = true;
    }

    /// Reports the first error that was found and not reported yet, after waiting for one stream or
    /// for all of them.
    ///
    /// # Errors
    /// Returns that error, or the driver's error.
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

    /// Frees the memory of the flags.
    pub(crate) fn release<R: GpuRuntime>(&self, runtime: &R) {
        let mut state = std::mem::take(&mut *self.0.lock());
        let graphs = state.graphs.iter_mut().flat_map(|graph| graph.take_chunks());
        for chunk in state.flags.chunks.drain(..).chain(state.spare.drain(..)).chain(graphs) {
            // SAFETY: the chunk was allocated by this runtime and removed from the state, so it is
            // freed once. The device is closing, and the driver's free waits for pending work.
            unsafe { runtime.free(chunk) };
        }
    }
}

/// The flag of one operation, held while its kernels are launched. They receive [`ptr`](Self::ptr)
/// as a `u32 *` for `report_fault` of `device_lib/ids.cuh`.
pub(crate) struct FaultFlag<'a> {
    /// `None` for a flag of a graph, which is set by the graph's replays.
    faults: Option<&'a IndexFaults>,
    ptr: DevicePtr,
}

impl<'a> FaultFlag<'a> {
    /// Returns a flag for this thread's next operation.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
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

    /// Returns the address of the flag.
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
