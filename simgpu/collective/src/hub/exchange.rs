//! Messages between two ranks. A sender waits until its message is taken, because NCCL promises no
//! room for it: a program in which two ranks first send and then receive, outside a group, may
//! never end there.

use super::{Hub, Seat};
use crate::packet::Packet;
use crate::request::Message;
use crate::status::Failure;
use crate::transfer::{Direction, Transfer};

/// Sender, receiver, and the number of the message among those between them.
pub(super) type Route = (usize, usize, u64);

/// A message that waits for its receiver.
#[derive(Debug)]
pub(super) struct Letter {
    transfer: Transfer,
    data: Vec<u8>,
}

impl Hub {
    pub(super) fn exchange(&self, seat: Seat, messages: Vec<Message>) -> Result<Packet, Failure> {
        let mut state = self.lock(seat)?;
        let rank = seat.rank;
        let (mut sent, mut wanted) = (Vec::new(), Vec::new());
        for Message { transfer, number, data } in messages {
            match transfer.direction {
                Direction::Send => {
                    let route = (rank, transfer.peer, number);
                    state.groups[seat.group].letters.insert(route, Letter { transfer, data });
                    sent.push((route, transfer));
                }
                Direction::Receive => wanted.push(((transfer.peer, rank, number), transfer)),
            }
        }
        self.changed.notify_all();
        let mut received = Vec::new();
        for (route, transfer) in wanted {
            let peer = transfer.peer;
            let what = format!("{transfer} from rank {peer}");
            let letter = self.wait(&mut state, seat, &what, |group| group.letters.remove(&route).ok_or(vec![peer]))?;
            self.changed.notify_all();
            if (letter.transfer.count, letter.transfer.ty) != (transfer.count, transfer.ty) {
                let why = format!("rank {rank} calls {what}, which calls {} to it", letter.transfer);
                let failure = Failure::usage(&why);
                state.groups[seat.group].fail(failure.clone());
                drop(state);
                self.tell(false, transfer.name(), &why);
                return Err(failure);
            }
            received.push(letter.data);
        }
        for (route, transfer) in sent {
            let peer = transfer.peer;
            let what = format!("{transfer} to rank {peer}");
            self.wait(&mut state, seat, &what, |group| {
                if group.letters.contains_key(&route) { Err(vec![peer]) } else { Ok(()) }
            })?;
        }
        Ok(Packet::new(Vec::new(), received))
    }
}
