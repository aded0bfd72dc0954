//! The ranks of one communicator, and what they have brought.

use super::exchange::{Letter, Route};
use super::meeting::Meeting;
use super::split::Splitting;
use super::{Hub, Seat};
use crate::packet::Packet;
use crate::status::Failure;
use std::collections::HashMap;
use std::ffi::c_int;

/// A rank that has come.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) device: c_int,
    pub(super) process: u64,
    /// Whether it is in another process than the hub.
    pub(super) is_remote: bool,
    pub(super) left: Option<Left>,
}

/// How a rank has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// All that it asked for was done.
    Ended,
    /// It was aborted, or its process has ended.
    Gone,
}

#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) members: Vec<Option<Member>>,
    /// Whether all ranks have come, each on a device of its own.
    is_made: bool,
    /// Why no rank can go on.
    pub(super) failure: Option<Failure>,
    pub(super) meetings: HashMap<u64, Meeting>,
    pub(super) letters: HashMap<Route, Letter>,
    pub(super) splits: HashMap<u64, Splitting>,
}

impl Group {
    pub(super) fn of(members: Vec<Member>) -> Self {
        Self { members: members.into_iter().map(Some).collect(), ..Self::default() }
    }

    /// Whether every rank has come.
    pub(super) fn is_complete(&self) -> bool {
        !self.members.is_empty() && self.members.iter().all(Option::is_some)
    }

    /// Returns the ranks that have come and not left.
    pub(super) fn present(&self) -> impl Iterator<Item = (usize, &Member)> {
        let came = self.members.iter().enumerate().filter_map(|(rank, member)| Some((rank, member.as_ref()?)));
        came.filter(|(_, member)| member.left.is_none())
    }

    /// Whether a rank of the hub's process has not left.
    pub(super) fn has_local(&self) -> bool {
        self.present().any(|(_, member)| !member.is_remote)
    }

    pub(super) fn left(&self, rank: usize) -> Option<Left> {
        self.members.get(rank)?.as_ref()?.left
    }

    /// Makes all ranks fail, unless they already do.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// Makes a rank leave. If it does so without an end, the others cannot go on.
    pub(super) fn leave(&mut self, rank: usize, ended: bool) {
        let Some(member) = self.members.get_mut(rank).and_then(Option::as_mut) else { return };
        if member.left.is_none() {
            member.left = Some(if ended { Left::Ended } else { Left::Gone });
            if !ended {
                self.fail(Failure::remote(format!("rank {rank} was aborted, or its process has ended")));
            }
        }
    }

    /// Returns two ranks on one device.
    fn duplicate(&self) -> Option<(usize, usize, c_int)> {
        self.present().find_map(|(rank, member)| {
            let before = self.present().take_while(|(other, _)| *other < rank);
            let mut same = before.filter(|(_, other)| other.device == member.device);
            same.next().map(|(other, _)| (other, rank, member.device))
        })
    }
}

impl Hub {
    /// Takes a rank of the first communicator, and waits for all others.
    pub(super) fn join(&self, ranks: usize, rank: usize, member: Member) -> Result<Packet, Failure> {
        let mut state = self.state.lock();
        let group = &mut state.groups[0];
        if group.is_complete() {
            return Err(Failure::usage("the id belongs to a communicator that is complete: each needs its own"));
        }
        if group.members.is_empty() {
            group.members.resize(ranks, None);
        }
        if group.members.len() != ranks {
            let others = group.members.len();
            group.fail(Failure::usage(format!("rank {rank} says that there are {ranks} ranks, another one {others}")));
        } else if group.members[rank].is_some() {
            group.fail(Failure::usage(format!("two communicators of one id are rank {rank}")));
        } else {
            group.members[rank] = Some(member);
            if let (true, Some((a, b, device))) = (group.is_complete(), group.duplicate()) {
                let why = format!("Duplicate GPU detected : rank {a} and rank {b} both on device {device}");
                group.fail(Failure::usage(why));
            }
            group.is_made = group.is_complete() && group.failure.is_none();
        }
        self.changed.notify_all();
        let seat = Seat { group: 0, rank: rank.min(state.groups[0].members.len() - 1) };
        let what = "making a communicator; a thread that makes those of several ranks does so in a group";
        // A rank that fails when the communicator is made does not keep others from having made it.
        self.wait(&mut state, seat, what, |group| match group.is_made {
            true => Ok(()),
            false => Err((0..ranks).filter(|&rank| group.members.get(rank).is_none_or(Option::is_none)).collect()),
        })?;
        Ok(Packet::default())
    }
}
