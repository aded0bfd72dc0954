//! Operation graphs: `CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR`. Here a graph has one operation, a
//! convolution or a gradient.

use super::attribute::{BOOLEAN, HANDLE, INT64, Room, Values};
use super::object::{Body, foreign, missing};
use super::operation::Operation;
use super::tensor::Tensor;
use crate::engine::ENGINES;
use crate::handle::stream_of;
use crate::problem::Problem;
use crate::status::{DUPLICATED_ENTRIES, GRAPH_PATTERN, NOT_SUPPORTED, Outcome, ensure, fail};
use std::ffi::c_int;
use std::sync::Arc;

pub(super) const KIND: c_int = 15;

// CUDNN_ATTR_OPERATIONGRAPH_*.
const GRAPH_HANDLE: c_int = 800;
const OPS: c_int = 801;
const ENGINE_GLOBAL_COUNT: c_int = 802;
const IS_DYNAMIC_SHAPE_ENABLED: c_int = 803;

/// The maximum number of operations that the attribute accepts. Graphs with more than one operation
/// are rejected later.
const MOST_OPS: usize = 256;

/// A graph.
#[derive(Debug, Default)]
pub(super) struct Graph {
    has_handle: bool,
    operations: Vec<Arc<Operation>>,
}

impl Graph {
    fn operation(&self) -> Outcome<&Operation> {
        self.operations.first().map(Arc::as_ref).map_or_else(|| missing("CUDNN_ATTR_OPERATIONGRAPH_OPS"), Ok)
    }

    pub(super) fn problem(&self) -> Outcome<&Problem> {
        self.operation()?.problem().map_or_else(|| missing("the operation's convolution"), Ok)
    }

    pub(super) fn factors(&self) -> Outcome<[f64; 2]> {
        Ok(self.operation()?.factors())
    }

    /// Returns the input, filter and result of the convolution.
    pub(super) fn tensors(&self) -> Outcome<Vec<&Arc<Tensor>>> {
        Ok(self.operation()?.tensors().collect())
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
            OPS => self.operations = values.bodies(MOST_OPS)?,
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
        let tensors = self.tensors()?;
        if self.operations.len() > 1 || !tensors.iter().all(|t| t.is_in_memory()) {
            return fail(GRAPH_PATTERN, "the graph is not a single convolution between tensors in memory");
        }
        let mut ids: Vec<_> = tensors.iter().map(|t| t.unique_id()).collect();
        ids.sort_unstable();
        ids.dedup();
        ensure(ids.len() == tensors.len(), DUPLICATED_ENTRIES, || "two tensors have the same identifier".into())
    }

    fn get(&self, name: c_int, room: &Room) -> Outcome {
        match name {
            OPS => room.fill(&self.operations),
            ENGINE_GLOBAL_COUNT => room.put(INT64, &[ENGINES.len() as i64]),
            IS_DYNAMIC_SHAPE_ENABLED => room.put(BOOLEAN, &[0]),
            _ => foreign(KIND, name),
        }
    }
}
