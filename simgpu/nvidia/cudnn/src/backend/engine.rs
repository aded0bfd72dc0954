//! Engines for a graph, and engine configurations: `CUDNN_BACKEND_ENGINE_DESCRIPTOR` and
//! `CUDNN_BACKEND_ENGINECFG_DESCRIPTOR`.

use super::attribute::{BEHAVIOR_NOTE, DESCRIPTOR, INT32, INT64, NUMERICAL_NOTE, Room, Values};
use super::graph::Graph;
use super::object::{Body, foreign, missing};
use crate::engine::Engine;
use crate::status::{NOT_SUPPORTED, Outcome, fail};
use std::ffi::c_int;
use std::sync::Arc;

pub(super) const KIND: c_int = 2;
pub(super) const CONFIG_KIND: c_int = 3;

// CUDNN_ATTR_ENGINE_*.
const OPERATION_GRAPH: c_int = 1300;
const GLOBAL_INDEX: c_int = 1301;
const KNOB_INFO: c_int = 1302;
const NUMERICAL_NOTES: c_int = 1303;
const LAYOUT_INFO: c_int = 1304;
const BEHAVIOR_NOTES: c_int = 1305;
const SM_COUNT_TARGET: c_int = 1306;

// CUDNN_ATTR_ENGINECFG_*.
const CONFIG_ENGINE: c_int = 300;
const INTERMEDIATE_INFO: c_int = 301;
const KNOB_CHOICES: c_int = 302;
const WORKSPACE_SIZE: c_int = 303;

/// Reads a descriptor attribute that has no elements.
fn no_descriptors(room: &Room) -> Outcome {
    room.put(DESCRIPTOR, &[])
}

/// An engine and the graph that it computes.
#[derive(Debug, Default, Clone)]
pub(super) struct ChosenEngine {
    graph: Option<Arc<Graph>>,
    index: Option<i64>,
    /// The number of multiprocessors to use, which does not change the result. 0 means all.
    multiprocessors: i32,
}

impl ChosenEngine {
    pub(super) fn new(graph: Arc<Graph>, engine: Engine, multiprocessors: i32) -> Self {
        Self { graph: Some(graph), index: Some(engine.index()), multiprocessors }
    }

    /// Returns the engine and its graph.
    pub(super) fn chosen(&self) -> Outcome<(Engine, &Arc<Graph>)> {
        let Some(graph) = &self.graph else { return missing("CUDNN_ATTR_ENGINE_OPERATION_GRAPH") };
        let Some(index) = self.index else { return missing("CUDNN_ATTR_ENGINE_GLOBAL_INDEX") };
        Ok((Engine::of(index)?, graph))
    }
}

impl Body for ChosenEngine {
    fn kind(&self) -> c_int {
        KIND
    }

    fn set(&mut self, name: c_int, values: &Values) -> Outcome {
        match name {
            OPERATION_GRAPH => self.graph = Some(values.body()?),
            GLOBAL_INDEX => self.index = Some(values.one(INT64)?),
            SM_COUNT_TARGET => self.multiprocessors = values.one(INT32)?,
            _ => return foreign(KIND, name),
        }
        Ok(())
    }

    fn finalize(&mut self) -> Outcome {
        let (engine, graph) = self.chosen()?;
        graph.work()?.check(engine)
    }

    fn get(&self, name: c_int, room: &Room) -> Outcome {
        match name {
            OPERATION_GRAPH => room.fill(self.graph.as_slice()),
            GLOBAL_INDEX => room.put(INT64, self.index.as_slice()),
            NUMERICAL_NOTES => room.put(NUMERICAL_NOTE, self.chosen()?.0.numerical_notes()),
            BEHAVIOR_NOTES => room.put(BEHAVIOR_NOTE, &[]),
            KNOB_INFO | LAYOUT_INFO => no_descriptors(room),
            SM_COUNT_TARGET => room.put(INT32, &[self.multiprocessors]),
            _ => foreign(KIND, name),
        }
    }
}

/// An engine with its settings. The engines of this library have no settings.
#[derive(Debug, Default)]
pub(super) struct Config {
    engine: Option<Arc<ChosenEngine>>,
}

impl Config {
    pub(super) fn new(engine: ChosenEngine) -> Self {
        Self { engine: Some(Arc::new(engine)) }
    }

    pub(super) fn chosen(&self) -> Outcome<(Engine, &Arc<Graph>)> {
        self.engine.as_ref().map_or_else(|| missing("CUDNN_ATTR_ENGINECFG_ENGINE"), |engine| engine.chosen())
    }

    /// Returns the bytes of workspace that the engine needs.
    pub(super) fn workspace(&self) -> Outcome<usize> {
        let (engine, graph) = self.chosen()?;
        Ok(graph.work()?.workspace(engine))
    }
}

impl Body for Config {
    fn kind(&self) -> c_int {
        CONFIG_KIND
    }

    fn set(&mut self, name: c_int, values: &Values) -> Outcome {
        match name {
            CONFIG_ENGINE => self.engine = Some(values.body()?),
            KNOB_CHOICES => return fail(NOT_SUPPORTED, "the engine has no knobs"),
            _ => return foreign(CONFIG_KIND, name),
        }
        Ok(())
    }

    fn finalize(&mut self) -> Outcome {
        self.chosen().map(|_| ())
    }

    fn get(&self, name: c_int, room: &Room) -> Outcome {
        match name {
            CONFIG_ENGINE => room.fill(self.engine.as_slice()),
            KNOB_CHOICES => no_descriptors(room),
            INTERMEDIATE_INFO => fail(NOT_SUPPORTED, "engines keep no data between executions"),
            WORKSPACE_SIZE => room.put(INT64, &[self.workspace()? as i64]),
            _ => foreign(CONFIG_KIND, name),
        }
    }
}
