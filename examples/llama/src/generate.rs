//! Continues a prompt and measures both phases.

use crate::session::Outcome;
use crate::{Model, Session, Timing};
use anyhow::{Result, ensure};
use isobit::{BackendDevice, Result as DeviceResult};
use isobit_examples::Captured;
use isobit_examples::timing::{median, seconds};
use std::sync::Arc;

/// Number of timings of a benchmark; the median counts.
const TIMINGS: usize = 5;

/// Returns a prompt of a number of tokens, spread over the vocabulary.
pub fn prompt(tokens: usize, vocabulary: usize) -> Vec<u32> {
    (0..tokens).map(|i| ((17 + i * 7919) % vocabulary) as u32).collect()
}

/// Returns several such prompts: together they are a longer one.
pub fn prompts(number: usize, tokens: usize, vocabulary: usize) -> Vec<Vec<u32>> {
    prompt(number * tokens, vocabulary).chunks(tokens).map(Vec::from).collect()
}

/// Continues a prompt by a number of steps, once. The times include the loading of kernels.
///
/// # Errors
/// The errors of [`Session::new`]; those of the device.
pub fn once<D: BackendDevice>(model: &Model<D>, prompt: &[u32], steps: usize) -> Result<(Timing, Outcome)> {
    let mut session = model.session(prompt.len(), steps)?;
    let [prefill, decode] = phases(model, &mut session, prompt, steps)?;
    Ok((timing(prompt, steps, [prefill, decode]), session.outcome(steps)?))
}

/// Continues a prompt many times, with operations one by one and, if asked for and the device has
/// graphs, as a graph. Returns the medians.
///
/// # Errors
/// The errors of [`once`], and an error if the replayed graph gives different bits than the
/// operations one by one.
pub fn bench<D: BackendDevice>(
    model: &Arc<Model<D>>,
    prompt: &[u32],
    steps: usize,
    as_graph: bool,
) -> Result<(Timing, Outcome)> {
    let mut session = model.session(prompt.len(), steps)?;
    // Loads kernels and fills the pool.
    phases(model, &mut session, prompt, steps)?;
    let (mut prefills, mut decodes) = (Vec::new(), Vec::new());
    for _ in 0..TIMINGS {
        let [prefill, decode] = phases(model, &mut session, prompt, steps)?;
        prefills.push(prefill);
        decodes.push(decode);
    }
    let outcome = session.outcome(steps)?;
    let mut timing = timing(prompt, steps, [median(prefills), median(decodes)]);
    if as_graph && model.device().info()?.capabilities.graphs {
        let (times, replayed) = graph(model, session, prompt, steps)?;
        ensure!(replayed == outcome, "the replayed graph makes something else than its operations");
        timing.graph_ms = Some(median(times) * 1e3);
    }
    Ok((timing, outcome))
}

/// Continues a prompt with every step after it the replay of one graph, in a session whose steps
/// have run. Returns the seconds of these steps, of several times, and what came of the last.
///
/// # Errors
/// Those of the device; `CaptureViolation`.
pub fn graph<D: BackendDevice>(
    model: &Arc<Model<D>>,
    session: Session<D::Storage>,
    prompt: &[u32],
    steps: usize,
) -> Result<(Vec<f64>, Outcome)> {
    let device = model.device();
    let mut captured = Captured::new(device, session, {
        let model = model.clone();
        move |session| model.decode(session)
    })?;
    let mut times = Vec::with_capacity(TIMINGS);
    for _ in 0..TIMINGS {
        {
            let mut session = captured.workspace();
            session.set(prompt)?;
            model.prefill(&mut session)?;
        }
        times.push(seconds(device, || (0..steps).try_for_each(|_| captured.replay()))?);
    }
    let outcome = captured.workspace().outcome(steps)?;
    Ok((times, outcome))
}

/// Returns the seconds of both phases.
fn phases<D: BackendDevice>(
    model: &Model<D>,
    session: &mut Session<D::Storage>,
    prompt: &[u32],
    steps: usize,
) -> Result<[f64; 2]> {
    session.set(prompt)?;
    let prefill = seconds(model.device(), || model.prefill(session))?;
    let mut decode = || -> DeviceResult<()> { (0..steps).try_for_each(|_| model.decode(session)) };
    Ok([prefill, seconds(model.device(), &mut decode)?])
}

fn timing(prompt: &[u32], steps: usize, [prefill, decode]: [f64; 2]) -> Timing {
    Timing { prompt: prompt.len(), tokens: steps, prefill_ms: prefill * 1e3, decode_ms: decode * 1e3, graph_ms: None }
}
