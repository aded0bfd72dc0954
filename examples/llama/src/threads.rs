//! A thread for every rank: a call waits for the other ranks, which go on meanwhile.

use anyhow::{Context, Result};
use isobit::{BackendDevice, Communicator, Error, ErrorKind};

/// Calls `work` for every rank, one per device, and returns the results in the order of the ranks.
///
/// # Errors
/// Returns the error of a rank that failed by itself, not because another one had left.
pub fn each<D: BackendDevice, T: Send>(
    devices: &[D],
    work: impl Fn(Communicator<D>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let ranks = Communicator::from_devices(devices)?;
    let outcomes: Vec<Result<T>> = std::thread::scope(|scope| {
        let threads: Vec<_> = ranks.into_iter().map(|rank| scope.spawn(|| work(rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
    });
    let (mut results, mut errors) = (Vec::with_capacity(outcomes.len()), Vec::new());
    for (rank, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(result) => results.push(result),
            Err(e) => errors.push((rank, e)),
        }
    }
    match errors.into_iter().min_by_key(|(_, e)| is_of_another(e)) {
        None => Ok(results),
        Some((_, e)) if devices.len() == 1 => Err(e),
        Some((rank, e)) => Err(e).with_context(|| format!("rank {rank}")),
    }
}

fn is_of_another(e: &anyhow::Error) -> bool {
    e.downcast_ref().is_some_and(|e: &Error| e.kind() == ErrorKind::CommunicatorFailed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::ensure;
    use isobit::CpuDevice;

    #[test]
    fn the_error_is_of_the_rank_that_failed_by_itself() {
        let e = each(&[CpuDevice; 3], |rank| {
            ensure!(rank.rank() != 1, "no room for weights");
            Ok(rank.barrier()?)
        });
        assert_eq!(format!("{:#}", e.unwrap_err()), "rank 1: no room for weights");
        let numbers = each(&[CpuDevice; 3], |rank| {
            rank.barrier()?;
            Ok(rank.rank())
        });
        assert_eq!(numbers.unwrap(), [0, 1, 2]);
    }
}
