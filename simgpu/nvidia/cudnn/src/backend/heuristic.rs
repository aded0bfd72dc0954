//! Heuristics: `CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR`, which returns engines for a graph, fastest
//! first.

use super::attribute::{HEUR_MODE, INT32, Room, Values};
use super::engine::{ChosenEngine, Config};
use super::graph::Graph;
use super::object::{Body, foreign, missing};
use crate::status::{BAD_PARAM, Outcome, ensure};
use std::ffi::c_int;
use std::sync::Arc;

pub(super) const KIND: c_int = 4;

// CUDNN_ATTR_ENGINEHEUR_*.
const MODE: c_int = 200;
const OPERATION_GRAPH: c_int = 201;
const RESULTS: c_int = 202;
const SM_COUNT_TARGET: c_int = 203;

/// `CUDNN_HEUR_MODE_FALLBACK`, which returns the engines that support every problem. The other
/// modes all return the same engines here.
const FALLBACK: c_int = 2;
/// `CUDNN_HEUR_MODES_COUNT`.
const MODES: c_int = 4;

/// A heuristic query and its result.
#[derive(Debug, Default)]
pub(super) struct Heuristic {
    graph: Option<Arc<Graph>>,
    mode: Option<c_int>,
    multiprocessors: i32,
    results: Vec<Arc<Config>>,
}

impl Body for Heuristic {
    fn kind(&self) -> c_int {
        KIND
    }

    fn set(&mut self, name: c_int, values: &Values) -> Outcome {
        match name {
            MODE => self.mode = Some(values.one(HEUR_MODE)?),
            OPERATION_GRAPH => self.graph = Some(values.body()?),
            SM_COUNT_TARGET => self.multiprocessors = values.one(INT32)?,
            _ => return foreign(KIND, name),
        }
        Ok(())
    }

    fn finalize(&mut self) -> Outcome {
        let Some(graph) = &self.graph else { return missing("CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH") };
        let Some(mode) = self.mode else { return missing("CUDNN_ATTR_ENGINEHEUR_MODE") };
        ensure((0..MODES).contains(&mode), BAD_PARAM, || format!("unknown heuristic mode: {mode}"))?;
        let engines = graph.work()?.ranked(mode == FALLBACK)?.into_iter();
        let config = |engine| Arc::new(Config::new(ChosenEngine::new(graph.clone(), engine, self.multiprocessors)));
        self.results = engines.map(config).collect();
        Ok(())
    }

    fn get(&self, name: c_int, room: &Room) -> Outcome {
        match name {
            MODE => room.put(HEUR_MODE, self.mode.as_slice()),
            OPERATION_GRAPH => room.fill(self.graph.as_slice()),
            RESULTS => room.fill(&self.results),
            SM_COUNT_TARGET => room.put(INT32, &[self.multiprocessors]),
            _ => foreign(KIND, name),
        }
    }
}
