//! Several ranks that hold a model together: each prompt is the work of all.

use crate::session::Outcome;
use crate::{Job, Model, Ranks, Timing, threads};
use anyhow::{Result, ensure};
use isobit::BackendDevice;
use std::sync::Arc;

/// Does a job on devices of which each is a rank. `model` returns the part of one.
///
/// # Errors
/// Those of `model` and of [`Job::run`], and an error if the ranks do not make the same.
pub fn run<D: BackendDevice>(
    devices: &[D],
    job: &Job,
    model: impl Fn(&D, Ranks<D>) -> Result<Model<D>> + Sync,
) -> Result<(Timing, Vec<Outcome>)> {
    let mut made = threads::each(devices, |communicator| {
        let device = communicator.device().clone();
        job.run(&Arc::new(model(&device, Ranks::new(communicator))?))
    })?;
    let words = |outcomes: &[Outcome]| outcomes.iter().flat_map(Outcome::words).collect::<Vec<_>>();
    // Every step ends in a meeting of the ranks, so the times of one are those of all.
    let (timing, outcomes) = made.swap_remove(0);
    let own = words(&outcomes);
    ensure!(made.iter().all(|(_, others)| words(others) == own), "the ranks have made different results");
    Ok((timing, outcomes))
}
