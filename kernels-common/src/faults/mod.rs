//! Indices out of range: kernels detect them while they run, and the device reports them at its
//! next synchronising call.
//!
//! Each operation with indices has its own flag in device memory, in which a kernel leaves the
//! first index out of range. The host remembers which operation each flag stands for. So no error
//! overwrites another, and the flags are read only if an operation with indices ran since the last
//! read.

mod graph;

use crate::device::GpuDevice;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::stream::GpuStream;
use crate::sync::Mutex;
use graph::OfGraph;
use isobit_hal::{Dims, Error, Op, Result};
use std::collections::VecDeque;

pub(crate) use graph::GraphFaults;

/// The number of flags in a chunk of memory; must match `FAULT_FLAGS` of ids.cuh. Eager operations
/// use one chunk; its flags are taken in turn and read when all are taken.
const FLAGS: usize = 1024;
/// The words of a flag. The first words of all flags come first, then the second ones, and so on:
/// if nothing is wrong, only the first ones are read.
const PARTS: usize = 3;
const WORD_BYTES: usize = size_of::<u64>();
const PART_BYTES: usize = FLAGS * WORD_BYTES;
const CHUNK_BYTES: usize = PARTS * PART_BYTES;
/// The bits of an index in each word, behind the distance of its place from the last one.
const PART_BITS: u32 = 24;
const PLACES: u64 = 1 << (64 - PART_BITS);

/// An operation with indices, and the shapes of these and of the tensor that they index.
#[derive(Debug)]
struct Indexing {
    op: Op,
    ids: Dims,
    tensor: Dims,
    /// The fault was reported while other streams were still running, so the flag is still set.
    found: bool,
}

impl Indexing {
    fn new(op: &Op, [ids, tensor]: [&[usize]; 2]) -> Self {
        Self { op: op.clone(), ids: ids.into(), tensor: tensor.into(), found: false }
    }
}

/// Returns the index that the words of a flag stand for, and its place; `None` if a kernel has
/// written some of the words only.
fn decode(words: [u64; PARTS]) -> Option<(i64, usize)> {
    let place = |word: u64| PLACES - 1 - (word >> PART_BITS);
    let part = |word: u64, i: u32| (word & ((1 << PART_BITS) - 1)) << (i * PART_BITS);
    let id = words.iter().zip(0..).fold(0, |id, (&word, i)| id | part(word, i));
    words.iter().all(|&word| place(word) == place(words[0])).then(|| (id as i64, place(words[0]) as usize))
}

/// Flags in device memory, and the operation that each was last given to.
#[derive(Debug, Default)]
struct Flags {
    chunks: Vec<DevicePtr>,
    given: Vec<Indexing>,
}

impl Flags {
    fn at(&self, i: usize) -> DevicePtr {
        DevicePtr(self.chunks[i / FLAGS].0 + (i % FLAGS * WORD_BYTES) as u64)
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
        let mut firsts = vec![0; self.chunks.len() * PART_BYTES];
        for (&chunk, firsts) in self.chunks.iter().zip(firsts.chunks_exact_mut(PART_BYTES)) {
            // SAFETY: the first words are not longer than a chunk.
            unsafe { runtime.copy_to_host(stream, firsts, chunk)? };
        }
        let mut cleared = false;
        for i in (first..self.given.len()).chain(0..first) {
            if firsts[i * WORD_BYTES..][..WORD_BYTES] == [0; WORD_BYTES] {
                continue;
            }
            let (mut words, at) = ([[0; WORD_BYTES]; PARTS], self.at(i));
            for (word, part) in words.iter_mut().zip(0..) {
                let from = DevicePtr(at.0 + part * PART_BYTES as u64);
                // SAFETY: these are the words of a flag.
                unsafe {
                    runtime.copy_to_host(stream, word, from)?;
                    if over {
                        runtime.set_bytes(stream, from, 0, WORD_BYTES)?;
                    }
                }
            }
            cleared |= over;
            // A flag that is being written is read again when its kernel is done.
            let Some((id, place)) = decode(words.map(u64::from_le_bytes)) else { continue };
            let Indexing { op, ids, tensor, found: known } = &mut self.given[i];
            if !std::mem::replace(known, !over) {
                found.push_back(op.id_out_of_range(id, place, ids, tensor).with_device(device.location_of()));
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
    /// Returns a flag for an operation whose indices and the tensor that they index have these
    /// shapes, and which runs next on this thread's stream. The stream is not being captured.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    fn flag<R: GpuRuntime>(&self, device: &GpuDevice<R>, indexing: Indexing) -> Result<DevicePtr> {
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
        let i = state.next;
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
/// as a `u64 *` for `report_fault` of `device_lib/ids.cuh`.
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
        shapes: [&[usize]; 2],
    ) -> Result<Self> {
        let indexing = Indexing::new(op, shapes);
        match device.stream().capture() {
            None => Ok(Self { faults: Some(faults), ptr: faults.flag(device, indexing)? }),
            Some(capture) => Ok(Self { faults: None, ptr: faults.flag_of_graph(device, capture.faults(), indexing)? }),
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
