//! The barriers of a block.
//!
//! Threads count, and threads that have ended are not waited for. A barrier for all threads opens
//! when all that live wait there; one for a number of threads when so many do or have come by,
//! where a warp that is there as a whole counts as all of its 32.
//!
//! For the race checks a warp's epoch is a Lamport clock: whoever passes a barrier goes on with a
//! later epoch than anyone had who came to it. What a barrier orders so differs in its epochs, also
//! where only some warps take part; what none orders may differ too, so that a race may be missed
//! and none is invented.

use super::block::Status;
use crate::exec::control::{BARRIERS, condition, reduced};
use crate::exec::row::LANES;
use crate::exec::run::lanes;
use crate::exec::warp::{Barrier, Fragment, Wait};
use crate::exec::{Env, Warp};
use isobit_simgpu_core::finding::{Finding, FindingKind};

/// The state of one barrier.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// Threads that wait.
    waiting: u32,
    /// Threads that came by (`bar.arrive`), and the last of their epochs.
    arrived: u32,
    epoch: u32,
    /// For how many threads it is, by the last that came.
    threads: u32,
}

/// All of a block's.
pub(super) struct Barriers {
    states: [State; BARRIERS as usize],
    /// Threads that have not ended.
    live: u32,
    /// Threads of the block, in whole warps.
    all: u32,
}

/// The barrier at which lanes wait, if it is this one.
fn at(fragment: &Fragment, number: u32) -> Option<Barrier> {
    match fragment.wait {
        Wait::Barrier(barrier) if barrier.number == number => Some(barrier),
        _ => None,
    }
}

/// The lanes of a warp that wait at a barrier.
fn lanes_at(warp: &Warp, number: u32) -> u32 {
    warp.others.iter().filter(|other| at(other, number).is_some()).fold(0, |lanes, other| lanes | other.lanes)
}

/// Threads that lanes of a warp count for.
fn counted(warp: &Warp, lanes: u32) -> u32 {
    if lanes != 0 && lanes == warp.live { LANES as u32 } else { lanes.count_ones() }
}

impl Barriers {
    pub(super) fn new(threads: u32) -> Self {
        Self { states: Default::default(), live: threads, all: threads.next_multiple_of(LANES as u32) }
    }

    /// Threads have ended.
    pub(super) fn ended(&mut self, threads: u32) {
        self.live -= threads;
    }

    /// The running lanes of a warp have come to a barrier.
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
                "barrier {} is for {threads} threads here, and for {} where others came to it",
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
            // What came by beyond what it is for counts for the next time.
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

    /// Lanes of a warp have ended while others wait at barriers. Those that came by way of code
    /// that lies behind such a barrier have gone around it; an early return has not.
    pub(super) fn left(&self, warp: &mut Warp, env: &Env<'_>) {
        let ended = std::mem::take(&mut warp.active);
        let passed = |other: &&Fragment| {
            matches!(other.wait, Wait::Barrier(Barrier { aligned: true, .. }))
                && env.program.reaches(other.pc - 1, warp.pc - 1)
        };
        if let Some(other) = warp.others.iter().find(passed) {
            absent(warp, other.pc - 1, ended, env);
        }
    }

    /// Where all that live wait, and nothing opens.
    pub(super) fn deadlock(&self, warps: &[Warp], env: &Env<'_>) -> String {
        let places = warps.iter().flat_map(|warp| warp.others.iter().map(move |other| (warp, other)));
        let places = places.map(|(warp, other)| {
            let (step, of) = match other.wait {
                Wait::Barrier(barrier) => (other.pc - 1, format!("at barrier {}, ", barrier.number)),
                _ => (other.pc, "for others of the warp, ".to_owned()),
            };
            let place = env.describe.instruction(step as u32);
            format!("{} of warp {} wait {of}{place}", lanes(other.lanes), warp.number)
        });
        let places: Vec<String> = places.collect();
        let numbers = (0..BARRIERS).filter(|number| self.states[*number as usize].waiting > 0);
        let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
        format!("deadlock at barrier {} in block {}: {}", numbers.join(" and "), env.block, places.join("; "))
    }
}

/// How many of the conditions that a reduction at a barrier looks at are true.
fn conditions(warps: &[Warp], number: u32, env: &Env<'_>) -> u32 {
    let fragments = warps.iter().flat_map(|warp| warp.others.iter().map(move |other| (warp, other)));
    let reducing = fragments.filter(|(_, other)| at(other, number).is_some_and(|barrier| barrier.reduction.is_some()));
    reducing.map(|(warp, other)| condition(warp, &env.program.steps[other.pc - 1], other.lanes).count_ones()).sum()
}

/// Lets the lanes that wait at a barrier go on, with what it reduced.
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

/// Tells of an aligned barrier that opens, where only some of a warp's threads have come to it, or
/// not all at the same instruction.
fn check_whole(warp: &Warp, number: u32, there: u32, env: &Env<'_>) {
    let mut aligned = warp.others.iter().filter(|other| at(other, number).is_some_and(|barrier| barrier.aligned));
    if let Some(first) = aligned.next()
        && first.lanes != warp.live
    {
        let elsewhere = if there == warp.live { there & !first.lanes } else { warp.live & !there };
        absent(warp, first.pc - 1, elsewhere, env);
    }
}

/// Tells that lanes of a warp do not reach a barrier that others of it wait at.
#[cold]
fn absent(warp: &Warp, step: usize, lanes: u32, env: &Env<'_>) {
    let thread = env.describe.thread(&warp.place(env), lanes.trailing_zeros() % LANES as u32);
    let count = lanes.count_ones();
    env.launch.findings().push(Finding {
        kind: FindingKind::DivergentBarrier,
        kernel: env.launch.kernel().to_owned(),
        instruction: env.describe.instruction(step as u32),
        message: format!("{count} threads of the warp do not reach the barrier, {thread} among them"),
        thread,
        buffer: String::new(),
        offset: 0,
    });
}
