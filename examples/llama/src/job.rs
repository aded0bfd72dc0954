//! What a model is to do: continue prompts, one after the other.

use crate::generate::{bench, once};
use crate::session::Outcome;
use crate::{Model, Timing};
use anyhow::{Context, Result, ensure};
use isobit::BackendDevice;
use std::sync::Arc;

/// Prompts, and how they are continued.
#[derive(Debug, Clone)]
pub struct Job {
    /// The prompts.
    pub prompts: Vec<Vec<u32>>,
    /// Number of steps after each.
    pub steps: usize,
    /// What is measured.
    pub measured: Measured,
}

/// What is measured of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measured {
    /// The first time, which includes the loading of kernels.
    Once,
    /// The medians of several times.
    Medians,
    /// The medians, also of a graph.
    MediansAndGraph,
}

impl Job {
    /// Continues the prompts. All ranks of a model do so together.
    ///
    /// # Errors
    /// Fails if there is no prompt, or with the errors of [`once`] and [`bench()`].
    pub fn run<D: BackendDevice>(&self, model: &Arc<Model<D>>) -> Result<(Timing, Vec<Outcome>)> {
        // One rank may have loaded its weights before another.
        model.ranks().meet()?;
        let mut timings = Vec::with_capacity(self.prompts.len());
        let mut outcomes = Vec::with_capacity(self.prompts.len());
        for prompt in &self.prompts {
            let (timing, outcome) = match self.measured {
                Measured::Once => once(model, prompt, self.steps)?,
                Measured::Medians => bench(model, prompt, self.steps, false)?,
                Measured::MediansAndGraph => bench(model, prompt, self.steps, true)?,
            };
            timings.push(timing);
            outcomes.push(outcome);
        }
        let timing = timings.into_iter().reduce(|done, next| done.then(&next)).context("no prompt to continue")?;
        Ok((timing, outcomes))
    }

    /// Returns the part of a rank that has a model of its own: every prompt whose number has the
    /// remainder `rank` modulo `ranks`.
    ///
    /// # Errors
    /// Fails if the ranks cannot share the prompts evenly.
    pub fn part(&self, rank: usize, ranks: usize) -> Result<Self> {
        let all = self.prompts.len();
        ensure!(all.is_multiple_of(ranks), "{ranks} ranks cannot share the prompts evenly: their number is {all}");
        let prompts = self.prompts.iter().skip(rank).step_by(ranks).cloned().collect();
        Ok(Self { prompts, ..self.clone() })
    }
}
