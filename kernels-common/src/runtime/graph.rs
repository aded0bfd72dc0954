//! The graph part of a driver. Vendor handles are passed as numbers.

use crate::runtime::StreamRuntime;
use isobit_hal::{Error, ErrorKind, Result};

/// The vendor's handle of a captured graph, as a number. The receiver owns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawGraph(pub u64);

/// The vendor's handle of an executable graph, as a number. The receiver owns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawGraphExec(pub u64);

/// Captures streams into graphs. Optional: by default `begin_capture` returns `UnsupportedOp`, so
/// no graph is ever created.
///
/// ```
/// use isobit_hal::Result;
/// use isobit_kernels::GpuRuntime;
///
/// /// Captures the work that `step` enqueues, and launches it once as a graph.
/// ///
/// /// # Safety
/// /// The memory that the work uses stays allocated until the stream is synchronised.
/// unsafe fn run_as_graph<R: GpuRuntime>(
///     runtime: &R,
///     stream: &R::Stream,
///     step: impl FnOnce() -> Result<()>,
/// ) -> Result<()> {
///     runtime.begin_capture(stream)?;
///     let step = step();
///     let graph = runtime.end_capture(stream)?;
///     // SAFETY: `graph` and `exec` are destroyed once, after their last use; the caller keeps the
///     // memory allocated.
///     unsafe {
///         let launched = step.and_then(|()| runtime.instantiate(graph)).and_then(|exec| {
///             let launched = runtime.launch_graph(stream, exec);
///             runtime.destroy_graph_exec(exec);
///             launched
///         });
///         runtime.destroy_graph(graph);
///         launched
///     }
/// }
/// ```
pub trait GraphRuntime: StreamRuntime {
    /// Begins to capture the work enqueued on a stream. The capture mode is relaxed: it does not
    /// restrict other calls of any thread.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    fn begin_capture(&self, _stream: &Self::Stream) -> Result<()> {
        Err(no_graphs())
    }

    /// Whether the stream is being captured.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    fn is_capturing(&self, _stream: &Self::Stream) -> Result<bool> {
        Ok(false)
    }

    /// Ends the capture and returns the captured graph.
    ///
    /// # Errors
    /// Returns `CaptureViolation` if something invalidated the capture. The capture ends in that
    /// case too.
    fn end_capture(&self, _stream: &Self::Stream) -> Result<RawGraph> {
        Err(no_graphs())
    }

    /// Returns the number of nodes in a graph.
    ///
    /// # Safety
    /// The graph has not been destroyed.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    unsafe fn graph_nodes(&self, _graph: RawGraph) -> Result<usize> {
        Err(no_graphs())
    }

    /// Creates an executable graph.
    ///
    /// # Safety
    /// The graph has not been destroyed.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    unsafe fn instantiate(&self, _graph: RawGraph) -> Result<RawGraphExec> {
        Err(no_graphs())
    }

    /// Updates an executable graph with the arguments of another graph. Returns false, and changes
    /// nothing, if their topologies differ.
    ///
    /// # Safety
    /// Neither graph has been destroyed, and `exec` is not running.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    unsafe fn update_graph(&self, _exec: RawGraphExec, _graph: RawGraph) -> Result<bool> {
        Err(no_graphs())
    }

    /// Launches an executable graph on a stream.
    ///
    /// # Safety
    /// The graph has not been destroyed, and the memory that its nodes read and write is allocated.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    unsafe fn launch_graph(&self, _stream: &Self::Stream, _exec: RawGraphExec) -> Result<()> {
        Err(no_graphs())
    }

    /// Destroys a graph. Errors are kept for the next synchronising call.
    ///
    /// # Safety
    /// The graph has not been destroyed.
    unsafe fn destroy_graph(&self, _graph: RawGraph) {}

    /// Destroys an executable graph after its running launches have finished. Errors are kept for
    /// the next synchronising call.
    ///
    /// # Safety
    /// The graph has not been destroyed.
    unsafe fn destroy_graph_exec(&self, _exec: RawGraphExec) {}
}

#[cold]
fn no_graphs() -> Error {
    Error::new(ErrorKind::UnsupportedOp, "this driver has no graphs: run the work on the stream without a capture")
}
