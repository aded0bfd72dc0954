//! What a node of a graph is, which captured work carries with it too.

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
    /// A call of the host, where it is one that nodes can have.
    Host(Option<HostCall>),
    /// A graph as a whole.
    Child(Graph),
    /// Nothing.
    Empty,
}

impl Payload {
    /// The kind of the node, which both vendors number alike.
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

    /// What work does, where it was labelled.
    pub fn of(work: &Work) -> Option<&Self> {
        work.payload.as_ref().and_then(|payload| payload.downcast_ref())
    }

    /// The launch, if it is one.
    pub fn kernel<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        match self {
            Self::Kernel(prepared) => prepared.clone().downcast().ok(),
            _ => None,
        }
    }
}

/// Work that knows what it does.
pub trait Labelled {
    /// With what it does.
    #[must_use]
    fn labelled(self, payload: Payload) -> Self;
}

impl Labelled for Work {
    fn labelled(self, payload: Payload) -> Self {
        self.with_payload(Arc::new(payload))
    }
}
