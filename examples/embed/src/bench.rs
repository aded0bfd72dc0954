//! Measures the speed of a model on a batch of full sentences.

use crate::{Batch, Captured, Model};
use anyhow::{Result, bail, ensure};
use isobit::{BackendDevice, Result as DeviceResult};
use isobit_examples::timing::{median, seconds};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// Number of timings; the median counts.
const TIMINGS: usize = 5;
/// Approximate duration of a timing in seconds, and its maximum number of steps.
const SECONDS: f64 = 0.4;
const MOST_STEPS: f64 = 200.0;

/// The duration of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timing {
    /// Number of sentences in the batch.
    pub sentences: usize,
    /// Number of tokens per sentence.
    pub tokens: usize,
    /// Milliseconds per step with operations submitted one by one: the median of several timings.
    pub step_ms: f64,
    /// Milliseconds per step replayed as a graph, if the device has graphs: the median of several
    /// timings.
    pub graph_ms: Option<f64>,
}

impl Timing {
    /// Returns the tokens per second for a step of `step_ms` milliseconds.
    pub fn tokens_per_second(&self, step_ms: f64) -> f64 {
        (self.sentences * self.tokens) as f64 / (step_ms * 1e-3)
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = |name: &str, ms: f64| format!("{name} {ms:.3} ms, {:.0} tokens/s", self.tokens_per_second(ms));
        write!(f, "{} sentences of {} tokens: {}", self.sentences, self.tokens, way("one by one", self.step_ms))?;
        self.graph_ms.map_or(Ok(()), |ms| write!(f, "; {}", way("as a graph", ms)))
    }
}

/// Creates a batch of sentences with `tokens` tokens each and no padding, from the repeated words
/// of the given sentences, each starting at a different word.
///
/// # Errors
/// Fails if `tokens` leaves no room for a word between the two special tokens, or exceeds the
/// model's maximum, or if the given sentences have no words.
pub fn full_batch(given: &[Vec<u32>], sentences: usize, tokens: usize, most: usize) -> Result<Vec<Vec<u32>>> {
    ensure!(
        (3..=most).contains(&tokens),
        "sentences of {tokens} tokens: the model reads at most {most}, and two special tokens and a word are the minimum"
    );
    let marks = given.first().map(|s| (s[0], s[s.len() - 1]));
    let inner: Vec<u32> = given.iter().flat_map(|s| &s[1..s.len() - 1]).copied().collect();
    let (Some((first, last)), false) = (marks, inner.is_empty()) else {
        bail!("the sentences have no word to fill a batch with");
    };
    let sentence = |number: usize| {
        let words = inner.iter().copied().cycle().skip(number % inner.len()).take(tokens - 2);
        std::iter::once(first).chain(words).chain([last]).collect()
    };
    Ok((0..sentences).map(sentence).collect())
}

/// Times steps on a batch, and also returns its embeddings.
///
/// # Errors
/// Returns the errors of the device, and an error if the replayed graph gives different bits than
/// the operations one by one.
pub fn run<D: BackendDevice>(model: &Arc<Model<D>>, batch: &Batch) -> Result<(Timing, Vec<Vec<f32>>)> {
    let device = model.device();
    let mut workspace = model.workspace(batch)?;
    let step_ms = milliseconds(device, || model.forward(&mut workspace))?;
    let embeddings = workspace.embeddings()?;
    let mut graph_ms = None;
    if device.info()?.capabilities.graphs {
        let mut captured = Captured::new(model, batch)?;
        graph_ms = Some(milliseconds(device, || captured.replay())?);
        ensure!(
            captured.embeddings()? == embeddings,
            "the replayed graph gives different embeddings than its operations"
        );
    }
    Ok((Timing { sentences: batch.sentences(), tokens: batch.tokens, step_ms, graph_ms }, embeddings))
}

/// Returns the milliseconds per step, over many steps with a wait for the device before and after.
fn milliseconds<D: BackendDevice>(device: &D, mut step: impl FnMut() -> DeviceResult<()>) -> DeviceResult<f64> {
    let mut per_step = |steps: usize| -> DeviceResult<f64> {
        Ok(seconds(device, || (0..steps).try_for_each(|_| step()))? / steps as f64)
    };
    // The first step loads kernels and fills the pool; the second estimates the duration of a step.
    per_step(1)?;
    let estimate = per_step(1)?;
    let steps = (SECONDS / estimate).clamp(1.0, MOST_STEPS) as usize;
    per_step(steps)?;
    let timings = (0..TIMINGS).map(|_| per_step(steps)).collect::<DeviceResult<_>>()?;
    Ok(median(timings) * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_batch_has_no_padding_and_the_words_that_were_given() {
        let given = [vec![101, 5, 6, 102], vec![101, 7, 102]];
        let batch = full_batch(&given, 2, 7, 8).unwrap();
        assert_eq!(batch, [[101, 5, 6, 7, 5, 6, 102], [101, 6, 7, 5, 6, 7, 102]]);
        assert_eq!(Batch::new(&batch, 0).unwrap().lengths, [7, 7]);
    }

    #[test]
    fn what_fills_no_batch_is_refused() {
        let words = [vec![101, 5, 102]];
        for (given, tokens, says) in [
            (&words[..], 2, "of 2 tokens"),
            (&words, 9, "of 9 tokens"),
            (&[vec![101, 102]], 4, "no word"),
            (&[], 4, "no word"),
        ] {
            let e = full_batch(given, 1, tokens, 8).unwrap_err().to_string();
            assert!(e.contains(says), "{e}");
        }
    }
}
