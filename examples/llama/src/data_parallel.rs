//! Several ranks that hold a whole model each: every prompt is the work of one.

use crate::session::Outcome;
use crate::{Job, Model, Ranks, Timing, threads};
use anyhow::{Context, Result};
use isobit::{BackendDevice, BackendStorage, Communicator, DType, Layout, Result as DeviceResult};
use std::sync::Arc;

/// Does a job on devices of which each is a rank. `model` returns a whole model. The outcomes are
/// in the order of the prompts, as if one rank had made them.
///
/// # Errors
/// Those of [`Job::part`], of `model` and of [`Job::run`].
pub fn run<D: BackendDevice>(
    devices: &[D],
    job: &Job,
    model: impl Fn(&D, Ranks<D>) -> Result<Model<D>> + Sync,
) -> Result<(Timing, Vec<Outcome>)> {
    let made = threads::each(devices, |communicator| {
        let own = job.part(communicator.rank(), communicator.size())?;
        let model = Arc::new(model(communicator.device(), Ranks::alone())?);
        // The tokens per second of all ranks together are those of a time when all of them work.
        communicator.barrier()?;
        let (timing, outcomes) = own.run(&model)?;
        Ok((timing, gather(&communicator, &outcomes)?))
    })?;
    let (timings, outcomes): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    let timing = timings.into_iter().reduce(|timing, other| timing.beside(&other));
    // Each rank has all outcomes.
    timing.zip(outcomes.into_iter().next()).context("no rank")
}

/// Returns the outcomes of all ranks, in the order of their prompts.
fn gather<D: BackendDevice>(communicator: &Communicator<D>, outcomes: &[Outcome]) -> DeviceResult<Vec<Outcome>> {
    let (device, ranks, own) = (communicator.device(), communicator.size(), outcomes.len());
    let words: Vec<u32> = outcomes.iter().flat_map(Outcome::words).collect();
    let each = words.len() / own;
    // A rank's prompts are not next to each other, and neither are their places.
    let (from, to) = (Layout::contiguous([own, each]), Layout::contiguous([own, ranks, each]).transpose(0, 1)?);
    let mut all = device.zeros(to.shape(), DType::U32)?;
    communicator.all_gather((&device.storage_from_slice(&words)?, &from).into(), &mut all, &to)?;
    Ok(all.to_vec::<u32>()?.chunks(each).map(|words| outcomes[0].with_words(words)).collect())
}
