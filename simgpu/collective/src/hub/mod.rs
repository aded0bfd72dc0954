//! The place where the ranks of a communicator meet. It keeps what some ranks have brought until
//! the others come, and answers all of them.
//!
//! A communicator and those that are split from it are the *groups* of one hub. Collectives of a
//! group have numbers: the n-th one that a rank asks for belongs to the n-th one of every other
//! rank.

mod exchange;
mod group;
mod meeting;
mod split;
mod wait;

use crate::packet::Packet;
use crate::request::{Request, Seat};
use crate::status::Failure;
use group::{Group, Member};
use isobit_simgpu_library_common::Vendor;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The variable with the seconds that a rank waits for others.
const VARIABLE: &str = "ISOBIT_SIM_RANK_TIMEOUT";

/// The seconds if it is not set: longer than any rank should simulate between two collectives.
const DEFAULT_SECONDS: f64 = 300.0;

/// Returns how long a rank waits for others.
pub(crate) fn limit() -> Duration {
    static LIMIT: OnceLock<Duration> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let text = std::env::var(VARIABLE).unwrap_or_default();
        let seconds = text.trim().parse().ok().filter(|&seconds| seconds > 0.0 && seconds <= 1e6);
        if seconds.is_none() && !text.trim().is_empty() {
            eprintln!("simulated GPU: {VARIABLE}={text:?} is not a number of seconds; {DEFAULT_SECONDS} is used");
        }
        Duration::from_secs_f64(seconds.unwrap_or(DEFAULT_SECONDS))
    })
}

/// A communicator and all that are split from it.
#[derive(Debug)]
pub(crate) struct Hub {
    vendor: &'static Vendor,
    /// How long a rank waits for others.
    limit: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// The first one is that of the id.
    groups: Vec<Group>,
    /// Requests of other processes that are not answered yet.
    unanswered: usize,
}

impl Hub {
    pub(crate) fn new(vendor: &'static Vendor, limit: Duration) -> Self {
        let state = State { groups: vec![Group::default()], unanswered: 0 };
        Self { vendor, limit, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Does what a rank asks for. Waits for other ranks if they are needed.
    pub(crate) fn serve(&self, request: Request, is_remote: bool) -> Result<Packet, Failure> {
        match request {
            Request::Join { ranks, rank, device, process } => {
                self.join(ranks, rank, Member { device, process, is_remote, left: None })
            }
            // The server keeps the connection.
            Request::Attend { .. } => Ok(Packet::default()),
            Request::Meet { seat, number, call, data } => self.meet(seat, number, call, data),
            Request::Exchange { seat, messages } => self.exchange(seat, messages),
            Request::Split { seat, number, color, key } => self.split(seat, number, color, key),
            Request::Ask { seat } => self.ask(seat),
            Request::Fail { seat, why } => self.fail(seat, &why),
            Request::Leave { seat, ended } => self.leave(seat, ended, is_remote),
        }
    }

    fn lock(&self, seat: Seat) -> Result<MutexGuard<'_, State>, Failure> {
        let state = self.state.lock();
        match state.groups.get(seat.group).filter(|group| seat.rank < group.members.len()) {
            Some(_) => Ok(state),
            None => Err(Failure::argument("there is no such rank")),
        }
    }

    fn ask(&self, seat: Seat) -> Result<Packet, Failure> {
        match &self.lock(seat)?.groups[seat.group].failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(Packet::default()),
        }
    }

    fn fail(&self, seat: Seat, why: &str) -> Result<Packet, Failure> {
        let mut state = self.lock(seat)?;
        state.groups[seat.group].fail(Failure::remote(format!("rank {}: {why}", seat.rank)));
        self.changed.notify_all();
        Ok(Packet::default())
    }

    /// Makes a rank leave. The last one of the hub's own process waits until the others have their
    /// answers, because the process may end then.
    fn leave(&self, seat: Seat, ended: bool, is_remote: bool) -> Result<Packet, Failure> {
        let mut state = self.lock(seat)?;
        state.groups[seat.group].leave(seat.rank, ended);
        self.changed.notify_all();
        let deadline = Instant::now() + self.limit;
        let is_last = |state: &State| !state.groups.iter().any(Group::has_local);
        while !is_remote && ended && state.unanswered > 0 && is_last(&state) {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        Ok(Packet::default())
    }

    /// Makes all ranks of a process leave, because it has ended.
    pub(crate) fn died(&self, process: u64) {
        for group in &mut self.state.lock().groups {
            let gone = group.present().filter(|(_, member)| member.process == process).map(|(rank, _)| rank);
            for rank in gone.collect::<Vec<_>>() {
                group.leave(rank, false);
            }
        }
        self.changed.notify_all();
    }

    /// Whether every rank has come, and left.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.state.lock();
        state.groups[0].is_complete() && state.groups.iter().all(|group| group.present().next().is_none())
    }

    /// Counts a request of another process.
    pub(crate) fn asked(&self) {
        self.state.lock().unanswered += 1;
    }

    /// Counts the answer to such a request.
    pub(crate) fn answered(&self) {
        self.state.lock().unanswered -= 1;
        self.changed.notify_all();
    }

    /// Reports a finding.
    fn tell(&self, deadlock: bool, what: &str, message: &str) {
        if let Ok(runtime) = self.vendor.runtime() {
            runtime.find(deadlock, what, message);
        }
    }
}
