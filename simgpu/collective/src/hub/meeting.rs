//! Collectives: every rank brings its elements, the last one combines them, and each takes its
//! part.

use super::{Hub, Seat};
use crate::call::Call;
use crate::launch;
use crate::packet::Packet;
use crate::status::Failure;
use parking_lot::MutexGuard;
use std::sync::Arc;

/// A collective that some ranks have come to.
#[derive(Debug)]
pub(super) struct Meeting {
    call: Call,
    /// The rank that came first.
    first: usize,
    inputs: Vec<Option<Vec<u8>>>,
    result: Option<Arc<Vec<u8>>>,
    taken: usize,
}

/// Says which collective a number means.
fn name(number: u64) -> String {
    match launch::split(number) {
        None => format!("collective {number} of its communicator"),
        Some((number, launch)) => format!("collective {number} of its communicator's graphs in launch {launch}"),
    }
}

impl Hub {
    pub(super) fn meet(&self, seat: Seat, number: u64, call: Call, data: Vec<u8>) -> Result<Packet, Failure> {
        let mut state = self.lock(seat)?;
        let group = &mut state.groups[seat.group];
        let (rank, ranks) = (seat.rank, group.members.len());
        if let Some(failure) = &group.failure {
            return Err(failure.clone());
        }
        let meeting = group.meetings.entry(number).or_insert_with(|| Meeting {
            call: call.clone(),
            first: rank,
            inputs: vec![None; ranks],
            result: None,
            taken: 0,
        });
        if meeting.call != call {
            let (first, other) = (meeting.first, &meeting.call);
            let why = format!("{} is {call} in rank {rank}, and {other} in rank {first}", name(number));
            let failure = Failure::usage(&why);
            group.fail(failure.clone());
            self.changed.notify_all();
            drop(state);
            self.tell(false, call.kind.name(), &why);
            return Err(failure);
        }
        meeting.inputs[rank] = Some(data);
        if meeting.inputs.iter().all(Option::is_some) {
            let inputs = std::mem::take(&mut meeting.inputs).into_iter().flatten().collect();
            let result = MutexGuard::unlocked(&mut state, || call.combine(inputs));
            if let Some(meeting) = state.groups[seat.group].meetings.get_mut(&number) {
                meeting.result = Some(Arc::new(result));
            }
            self.changed.notify_all();
        }
        let what = format!("{call}, {}", name(number));
        let result = self.wait(&mut state, seat, &what, |group| {
            let Some(meeting) = group.meetings.get_mut(&number) else { return Err(Vec::new()) };
            let Some(result) = meeting.result.clone() else {
                let missing = meeting.inputs.iter().enumerate().filter(|(_, input)| input.is_none());
                return Err(missing.map(|(rank, _)| rank).collect());
            };
            meeting.taken += 1;
            if meeting.taken == ranks {
                group.meetings.remove(&number);
            }
            Ok(result)
        })?;
        drop(state);
        let part = result.get(call.part(rank, ranks)).map(<[u8]>::to_vec);
        let part = part.ok_or_else(|| Failure::argument("a rank sent too few bytes"))?;
        Ok(Packet::new(Vec::new(), vec![part]))
    }
}
