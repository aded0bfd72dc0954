//! Graphs: a step of work captured once and replayed at the cost of one launch.

use crate::Result;
use std::any::Any;
use std::fmt;

/// The operations of a step, done once each time it is called: what
/// [`BackendDevice::capture`](crate::BackendDevice::capture) captures.
pub type Step = Box<dyn FnMut() -> Result<()> + Send>;

/// What a driver implements for its graphs; users call [`Graph`].
pub trait GraphBackend: Any + Send + fmt::Debug {
    /// As [`Graph::replay`].
    ///
    /// # Errors
    /// As there.
    fn replay(&mut self) -> Result<()>;

    /// As [`Graph::update`].
    ///
    /// # Errors
    /// As there.
    fn update(&mut self) -> Result<()>;

    /// As [`Graph::node_count`].
    fn node_count(&self) -> usize;
}

/// A captured step. It keeps alive every buffer that the step touched, also those that the step
/// allocated and dropped.
///
/// A replay reads and writes the very buffers of the capture. New inputs are written into the
/// captured ones ([`BackendStorage::write_slice`](crate::BackendStorage::write_slice),
/// `copy_into`); values that were arguments of operations (an affine's factors, a random draw's
/// seed and offset) are those of the capture until [`update`](Self::update).
///
/// Bytes of pinned buffers that the step copies from or to are copied at each replay: a slice of
/// them that is held while one is replayed may change, or be read half written. Ask the buffer for
/// its bytes after the replay, which waits for it. Work that another thread gives to the captured
/// stream meanwhile becomes part of the graph.
///
/// On a device that runs each operation at once, such as the CPU, a graph is the step itself: a
/// replay calls it again.
#[derive(Debug)]
pub struct Graph(Box<dyn GraphBackend>);

impl Graph {
    /// A driver's graph.
    pub fn from_backend(graph: Box<dyn GraphBackend>) -> Self {
        Self(graph)
    }

    /// The driver's own graph, where it is of that type.
    pub fn downcast_ref<T: GraphBackend>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Does the step again, on the stream that this thread's work goes to, in order with its other
    /// work.
    ///
    /// # Errors
    /// Those of the driver; `CaptureViolation` while that stream is captured.
    pub fn replay(&mut self) -> Result<()> {
        self.0.replay()
    }

    /// Captures the step again, with what it now does, and puts the result in the place of what was
    /// captured: cheaper than a new graph where only arguments differ.
    ///
    /// # Errors
    /// As [`BackendDevice::capture`](crate::BackendDevice::capture); the graph is then as it was.
    pub fn update(&mut self) -> Result<()> {
        self.0.update()
    }

    /// Launches, copies and the like that a replay does; 0 where the step itself is called.
    pub fn node_count(&self) -> usize {
        self.0.node_count()
    }
}
