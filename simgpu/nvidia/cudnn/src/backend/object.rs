//! Descriptors: open, while attributes are set, and then final, when they are read and other
//! descriptors stand on them.

use super::attribute::{Room, Values};
use super::{engine, graph, heuristic, operation, pack, plan, tensor, window};
use crate::status::{BAD_PARAM, DESCRIPTOR_TYPE, NOT_FINALIZED, NOT_SUPPORTED, NULL_POINTER, Outcome, ensure, fail};
use isobit_simgpu_library_common::Handles;
use isobit_simgpu_math::convolution::Pass;
use parking_lot::Mutex;
use std::any::Any;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, OnceLock};

/// What a kind of descriptor is made of.
pub(super) trait Body: Any + Send + Sync {
    /// The kind's `cudnnBackendDescriptorType_t`.
    fn kind(&self) -> c_int;
    /// Sets an attribute.
    fn set(&mut self, name: c_int, values: &Values) -> Outcome;
    /// Checks that the attributes are all there and suit each other.
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

/// The descriptor of a handle.
pub(super) fn object(handle: *mut c_void) -> Outcome<Arc<Object>> {
    ensure(!handle.is_null(), NULL_POINTER, || "no descriptor".into())?;
    LIVE.get(handle).map_or_else(|| fail(BAD_PARAM, "a descriptor that there is not"), Ok)
}

/// A required attribute that was not set.
pub(super) fn missing<T>(name: &str) -> Outcome<T> {
    fail(BAD_PARAM, format!("{name} is not set"))
}

/// An attribute that a kind of descriptor does not have, or does not let be set or read.
pub(super) fn foreign(kind: c_int, name: c_int) -> Outcome {
    fail(BAD_PARAM, format!("descriptors of kind {kind} have no attribute {name} for this"))
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
            graph::KIND => Box::new(graph::Graph::default()),
            pack::KIND => Box::new(pack::Pack::default()),
            tensor::KIND => Box::new(tensor::Tensor::default()),
            _ => return fail(NOT_SUPPORTED, format!("descriptors of kind {kind}")),
        };
        Ok(Self { kind, open: Mutex::new(Some(body)), body: OnceLock::new() })
    }

    /// What it is, once it is final.
    pub(super) fn body(&self) -> Option<Arc<dyn Body>> {
        self.body.get().cloned()
    }

    /// What it is, of a kind and final.
    pub(super) fn body_of<B: Body>(&self) -> Outcome<Arc<B>> {
        let Some(body) = self.body() else { return fail(NOT_FINALIZED, "a descriptor that is not finalised") };
        let body: Arc<dyn Any + Send + Sync> = body;
        body.downcast().or_else(|_| fail(DESCRIPTOR_TYPE, "a descriptor of another kind"))
    }

    /// Works on what it is while it is open.
    pub(super) fn change(&self, f: impl FnOnce(&mut dyn Body) -> Outcome) -> Outcome {
        match self.open.lock().as_deref_mut() {
            Some(body) => f(body),
            None => fail(BAD_PARAM, "the descriptor is finalised"),
        }
    }

    pub(super) fn finalize(&self) -> Outcome {
        let mut open = self.open.lock();
        let Some(body) = open.as_deref_mut() else { return fail(BAD_PARAM, "the descriptor is finalised already") };
        body.finalize()?;
        if let Some(body) = open.take() {
            // It was open, so nothing is there yet.
            let _ = self.body.set(Arc::from(body));
        }
        Ok(())
    }

    /// Makes an open descriptor another's equal.
    pub(super) fn become_final(&self, body: Arc<dyn Body>) -> Outcome {
        ensure(self.kind == body.kind(), DESCRIPTOR_TYPE, || {
            format!("a descriptor of kind {} is to hold one of kind {}", self.kind, body.kind())
        })?;
        let mut open = self.open.lock();
        ensure(open.is_some(), BAD_PARAM, || "a descriptor that is finalised is to hold another".into())?;
        *open = None;
        let _ = self.body.set(body);
        Ok(())
    }
}
