//! The kind and parameters of a graph node, which captured work also has.

use crate::copy::Copy;
use crate::host::HostCall;
use crate::set::Set;
use isobit_simgpu_core::queue::{Graph, Work};
use std::any::Any;
use std::ffi::c_int;
use std::sync::Arc;

/// What work does.
#[derive(Debug, Clone)]
pub enum Payload {
    /// A launch, as the vendor prepared it.
    Kernel(Arc<dyn Any + Send + Sync>),
    /// A copy.
    Copy(Copy),
    /// A set.
    Set(Set),
    /// A host call; `Some` if it is one that nodes can have.
    Host(Option<HostCall>),
    /// A whole graph.
    Child(Graph),
    /// Nothing.
    Empty,
}

impl Payload {
    /// Returns the number of the node's kind, which is the same for both vendors.
    pub fn number(&self) -> c_int {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy(_) => 1,
            Self::Set(_) => 2,
            Self::Host(_) => 3,
            Self::Child(_) => 4,
            Self::Empty => 5,
        }
    }

    /// Returns the payload of labelled work.
    pub fn of(work: &Work) -> Option<&Self> {
        work.payload.as_ref().and_then(|payload| payload.downcast_ref())
    }

    /// Returns the launch, if it is one.
    pub fn kernel<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        match self {
            Self::Kernel(prepared) => prepared.clone().downcast().ok(),
            _ => None,
        }
    }
}

/// Work with a payload.
pub trait Labelled {
    /// Attaches the payload.
    #[must_use]
    fn labelled(self, payload: Payload) -> Self;
}

impl Labelled for Work {
    fn labelled(self, payload: Payload) -> Self {
        self.with_payload(Arc::new(payload))
    }
}
