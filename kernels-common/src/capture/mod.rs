//! Captures: work is recorded instead of executed. This module also rejects calls that are not
//! allowed during a capture.

pub(crate) mod capture_gate;
pub(crate) mod graph;
pub(crate) mod pool;
pub(crate) mod recorder;

use crate::capture::pool::CapturePool;
use crate::device::GpuDevice;
use crate::faults::GraphFaults;
use crate::memory::block::Block;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::stream::GpuStream;
use crate::stream::dependencies::{Access, Point, Uses};
use crate::sync::Mutex;
use isobit_hal::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// How a capture uses a block of memory.
#[derive(Debug)]
struct CapturedUses<R: GpuRuntime> {
    /// The uses by the captured work alone.
    uses: Uses<R>,
    /// The block that the graph must keep alive; `None` for the graph's own memory.
    keep: Option<Arc<Block<R>>>,
}

impl<R: GpuRuntime> Default for CapturedUses<R> {
    fn default() -> Self {
        Self { uses: Uses::default(), keep: None }
    }
}

/// A running capture.
#[derive(Debug)]
pub(crate) struct Capture<R: GpuRuntime> {
    pool: Arc<CapturePool<R>>,
    touched: Mutex<HashMap<DevicePtr, CapturedUses<R>>>,
    members: Mutex<Vec<Arc<GpuStream<R>>>>,
    /// The fault flags of its operations with indices, set by the first such operation.
    faults: OnceLock<GraphFaults>,
}

impl<R: GpuRuntime> Capture<R> {
    pub(crate) fn new(device: &GpuDevice<R>) -> Self {
        Self {
            pool: CapturePool::new(device),
            touched: Mutex::default(),
            members: Mutex::default(),
            faults: OnceLock::new(),
        }
    }

    /// Returns the pool that provides the graph's own memory.
    pub(crate) fn pool(&self) -> &Arc<CapturePool<R>> {
        &self.pool
    }

    pub(crate) fn add_member(&self, stream: Arc<GpuStream<R>>) {
        self.members.lock().push(stream);
    }

    pub(crate) fn take_members(&self) -> Vec<Arc<GpuStream<R>>> {
        std::mem::take(&mut self.members.lock())
    }

    /// Takes the blocks outside the graph's own memory that the captured work uses, each with its
    /// access.
    pub(crate) fn take_kept(&self) -> Vec<(Arc<Block<R>>, Access)> {
        let kept = |touched: CapturedUses<R>| {
            let access = if touched.uses.writes() { Access::Write } else { Access::Read };
            Some((touched.keep?, access))
        };
        self.touched.lock().drain().filter_map(|(_, touched)| kept(touched)).collect()
    }

    /// Returns the fault flags of the operations with indices.
    pub(crate) fn faults(&self) -> &OnceLock<GraphFaults> {
        &self.faults
    }

    /// Takes the fault flags of the operations with indices after the capture, if there are any.
    pub(crate) fn take_faults(&self) -> Option<GraphFaults> {
        self.faults.get().cloned()
    }

    /// Makes a captured stream wait until it may use a block. Only captured work is considered: a
    /// replay waits for all other work.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    pub(crate) fn wait(
        &self,
        device: &GpuDevice<R>,
        stream: &GpuStream<R>,
        block: &Block<R>,
        access: Access,
    ) -> Result<()> {
        self.wait_at(device, stream, block.ptr(), access)
    }

    /// Same as [`wait`](Self::wait), for memory at an address.
    ///
    /// # Errors
    /// Same as [`wait`](Self::wait).
    pub(crate) fn wait_at(
        &self,
        device: &GpuDevice<R>,
        stream: &GpuStream<R>,
        ptr: DevicePtr,
        access: Access,
    ) -> Result<()> {
        self.touched.lock().get(&ptr).map_or(Ok(()), |touched| touched.uses.wait(device, stream, access))
    }

    /// Records a use by captured work.
    pub(crate) fn note(&self, device: &GpuDevice<R>, block: &Arc<Block<R>>, access: Access, point: Point<R>) {
        let mut touched = self.touched.lock();
        let touched = touched.entry(block.ptr()).or_default();
        touched.uses.note(device.runtime(), access, point);
        if touched.keep.is_none() && !block.is_of(&self.pool) {
            touched.keep = Some(block.clone());
        }
    }

    /// Records a use of memory that lives within one operation.
    pub(crate) fn note_scratch(&self, device: &GpuDevice<R>, ptr: DevicePtr, point: Point<R>) {
        self.touched.lock().entry(ptr).or_default().uses.note(device.runtime(), Access::Write, point);
    }
}

impl<R: GpuRuntime> GpuDevice<R> {
    /// Rejects calls that cannot be captured if the stream is being captured.
    ///
    /// # Errors
    /// Returns `CaptureViolation` if the stream is being captured.
    #[inline]
    pub(crate) fn refuse_in_capture(&self, stream: &GpuStream<R>, asked: &str) -> Result<()> {
        if stream.is_capturing() { Err(refused(asked).with_device(self.location_of())) } else { Ok(()) }
    }
}

fn violation(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::CaptureViolation, message)
}

#[cold]
fn refused(asked: &str) -> Error {
    violation(format!(
        "{asked} cannot be captured: the host would wait for work that does not run before the graph is replayed; do it before or after the capture"
    ))
}

/// Returns the error for a capture within a capture.
#[cold]
pub(crate) fn nested() -> Error {
    violation(
        "a step cannot be captured within another: the thread's stream is captured already; capture the inner step first, or as part of the outer one",
    )
}

/// Returns the error for replaying or updating a graph within a capture.
#[cold]
pub(crate) fn replayed_in_capture(asked: &str) -> Error {
    violation(format!(
        "{asked} cannot be captured: the thread's stream is captured, and graphs do not nest; call the step itself, or do it outside the capture"
    ))
}

/// Returns the error for a captured stream that waits for work outside its capture.
#[cold]
pub(crate) fn outside() -> Error {
    let message = "a captured stream cannot wait for work outside its capture, because a replay would not repeat it: wait before the capture begins, or have the other \
                   stream join the captured one first";
    violation(message)
}

/// Returns the error for a captured stream that waits for another capture.
#[cold]
pub(crate) fn two_captures() -> Error {
    let message = "the two streams belong to different captures, which cannot be merged: end one of them first";
    violation(message)
}
