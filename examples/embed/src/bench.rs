//! How fast a model is: a batch of full sentences, step after step.

use crate::{Batch, Captured, Model};
use anyhow::{Result, bail, ensure};
use isobit::{BackendDevice, Result as DeviceResult};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Timings, of which the middle one counts.
const TIMINGS: usize = 5;
/// Seconds that a timing takes, about, and steps that it has at most.
const SECONDS: f64 = 0.4;
const MOST_STEPS: f64 = 200.0;

/// How long a step takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timing {
    /// Sentences of the batch.
    pub sentences: usize,
    /// Tokens of each.
    pub tokens: usize,
    /// Milliseconds of a step, with the host giving its operations one by one: the median of
    /// several timings.
    pub step_ms: f64,
    /// Milliseconds of a step replayed as a graph, where the device has graphs: likewise.
    pub graph_ms: Option<f64>,
}

impl Timing {
    /// Tokens in a second, by a step of some milliseconds.
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

/// A batch of sentences of a number of tokens each, none of them padding: what is given, repeated,
/// each sentence from another place on.
///
/// # Errors
/// A sentence has less than its two marks, or is to have more tokens than the model looks at.
pub fn full_batch(given: &[Vec<u32>], sentences: usize, tokens: usize, most: usize) -> Result<Vec<Vec<u32>>> {
    ensure!(
        (3..=most).contains(&tokens),
        "sentences of {tokens} tokens: the model looks at {most}, and there are two marks and a token at least"
    );
    let marks = given.first().map(|s| (s[0], s[s.len() - 1]));
    let inner: Vec<u32> = given.iter().flat_map(|s| &s[1..s.len() - 1]).copied().collect();
    let (Some((first, last)), false) = (marks, inner.is_empty()) else {
        bail!("there is no word in the sentences to fill a batch with");
    };
    let sentence = |number: usize| {
        let words = inner.iter().copied().cycle().skip(number % inner.len()).take(tokens - 2);
        std::iter::once(first).chain(words).chain([last]).collect()
    };
    Ok((0..sentences).map(sentence).collect())
}

/// Times steps on a batch, and gives its embeddings too.
///
/// # Errors
/// Those of the device; a replayed graph that gives other bits than the operations one by one.
pub fn run<D: BackendDevice>(model: &Arc<Model<D>>, batch: &Batch) -> Result<(Timing, Vec<Vec<f32>>)> {
    let device = model.device();
    let mut workspace = model.workspace(batch)?;
    let step_ms = milliseconds(device, || model.forward(&mut workspace))?;
    let embeddings = workspace.embeddings()?;
    let mut graph_ms = None;
    if device.info()?.capabilities.graphs {
        let mut captured = Captured::new(model, batch)?;
        graph_ms = Some(milliseconds(device, || captured.replay())?);
        ensure!(captured.embeddings()? == embeddings, "the replayed graph gives other embeddings than its operations");
    }
    Ok((Timing { sentences: batch.sentences(), tokens: batch.tokens, step_ms, graph_ms }, embeddings))
}

/// The time of a step of work given to a device, in milliseconds, the device waited for before and
/// after many of them.
fn milliseconds<D: BackendDevice>(device: &D, mut step: impl FnMut() -> DeviceResult<()>) -> DeviceResult<f64> {
    let mut seconds = |steps: usize| -> DeviceResult<f64> {
        device.synchronize()?;
        let start = Instant::now();
        (0..steps).try_for_each(|_| step())?;
        device.synchronize()?;
        Ok(start.elapsed().as_secs_f64() / steps as f64)
    };
    // The first step loads kernels and fills the pool, the second tells how long one takes.
    seconds(1)?;
    let estimate = seconds(1)?;
    let steps = (SECONDS / estimate).clamp(1.0, MOST_STEPS) as usize;
    seconds(steps)?;
    let mut timings = (0..TIMINGS).map(|_| seconds(steps)).collect::<DeviceResult<Vec<f64>>>()?;
    timings.sort_by(f64::total_cmp);
    Ok(timings[TIMINGS / 2] * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_batch_has_no_padding_and_the_words_that_were_given() {
        let given = [vec![101, 5, 6, 102], vec![101, 7, 102]];
        let batch = full_batch(&given, 2, 7, 8).unwrap();
        assert_eq!(batch, [[101, 5, 6, 7, 5, 6, 102], [101, 6, 7, 5, 6, 7, 102]]);
        assert!(!Batch::new(&batch, 0).unwrap().is_padded());
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
