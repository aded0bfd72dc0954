//! How a rank waits for others, and when it gives up.

use super::group::Group;
use super::{Hub, Seat, State};
use crate::status::Failure;
use parking_lot::MutexGuard;
use std::time::{Duration, Instant};

/// The time between two looks at what this process could do for the others, which grows from the
/// first to the second.
const SLICES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];

impl Hub {
    /// Waits until `ready` returns a value; otherwise it returns the ranks that are missing. `what`
    /// says what the rank does, beginning with the name of the call.
    ///
    /// Meanwhile the streams of this process do what collectives wait for, although the program may
    /// wait for nothing: on a device they would.
    pub(super) fn wait<T>(
        &self,
        state: &mut MutexGuard<'_, State>,
        seat: Seat,
        what: &str,
        mut ready: impl FnMut(&mut Group) -> Result<T, Vec<usize>>,
    ) -> Result<T, Failure> {
        let start = Instant::now();
        let [mut slice, longest] = SLICES;
        loop {
            if let Ok(runtime) = self.vendor.runtime() {
                MutexGuard::unlocked(state, || runtime.urge());
            }
            let group = &mut state.groups[seat.group];
            let missing = match ready(group) {
                Ok(value) => return Ok(value),
                Err(missing) => missing,
            };
            if let Some(failure) = &group.failure {
                return Err(failure.clone());
            }
            if group.left(seat.rank).is_some() {
                return Err(Failure::remote("the communicator is destroyed"));
            }
            if let Some(gone) = missing.iter().find(|&&rank| group.left(rank).is_some()) {
                let rank = seat.rank;
                group.fail(Failure::remote(format!("rank {gone} has left, and rank {rank} waits for it in {what}")));
                self.changed.notify_all();
            } else if start.elapsed() >= self.limit {
                let (rank, seconds) = (seat.rank, self.limit.as_secs_f64());
                let why = format!("rank {rank} has waited {seconds} s for ranks {missing:?} in {what}");
                group.fail(Failure::remote(&why));
                self.changed.notify_all();
                let name = what.split(' ').next().unwrap_or(what);
                MutexGuard::unlocked(state, || self.tell(true, name, &why));
            } else {
                self.changed.wait_for(state, slice);
                slice = (slice * 2).min(longest);
            }
        }
    }
}
