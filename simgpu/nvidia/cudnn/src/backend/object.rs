//! Descriptors: open while attributes are set; then finalized, when they can be read and other
//! descriptors can refer to them.

use super::attribute::{Room, Values};
use super::{engine, graph, heuristic, matmul, node, operation, pack, plan, pointwise, reduction, tensor, window};
use crate::status::{BAD_PARAM, DESCRIPTOR_TYPE, NOT_FINALIZED, NOT_SUPPORTED, NULL_POINTER, Outcome, ensure, fail};
use isobit_simgpu_library_common::Handles;
use isobit_simgpu_math::convolution::Pass;
use parking_lot::Mutex;
use std::any::Any;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, OnceLock};

/// The contents of one kind of descriptor.
pub(super) trait Body: Any + Send + Sync {
    /// Returns the kind's `cudnnBackendDescriptorType_t`.
    fn kind(&self) -> c_int;
    /// Sets an attribute.
    fn set(&mut self, name: c_int, values: &Values) -> Outcome;
    /// Checks that the required attributes are set and consistent.
    fn finalize(&mut self) -> Outcome;
    /// Reads an attribute.
    fn get(&self, name: c_int, room: &Room) -> Outcome;
}

/// A descriptor.
pub(super) struct Object {
    kind: c_int,
    open: Mutex<Option<Box<dyn Body>>>,
    body: OnceLock<Arc<dyn Body>>,
}

pub(super) static LIVE: Handles<Object> = Handles::new();

/// Returns the descriptor of a handle.
pub(super) fn object(handle: *mut c_void) -> Outcome<Arc<Object>> {
    ensure(!handle.is_null(), NULL_POINTER, || "the descriptor is null".into())?;
    LIVE.get(handle).map_or_else(|| fail(BAD_PARAM, "the descriptor does not exist"), Ok)
}

/// Returns the error for a required attribute that is not set.
pub(super) fn missing<T>(name: &str) -> Outcome<T> {
    fail(BAD_PARAM, format!("{name} is not set"))
}

/// Returns the error for an attribute that a kind of descriptor does not have, or that cannot be
/// set or read.
pub(super) fn foreign(kind: c_int, name: c_int) -> Outcome {
    fail(BAD_PARAM, format!("descriptors of kind {kind} do not support attribute {name} in this call"))
}

impl Object {
    pub(super) fn new(kind: c_int) -> Outcome<Self> {
        let body: Box<dyn Body> = match kind {
            window::KIND => Box::new(window::ConvolutionWindow::default()),
            engine::KIND => Box::new(engine::ChosenEngine::default()),
            engine::CONFIG_KIND => Box::new(engine::Config::default()),
            heuristic::KIND => Box::new(heuristic::Heuristic::default()),
            plan::KIND => Box::new(plan::Plan::default()),
            operation::FORWARD => Box::new(operation::Operation::new(Pass::Forward)),
            operation::FILTER => Box::new(operation::Operation::new(Pass::Filter)),
            operation::DATA => Box::new(operation::Operation::new(Pass::Data)),
            matmul::KIND => Box::new(matmul::Matmul::default()),
            pointwise::KIND => Box::new(pointwise::Pointwise::default()),
            reduction::KIND => Box::new(reduction::Reduction::default()),
            node::MATMUL | node::POINTWISE | node::REDUCTION => Box::new(node::Node::new(kind)),
            graph::KIND => Box::new(graph::Graph::default()),
            pack::KIND => Box::new(pack::Pack::default()),
            tensor::KIND => Box::new(tensor::Tensor::default()),
            _ => return fail(NOT_SUPPORTED, format!("descriptors of kind {kind} are not supported")),
        };
        Ok(Self { kind, open: Mutex::new(Some(body)), body: OnceLock::new() })
    }

    /// Returns the contents if the descriptor is finalized.
    pub(super) fn body(&self) -> Option<Arc<dyn Body>> {
        self.body.get().cloned()
    }

    /// Returns the contents, of the given kind; fails if the descriptor is not finalized.
    pub(super) fn body_of<B: Body>(&self) -> Outcome<Arc<B>> {
        let Some(body) = self.body() else { return fail(NOT_FINALIZED, "the descriptor is not finalized") };
        let body: Arc<dyn Any + Send + Sync> = body;
        body.downcast().or_else(|_| fail(DESCRIPTOR_TYPE, "the descriptor has another kind"))
    }

    /// Changes the contents of an open descriptor.
    pub(super) fn change(&self, f: impl FnOnce(&mut dyn Body) -> Outcome) -> Outcome {
        match self.open.lock().as_deref_mut() {
            Some(body) => f(body),
            None => fail(BAD_PARAM, "the descriptor is finalized"),
        }
    }

    pub(super) fn finalize(&self) -> Outcome {
        let mut open = self.open.lock();
        let Some(body) = open.as_deref_mut() else { return fail(BAD_PARAM, "the descriptor is already finalized") };
        body.finalize()?;
        if let Some(body) = open.take() {
            // The descriptor was open, so the cell is empty.
            let _ = self.body.set(Arc::from(body));
        }
        Ok(())
    }

    /// Turns an open descriptor into a copy of a finalized one.
    pub(super) fn become_final(&self, body: Arc<dyn Body>) -> Outcome {
        ensure(self.kind == body.kind(), DESCRIPTOR_TYPE, || {
            format!("a descriptor of kind {} cannot receive one of kind {}", self.kind, body.kind())
        })?;
        let mut open = self.open.lock();
        ensure(open.is_some(), BAD_PARAM, || "a finalized descriptor cannot receive another".into())?;
        *open = None;
        let _ = self.body.set(body);
        Ok(())
    }
}
