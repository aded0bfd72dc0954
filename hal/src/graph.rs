//! Graphs: a step of work that is captured once and replayed at the cost of one launch.

use crate::Result;
use std::any::Any;
use std::fmt;

/// A step, which [`BackendDevice::capture`](crate::BackendDevice::capture) captures. Each call does
/// its operations once.
pub type Step = Box<dyn FnMut() -> Result<()> + Send>;

/// The interface that a driver implements for its graphs; users call [`Graph`].
///
/// ```rust
/// use isobit_hal::{Graph, Result, graph::{GraphBackend, Step}};
///
/// /// A graph of a device that cannot capture: it calls the step.
/// struct Calls(Step);
/// # use std::fmt;
/// # impl fmt::Debug for Calls {
/// #     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str("Calls") }
/// # }
///
/// impl GraphBackend for Calls {
///     fn replay(&mut self) -> Result<()> { (self.0)() }
///     fn update(&mut self) -> Result<()> { Ok(()) }
///     fn node_count(&self) -> usize { 0 }
/// }
/// let mut graph = Graph::from_backend(Box::new(Calls(Box::new(|| Ok(())))));
/// assert_eq!((graph.replay()?, graph.node_count()), ((), 0));
/// # Ok::<(), isobit_hal::Error>(())
/// ```
pub trait GraphBackend: Any + Send + fmt::Debug {
    /// As [`Graph::replay`].
    ///
    /// # Errors
    /// As [`Graph::replay`].
    fn replay(&mut self) -> Result<()>;

    /// As [`Graph::update`].
    ///
    /// # Errors
    /// As [`Graph::update`].
    fn update(&mut self) -> Result<()>;

    /// As [`Graph::node_count`].
    fn node_count(&self) -> usize;
}

/// A captured step. It keeps every buffer alive that the step touched, including buffers that the
/// step allocated and dropped.
///
/// A replay reads and writes the same buffers as the capture. To pass new inputs, write them into
/// the captured buffers ([`BackendStorage::write_slice`](crate::BackendStorage::write_slice),
/// `copy_into`). Values that were arguments of operations (an affine's factors, a random draw's
/// seed and offset) keep their captured values until [`update`](Self::update).
///
/// If the step copies from or to a pinned buffer, each replay copies its bytes again. A slice of
/// these bytes that is held during a replay may change, or be read half-written. Get the bytes from
/// the buffer again after the replay; this waits for it. If another thread enqueues work on a
/// stream that is being captured, that work becomes part of the graph.
///
/// On a device that runs each operation immediately, such as the CPU, a graph is the step itself: a
/// replay calls it again.
///
/// ```rust
/// use isobit_hal::{Affine, BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Src};
/// use std::sync::{Arc, Mutex};
///
/// let x = Arc::new(Mutex::new(CpuDevice.storage_from_slice(&[1.0f32, 2.0])?));
/// let captured = x.clone();
/// let mut double = CpuDevice.capture(move || {
///     let (mut x, layout) = (captured.lock().unwrap(), Layout::contiguous(2));
///     CpuStorage::affine_into(Affine::new(2.0, 0.0), Src::InPlace, &mut x, &layout)
/// })?;
/// double.replay()?;
/// double.replay()?;
/// assert_eq!(x.lock().unwrap().to_vec::<f32>()?, [4.0, 8.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug)]
pub struct Graph(Box<dyn GraphBackend>);

impl Graph {
    /// Wraps a driver's graph.
    pub fn from_backend(graph: Box<dyn GraphBackend>) -> Self {
        Self(graph)
    }

    /// Returns the driver's own graph, if it has type `T`.
    pub fn downcast_ref<T: GraphBackend>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Runs the step again on this thread's current stream, in order with the stream's other work.
    ///
    /// # Errors
    /// The driver's errors; `CaptureViolation` while that stream is being captured.
    pub fn replay(&mut self) -> Result<()> {
        self.0.replay()
    }

    /// Captures the step again and replaces the captured work. Cheaper than a new graph if only
    /// arguments of operations differ.
    ///
    /// # Errors
    /// As [`BackendDevice::capture`](crate::BackendDevice::capture); the graph is then unchanged.
    pub fn update(&mut self) -> Result<()> {
        self.0.update()
    }

    /// Returns the number of nodes that a replay runs (launches, copies and others), or 0 if a
    /// replay calls the step itself.
    pub fn node_count(&self) -> usize {
        self.0.node_count()
    }
}
