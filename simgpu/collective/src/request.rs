//! What a rank asks of the hub of its communicator.

use crate::call::{Call, Kind};
use crate::number::{DataType, Op};
use crate::packet::Packet;
use crate::transfer::{Direction, Transfer};
use std::ffi::c_int;

/// A rank of one communicator of a hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) group: usize,
    pub(crate) rank: usize,
}

/// A message as one rank asks for it: its number among those from the one rank to the other, and
/// what is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) transfer: Transfer,
    pub(crate) number: u64,
    pub(crate) data: Vec<u8>,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// Takes a rank of the hub's first communicator, and waits for all others.
    Join { ranks: usize, rank: usize, device: c_int, process: u64 },
    /// Says that the process ends when the connection does.
    Attend { process: u64 },
    /// Makes a collective. The answer is the rank's part of the result.
    Meet { seat: Seat, number: u64, call: Call, data: Vec<u8> },
    /// Exchanges messages. The answer is what was received.
    Exchange { seat: Seat, messages: Vec<Message> },
    /// Makes a communicator of the ranks of a color. The answer is its group, rank and size, or
    /// nothing.
    Split { seat: Seat, number: u64, color: Option<c_int>, key: c_int },
    /// Asks whether the communicator has failed.
    Ask { seat: Seat },
    /// Says that the rank cannot go on, and why.
    Fail { seat: Seat, why: String },
    /// Leaves the communicator; without its end, if the rank has work that will never be done.
    Leave { seat: Seat, ended: bool },
}

impl Request {
    pub(crate) fn pack(self) -> Packet {
        let at = |tag: u64, seat: Seat| vec![tag, seat.group as u64, seat.rank as u64];
        match self {
            Self::Join { ranks, rank, device, process } => {
                Packet::new(vec![0, ranks as u64, rank as u64, device as u64, process], vec![])
            }
            Self::Attend { process } => Packet::new(vec![1, process], vec![]),
            Self::Meet { seat, number, call, data } => {
                let Call { kind, count, ty, op, root } = call;
                let mut numbers = at(2, seat);
                numbers.extend([number, kind as u64, count as u64, ty as u64, op as u64, root as u64]);
                Packet::new(numbers, vec![data])
            }
            Self::Exchange { seat, messages } => {
                let mut packet = Packet::new(at(3, seat), vec![]);
                for Message { transfer, number, data } in messages {
                    let Transfer { direction, peer, count, ty } = transfer;
                    packet.numbers.extend([direction as u64, peer as u64, count as u64, ty as u64, number]);
                    packet.parts.push(data);
                }
                packet
            }
            Self::Split { seat, number, color, key } => {
                let mut numbers = at(4, seat);
                numbers.extend([number, u64::from(color.is_some()), color.unwrap_or(0) as u64, key as u64]);
                Packet::new(numbers, vec![])
            }
            Self::Ask { seat } => Packet::new(at(5, seat), vec![]),
            Self::Fail { seat, why } => Packet::new(at(6, seat), vec![why.into_bytes()]),
            Self::Leave { seat, ended } => {
                let mut numbers = at(7, seat);
                numbers.push(u64::from(ended));
                Packet::new(numbers, vec![])
            }
        }
    }

    /// Returns the request of a packet, if it is one.
    pub(crate) fn unpack(packet: Packet) -> Option<Self> {
        let Packet { numbers, mut parts } = packet;
        let seat = |group: u64, rank: u64| Seat { group: group as usize, rank: rank as usize };
        let ty = |number: u64| DataType::of(number as c_int);
        Some(match numbers[..] {
            [0, ranks, rank, device, process] => {
                Self::Join { ranks: ranks as usize, rank: rank as usize, device: device as c_int, process }
            }
            [1, process] => Self::Attend { process },
            [2, group, rank, number, kind, count, of, op, root] => {
                let (kind, ty, op) = (Kind::of(kind)?, ty(of)?, Op::of(op as c_int)?);
                let call = Call { kind, count: count as usize, ty, op, root: root as usize };
                Self::Meet { seat: seat(group, rank), number, call, data: parts.pop()? }
            }
            [3, group, rank, ref messages @ ..] => {
                let message = |(numbers, data): (&[u64], Vec<u8>)| {
                    let &[direction, peer, count, of, number] = numbers else { return None };
                    let direction = if direction == 0 { Direction::Send } else { Direction::Receive };
                    let transfer = Transfer { direction, peer: peer as usize, count: count as usize, ty: ty(of)? };
                    Some(Message { transfer, number, data })
                };
                let messages = messages.chunks(5).zip(parts).map(message).collect::<Option<_>>()?;
                Self::Exchange { seat: seat(group, rank), messages }
            }
            [4, group, rank, number, has_color, color, key] => {
                let color = (has_color == 1).then_some(color as c_int);
                Self::Split { seat: seat(group, rank), number, color, key: key as c_int }
            }
            [5, group, rank] => Self::Ask { seat: seat(group, rank) },
            [6, group, rank] => Self::Fail { seat: seat(group, rank), why: String::from_utf8(parts.pop()?).ok()? },
            [7, group, rank, ended] => Self::Leave { seat: seat(group, rank), ended: ended == 1 },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_unpacked_as_it_was_packed() {
        let seat = Seat { group: 2, rank: 1 };
        let call = Call { kind: Kind::ReduceScatter, count: 5, ty: DataType::Bf16, op: Op::Avg, root: 0 };
        let transfer = Transfer { direction: Direction::Send, peer: 3, count: 2, ty: DataType::U8 };
        let messages = vec![
            Message { transfer, number: 7, data: vec![1, 2] },
            Message { transfer: Transfer { direction: Direction::Receive, ..transfer }, number: 8, data: vec![] },
        ];
        for request in [
            Request::Join { ranks: 4, rank: 3, device: 1, process: 99 },
            Request::Attend { process: 5 },
            Request::Meet { seat, number: 6, call, data: vec![9; 20] },
            Request::Exchange { seat, messages },
            Request::Split { seat, number: 0, color: Some(4), key: -3 },
            Request::Split { seat, number: 1, color: None, key: 0 },
            Request::Ask { seat },
            Request::Fail { seat, why: "a reason".into() },
            Request::Leave { seat, ended: true },
        ] {
            assert_eq!(Request::unpack(request.clone().pack()), Some(request));
        }
        assert_eq!(Request::unpack(Packet::new(vec![8], vec![])), None);
    }
}
