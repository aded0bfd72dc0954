//! Operation graphs: `CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR`. Here a graph is one convolution or
//! gradient, or several other operations.

use super::attribute::{BOOLEAN, HANDLE, INT64, Room, Values};
use super::composite::composed;
use super::node::Node;
use super::object::{Body, Object, foreign, missing};
use super::operation::Operation;
use super::tensor::Tensor;
use super::work::Work;
use crate::engine::ENGINES;
use crate::fused::{Attention, Place};
use crate::handle::stream_of;
use crate::status::{DUPLICATED_ENTRIES, GRAPH_PATTERN, NOT_SUPPORTED, Outcome, ensure, fail};
use std::ffi::c_int;
use std::sync::Arc;

pub(super) const KIND: c_int = 15;

// CUDNN_ATTR_OPERATIONGRAPH_*.
const GRAPH_HANDLE: c_int = 800;
const OPS: c_int = 801;
const ENGINE_GLOBAL_COUNT: c_int = 802;
const IS_DYNAMIC_SHAPE_ENABLED: c_int = 803;

/// The maximum number of operations that the attribute accepts.
const MOST_OPS: usize = 256;

/// An operation of a graph.
#[derive(Debug, Clone)]
enum Member {
    Convolution(Arc<Operation>),
    Node(Arc<Node>),
}

impl Member {
    fn of(object: &Object) -> Outcome<Self> {
        object.body_of().map(Self::Node).or_else(|_| object.body_of().map(Self::Convolution))
    }

    fn body(&self) -> Arc<dyn Body> {
        match self {
            Self::Convolution(operation) => operation.clone(),
            Self::Node(node) => node.clone(),
        }
    }
}

/// A graph.
#[derive(Debug, Default)]
pub(super) struct Graph {
    has_handle: bool,
    operations: Vec<Member>,
    work: Option<Work>,
}

impl Graph {
    /// Returns what the graph computes, once it is finalized.
    pub(super) fn work(&self) -> Outcome<&Work> {
        self.work.as_ref().map_or_else(|| missing("CUDNN_ATTR_OPERATIONGRAPH_OPS"), Ok)
    }

    fn convolution(&self) -> Outcome<&Operation> {
        match &self.operations[..] {
            [Member::Convolution(operation)] => Ok(operation),
            _ => fail(GRAPH_PATTERN, "the graph is neither one convolution nor operations without any"),
        }
    }

    /// Returns the factors of the convolution.
    pub(super) fn factors(&self) -> Outcome<[f64; 2]> {
        Ok(self.convolution()?.factors())
    }

    /// Returns the input, filter and result of the convolution.
    pub(super) fn tensors(&self) -> Outcome<Vec<&Arc<Tensor>>> {
        Ok(self.convolution()?.tensors().collect())
    }

    /// Returns the operations if none is a convolution.
    fn nodes(&self) -> Option<Vec<&Node>> {
        self.operations.iter().map(|o| if let Member::Node(node) = o { Some(&**node) } else { None }).collect()
    }

    /// Checks the convolution that is the whole graph.
    fn one_convolution(&self) -> Outcome<Work> {
        let tensors = self.tensors()?;
        ensure(tensors.iter().all(|t| t.place() == Place::Memory), GRAPH_PATTERN, || {
            "the graph is not a convolution between tensors in memory".into()
        })?;
        let mut ids: Vec<_> = tensors.iter().map(|t| t.unique_id()).collect();
        ids.sort_unstable();
        ids.dedup();
        ensure(ids.len() == tensors.len(), DUPLICATED_ENTRIES, || "two tensors have the same identifier".into())?;
        self.convolution()?
            .problem()
            .map_or_else(|| missing("the operation's convolution"), |problem| Ok(Work::Convolution(Box::new(*problem))))
    }
}

impl Body for Graph {
    fn kind(&self) -> c_int {
        KIND
    }

    fn set(&mut self, name: c_int, values: &Values) -> Outcome {
        match name {
            GRAPH_HANDLE => {
                stream_of(values.one(HANDLE)?)?;
                self.has_handle = true;
            }
            OPS => self.operations = values.objects(MOST_OPS, Member::of)?,
            IS_DYNAMIC_SHAPE_ENABLED => {
                ensure(values.one(BOOLEAN)? == 0, NOT_SUPPORTED, || "dynamic shapes are not supported".into())?;
            }
            _ => return foreign(KIND, name),
        }
        Ok(())
    }

    fn finalize(&mut self) -> Outcome {
        if !self.has_handle {
            return missing("CUDNN_ATTR_OPERATIONGRAPH_HANDLE");
        }
        if self.operations.is_empty() {
            return missing("CUDNN_ATTR_OPERATIONGRAPH_OPS");
        }
        self.work = Some(match self.nodes() {
            Some(nodes) => Work::Fused(Attention::of(composed(nodes.into_iter())?).map(Arc::new)),
            None => self.one_convolution()?,
        });
        Ok(())
    }

    fn get(&self, name: c_int, room: &Room) -> Outcome {
        match name {
            OPS => room.fill_any(&self.operations.iter().map(Member::body).collect::<Vec<_>>()),
            ENGINE_GLOBAL_COUNT => room.put(INT64, &[ENGINES.len() as i64]),
            IS_DYNAMIC_SHAPE_ENABLED => room.put(BOOLEAN, &[0]),
            _ => foreign(KIND, name),
        }
    }
}
