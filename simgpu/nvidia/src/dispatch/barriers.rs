//! The barriers of a block.
//!
//! Barriers count threads and do not wait for threads that have ended. A barrier for all threads
//! opens when all live threads wait there. A barrier for a given number of threads opens when that
//! many threads wait there or have arrived; a warp whose threads are all there counts as 32.
//!
//! For the race checks, a warp's epoch is a Lamport clock: a warp that passes a barrier continues
//! with a later epoch than that of any warp that came to the barrier. Accesses that a barrier
//! orders therefore have different epochs, even if only some warps take part. Accesses that nothing
//! orders can have different epochs too: the checks can miss a race, but never report a false one.

use super::block::Status;
use crate::exec::control::{BARRIERS, condition, reduced};
use crate::exec::row::LANES;
use crate::exec::warp::{Barrier, Fragment, Wait};
use crate::exec::{Env, Warp};
use std::hash::{Hash, Hasher};

/// The state of one barrier.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// Threads that are waiting.
    waiting: u32,
    /// Threads that arrived without waiting (`bar.arrive`), and the latest of their epochs.
    arrived: u32,
    epoch: u32,
    /// The number of threads that the barrier is for, as the latest arrival gives it.
    threads: u32,
}

/// The epoch only concerns the race checks, and grows without end.
impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.waiting, self.arrived, self.threads).hash(hasher);
    }
}

/// All barriers of a block.
#[derive(Hash)]
pub(super) struct Barriers {
    states: [State; BARRIERS as usize],
    /// Threads that have not ended.
    live: u32,
    /// Threads of the block, rounded up to whole warps.
    all: u32,
}

/// Returns the barrier at which lanes wait, if it has this number.
fn at(fragment: &Fragment, number: u32) -> Option<Barrier> {
    match fragment.wait {
        Wait::Barrier(barrier) if barrier.number == number => Some(barrier),
        _ => None,
    }
}

/// Returns the lanes of a warp that wait at a barrier.
fn lanes_at(warp: &Warp, number: u32) -> u32 {
    warp.others.iter().filter(|other| at(other, number).is_some()).fold(0, |lanes, other| lanes | other.lanes)
}

/// Returns the number of threads that lanes of a warp count as.
fn counted(warp: &Warp, lanes: u32) -> u32 {
    if lanes != 0 && lanes == warp.live { LANES as u32 } else { lanes.count_ones() }
}

impl Barriers {
    pub(super) fn new(threads: u32) -> Self {
        Self { states: Default::default(), live: threads, all: threads.next_multiple_of(LANES as u32) }
    }

    /// Records that threads have ended.
    pub(super) fn ended(&mut self, threads: u32) {
        self.live -= threads;
    }

    /// Records that the running lanes of a warp have come to a barrier.
    pub(super) fn arrive(
        &mut self,
        who: usize,
        warps: &mut [Warp],
        status: &mut [Status],
        env: &Env<'_>,
    ) -> Result<(), String> {
        let warp = &mut warps[who];
        let Some(barrier) = warp.barrier.take() else { return Ok(()) };
        let state = &mut self.states[barrier.number as usize];
        let threads = barrier.threads.map_or(self.all, |threads| threads.min(self.all));
        if state.waiting + state.arrived > 0 && state.threads != threads {
            return Err(format!(
                "barrier {} is for {threads} threads here, but for {} where other threads came to it",
                barrier.number, state.threads
            ));
        }
        state.threads = threads;
        if barrier.arrive_only {
            state.arrived += counted(warp, warp.active);
            state.epoch = state.epoch.max(warp.epoch);
        } else {
            state.waiting += warp.active.count_ones();
            warp.park(warp.pc, Wait::Barrier(barrier));
            status[who] = if warp.is_ready() { Status::Ready } else { Status::Waiting };
        }
        self.open(barrier.number, warps, status, env);
        Ok(())
    }

    /// Opens every barrier that is complete.
    pub(super) fn open_all(&mut self, warps: &mut [Warp], status: &mut [Status], env: &Env<'_>) {
        for number in 0..BARRIERS {
            if self.states[number as usize].waiting > 0 {
                self.open(number, warps, status, env);
            }
        }
    }

    /// Opens a barrier if it is complete.
    fn open(&mut self, number: u32, warps: &mut [Warp], status: &mut [Status], env: &Env<'_>) {
        let state = self.states[number as usize];
        let whole = state.threads == self.all;
        if !(whole && state.waiting == self.live) {
            if whole && state.arrived == 0 {
                return;
            }
            let waiting: u32 = warps.iter().map(|warp| counted(warp, lanes_at(warp, number))).sum();
            if waiting + state.arrived < state.threads {
                return;
            }
            // Surplus arrivals count for the next use of the barrier.
            self.states[number as usize].arrived = waiting + state.arrived - state.threads;
        }
        let takes_part = |warp: &Warp| whole || lanes_at(warp, number) != 0;
        let epochs = warps.iter().filter(|warp| takes_part(warp)).map(|warp| warp.epoch);
        let epoch = epochs.max().unwrap_or(0).max(state.epoch) + 1;
        let conditions = conditions(warps, number, env);
        for (warp, status) in warps.iter_mut().zip(status) {
            let there = lanes_at(warp, number);
            if whole || there != 0 {
                warp.epoch = epoch;
            }
            if there != 0 {
                check_whole(warp, number, there, env);
                wake(warp, number, conditions, state.waiting, env);
                *status = Status::Ready;
            }
        }
        let state = &mut self.states[number as usize];
        (state.waiting, state.epoch) = (0, 0);
    }
}

/// Returns how many conditions of a reduction at a barrier are true.
fn conditions(warps: &[Warp], number: u32, env: &Env<'_>) -> u32 {
    let fragments = warps.iter().flat_map(|warp| warp.others.iter().map(move |other| (warp, other)));
    let reducing = fragments.filter(|(_, other)| at(other, number).is_some_and(|barrier| barrier.reduction.is_some()));
    reducing.map(|(warp, other)| condition(warp, &env.program.steps[other.pc - 1], other.lanes).count_ones()).sum()
}

/// Wakes the lanes that wait at a barrier and gives them the result of its reduction.
fn wake(warp: &mut Warp, number: u32, conditions: u32, waiting: u32, env: &Env<'_>) {
    for which in 0..warp.others.len() {
        let other = warp.others[which];
        if let Some(barrier) = at(&other, number) {
            if let Some(reduction) = barrier.reduction {
                reduced(warp, &env.program.steps[other.pc - 1], other.lanes, reduction, conditions, waiting);
            }
            warp.others[which].wait = Wait::Ready;
        }
    }
}

/// Reports an aligned barrier that opens when only some of a warp's threads have come to it, or not
/// all at the same instruction. Lanes that went around it are reported once.
fn check_whole(warp: &Warp, number: u32, there: u32, env: &Env<'_>) {
    let aligned = || warp.others.iter().filter(|other| at(other, number).is_some_and(|barrier| barrier.aligned));
    if let Some(first) = aligned().next()
        && !aligned().any(|other| other.told)
        && first.lanes != warp.live
    {
        let elsewhere = if there == warp.live { there & !first.lanes } else { warp.live & !there };
        env.launch.went_around_barrier(&warp.place(env), first.pc as u32 - 1, elsewhere.into(), env.describe);
    }
}
