//! What a graph computes, and with which engines.

use crate::engine::Engine;
use crate::fused::Attention;
use crate::problem::Problem;
use crate::status::{NOT_SUPPORTED, Outcome, ensure};
use std::sync::Arc;

/// The computation of a graph.
#[derive(Debug)]
pub(super) enum Work {
    Convolution(Box<Problem>),
    /// Several operations, or why no engine supports them.
    Fused(Outcome<Arc<Attention>>),
}

impl Work {
    /// Returns the engines, fastest first; with `fallback`, only those for every problem.
    pub(super) fn ranked(&self, fallback: bool) -> Outcome<Vec<Engine>> {
        match self {
            Self::Convolution(problem) => Ok(Engine::ranked(problem, fallback)),
            Self::Fused(attention) => attention.clone().map(|_| vec![Engine::Attention]),
        }
    }

    /// Fails if an engine does not support the graph.
    pub(super) fn check(&self, engine: Engine) -> Outcome {
        match self {
            Self::Convolution(problem) => engine.check(problem),
            Self::Fused(attention) => {
                ensure(engine == Engine::Attention, NOT_SUPPORTED, || {
                    format!("engine {} does not support several operations", engine.index())
                })?;
                attention.clone().map(|_| ())
            }
        }
    }

    /// Returns the bytes of workspace that an engine needs.
    pub(super) fn workspace(&self, engine: Engine) -> usize {
        match self {
            Self::Convolution(problem) => engine.workspace(problem),
            Self::Fused(_) => 0,
        }
    }
}
