//! Deadlocks: threads that wait for ever. Each is a finding that names them, and ends the launch.

use crate::check::{Describe, Launch, Place};
use crate::finding::{Fault, FaultKind, Finding, FindingKind};
use crate::schedule::{Full, Stuck};
use crate::watch::Poll;

/// Number of waiting places that a finding names.
const NAMED: usize = 6;

/// Lanes of one wave that wait at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The wave.
    pub who: Place,
    /// The lanes; lane 0 of the wave is bit 0.
    pub lanes: u64,
    /// The instruction that they execute next, or the barrier at which they wait.
    pub site: u32,
    /// They wait at a barrier of their group.
    pub barrier: bool,
}

impl Launch<'_> {
    /// Reports that threads wait for ever, as `what` says, and returns the fault that ends the
    /// launch. The finding names the first thread of `wait`.
    pub fn deadlock(&self, wait: Option<&Wait>, what: &str, describe: &dyn Describe) -> Fault {
        let kernel = self.kernel().to_owned();
        let fault = Fault::found(FaultKind::Timeout, format!("{kernel}: deadlock: {what}"));
        self.findings().push(Finding {
            kind: FindingKind::Deadlock,
            kernel,
            instruction: wait.map_or_else(String::new, |wait| describe.instruction(wait.site)),
            thread: wait.map_or_else(String::new, |wait| describe.thread(&wait.who, wait.lanes.trailing_zeros() & 63)),
            buffer: String::new(),
            offset: 0,
            message: what.to_owned(),
        });
        fault
    }

    /// Reports groups that all wait, and returns the fault that ends the launch. `waits` returns
    /// where the lanes of a group are.
    pub fn stuck<S>(&self, stuck: &Stuck<'_, S>, waits: impl Fn(&S) -> Vec<Wait>, describe: &dyn Describe) -> Fault {
        let mut all: Vec<Wait> = stuck.groups.iter().flat_map(|(group, _)| waits(group)).collect();
        all.sort_by_key(|wait| (wait.who.group, wait.who.wave));
        let mut what = match stuck.count {
            1 => "the threads of a block wait for ever".to_owned(),
            blocks => format!("the threads of {blocks} blocks wait for ever"),
        };
        what += &match stuck.full {
            None => String::new(),
            Some(Full::Card(most)) => {
                format!(", and the others cannot start, because the card holds {most} blocks of this launch at a time")
            }
            Some(Full::Host(most)) => {
                format!(", and the others cannot start, because the simulator has host memory for {most} blocks only")
            }
        };
        let separators = std::iter::once(": ").chain(std::iter::repeat("; "));
        for (wait, separator) in all.iter().take(NAMED).zip(separators) {
            what += separator;
            what += &self.place(wait, describe);
        }
        if all.len() > NAMED {
            what += &format!("; and at {} more places", all.len() - NAMED);
        }
        let polls = stuck.groups.iter().flat_map(|(_, polls)| polls.iter());
        for poll in polls.take(NAMED) {
            what += &self.polled(poll, describe);
        }
        self.deadlock(all.first(), &what, describe)
    }

    fn place(&self, wait: &Wait, describe: &dyn Describe) -> String {
        let thread = describe.thread(&wait.who, wait.lanes.trailing_zeros() & 63);
        let how = if wait.barrier { "waits at the barrier" } else { "loops at" };
        let more = match wait.lanes.count_ones() {
            0 | 1 => String::new(),
            count => format!(" (with {} more of its wave)", count - 1),
        };
        format!("{thread}{more} {how} {}", describe.instruction(wait.site))
    }

    fn polled(&self, poll: &Poll, describe: &dyn Describe) -> String {
        let (instruction, thread) = (describe.instruction(poll.site), describe.thread(&poll.who, poll.lane));
        let place = self.memory().name(poll.address, poll.bytes.into()).place;
        format!("; {thread} reads {} bytes {place}, with {instruction}", poll.bytes)
    }
}
