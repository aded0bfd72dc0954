//! Graphs as a driver gives them: the vendor's handles as numbers.

use crate::runtime::StreamRuntime;
use isobit_hal::{Error, ErrorKind, Result};

/// A captured graph of the vendor's, as a number; owned by whoever got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawGraph(pub u64);

/// A graph of the vendor's made ready to be launched, as a number; owned by whoever got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawGraphExec(pub u64);

/// Captures of a stream, and graphs made of them. Optional: by default a capture is
/// `UnsupportedOp` when it begins, so that no graph comes to be.
pub trait GraphRuntime: StreamRuntime {
    /// Begins to capture what is given to a stream, in the mode that leaves other calls of every
    /// thread alone (relaxed).
    ///
    /// # Errors
    /// Those of the driver.
    fn begin_capture(&self, _stream: &Self::Stream) -> Result<()> {
        Err(no_graphs())
    }

    /// Whether what is given to a stream is captured.
    ///
    /// # Errors
    /// Those of the driver.
    fn is_capturing(&self, _stream: &Self::Stream) -> Result<bool> {
        Ok(false)
    }

    /// Ends the capture and gives what was captured.
    ///
    /// # Errors
    /// `CaptureViolation` where something broke the capture, which is over then all the same.
    fn end_capture(&self, _stream: &Self::Stream) -> Result<RawGraph> {
        Err(no_graphs())
    }

    /// How many nodes a graph has.
    ///
    /// # Safety
    /// The graph is not destroyed.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn graph_nodes(&self, _graph: RawGraph) -> Result<usize> {
        Err(no_graphs())
    }

    /// Makes a graph ready to be launched.
    ///
    /// # Safety
    /// The graph is not destroyed.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn instantiate(&self, _graph: RawGraph) -> Result<RawGraphExec> {
        Err(no_graphs())
    }

    /// Puts another graph's arguments into one that is ready; false where their shapes differ, and
    /// nothing was changed.
    ///
    /// # Safety
    /// Neither is destroyed, and `exec` is not running.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn update_graph(&self, _exec: RawGraphExec, _graph: RawGraph) -> Result<bool> {
        Err(no_graphs())
    }

    /// Launches a graph.
    ///
    /// # Safety
    /// It is not destroyed, and what its nodes read and write is allocated.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn launch_graph(&self, _stream: &Self::Stream, _exec: RawGraphExec) -> Result<()> {
        Err(no_graphs())
    }

    /// Destroys a graph. Errors are kept for the next synchronising call.
    ///
    /// # Safety
    /// It is not destroyed yet.
    unsafe fn destroy_graph(&self, _graph: RawGraph) {}

    /// Destroys a graph that was made ready; a launch that is running ends first. Errors are kept
    /// for the next synchronising call.
    ///
    /// # Safety
    /// It is not destroyed yet.
    unsafe fn destroy_graph_exec(&self, _exec: RawGraphExec) {}
}

#[cold]
fn no_graphs() -> Error {
    Error::new(ErrorKind::UnsupportedOp, "this driver has no graphs: do the work on the stream, without a capture")
}
