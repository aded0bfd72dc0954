//! Execution of one group: its waves take turns on one host thread; each runs until it ends or
//! waits at a barrier.

use super::arguments::Filled;
use super::{PRIVATE_APERTURE, SHARED_APERTURE, coordinates};
use crate::exec::wave::SITE_CACHES;
use crate::exec::{Env, Flow, Wave, run};
use crate::loader::Kernel;
use crate::service::HostCalls;
use isobit_simgpu_core::check::{Describe, Launch, Place, SiteCache};
use isobit_simgpu_core::deadlock::Wait;
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::local::Local;
use isobit_simgpu_core::schedule::{Groups, Progress, Stuck, Turn};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// The state that the groups of a launch share.
pub(super) struct Group<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) launch: &'a Launch<'a>,
    pub(super) arguments: &'a Filled<'a>,
    pub(super) host_calls: Option<&'a HostCalls<'a>>,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) lds_bytes: u32,
    /// Private memory per thread, with the stack.
    pub(super) private_bytes: u32,
    pub(super) width: usize,
    pub(super) clock: &'a AtomicU64,
    pub(super) describe: &'a (dyn Describe + Sync),
    pub(super) instructions: &'a AtomicU64,
}

/// A running group, and what is kept from group to group.
pub(super) struct GroupState {
    index: u32,
    waves: Vec<Wave>,
    /// The status of each wave of the group; `waves` may have more.
    status: Vec<Status>,
    local: Local,
    caches: Box<[SiteCache; SITE_CACHES]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Status {
    Ready,
    Waiting,
    Ended,
}

/// The first row of the accumulation registers.
pub(super) const ACCUMULATION: usize = 256;

impl Groups for Group<'_> {
    type State = GroupState;
    type Error = Fault;

    fn state(&self) -> GroupState {
        GroupState {
            index: 0,
            waves: Vec::new(),
            status: Vec::new(),
            local: Local::new(),
            caches: Box::new([SiteCache::default(); SITE_CACHES]),
        }
    }

    fn start(&self, state: &mut GroupState, group: u64) {
        let waves = self.block.iter().product::<u32>().div_ceil(self.width as u32);
        state.index = group as u32;
        let at = coordinates(state.index, self.grid);
        state.local.reset(self.lds_bytes as usize, waves);
        if state.waves.len() < waves as usize {
            state.waves.resize_with(waves as usize, Wave::new);
        }
        for wave in 0..waves {
            self.start_wave(&mut state.waves[wave as usize], at, wave);
        }
        state.status.clear();
        state.status.resize(waves as usize, Status::Ready);
    }

    fn run(&self, state: &mut GroupState, turn: &Turn) -> Result<Progress, Fault> {
        let GroupState { index, waves, status, local, caches } = state;
        let mut env = Env {
            program: &self.kernel.program,
            launch: self.launch,
            local,
            caches,
            describe: self.describe,
            group: *index,
            shared_aperture: SHARED_APERTURE,
            private_aperture: PRIVATE_APERTURE,
            clock: self.clock,
            host_calls: self.host_calls,
            patience: turn.patience,
            watched: turn.watched,
            coverage: self.kernel.coverage.as_ref(),
            fault: None,
        };
        let mut executed = 0;
        let outcome = self.turns(&mut waves[..status.len()], status, &mut env, turn, &mut executed);
        self.instructions.fetch_add(executed * self.width as u64, Ordering::Relaxed);
        outcome
    }

    fn digest(&self, state: &GroupState) -> u64 {
        let mut hasher = DefaultHasher::new();
        let setup = &self.kernel.setup;
        for wave in &state.waves[..state.status.len()] {
            for row in wave.v[..setup.vector].iter().chain(&wave.v[ACCUMULATION..][..setup.accumulation]) {
                row.0.hash(&mut hasher);
            }
            // The epoch only concerns the race checks.
            (wave.s, wave.scc, wave.next, wave.live).hash(&mut hasher);
            wave.private.hash(&mut hasher);
        }
        state.status.hash(&mut hasher);
        state.local.bytes().hash(&mut hasher);
        hasher.finish()
    }

    fn bytes(&self, state: &GroupState) -> usize {
        let waves = state.waves.iter().map(|wave| size_of_val(&*wave.v) + wave.private.host_bytes());
        waves.sum::<usize>() + state.local.host_bytes() + size_of_val(&*state.caches)
    }

    fn deadlock(&self, stuck: &Stuck<'_, GroupState>) -> Fault {
        self.launch.stuck(stuck, waits, self.describe)
    }
}

/// Returns where the waves of a group are.
fn waits(state: &GroupState) -> Vec<Wait> {
    let waves = state.waves.iter().zip(&state.status).filter(|(_, status)| **status != Status::Ended);
    let wait = |(wave, status): (&Wave, &Status)| {
        let who = Place { group: state.index, wave: wave.wave, epoch: wave.epoch };
        let barrier = *status == Status::Waiting;
        let site = (wave.next - usize::from(barrier)) as u32;
        let lanes = match wave.exec() & wave.live {
            0 => wave.live,
            lanes => lanes,
        };
        Wait { who, lanes, site, barrier }
    };
    waves.map(wait).collect()
}

impl Group<'_> {
    /// Runs the waves in turn until the group or its turn ends.
    fn turns(
        &self,
        waves: &mut [Wave],
        status: &mut [Status],
        env: &mut Env<'_>,
        turn: &Turn,
        executed: &mut u64,
    ) -> Result<Progress, Fault> {
        for round in 1u32.. {
            let mut turned = false;
            for (wave, status) in waves.iter_mut().zip(status.iter_mut()) {
                if *status != Status::Ready {
                    continue;
                }
                *status = match run::run(wave, env, executed) {
                    Flow::End => Status::Ended,
                    Flow::Barrier => {
                        wave.at_barrier(env);
                        Status::Waiting
                    }
                    Flow::Yield | Flow::Next | Flow::Back => {
                        turned = true;
                        Status::Ready
                    }
                    Flow::Fault => return Err(self.fault(wave, env)),
                };
            }
            if status.iter().all(|status| *status == Status::Ended) {
                break;
            }
            if !status.contains(&Status::Ready) {
                // The barrier does not wait for waves that have ended.
                for (wave, status) in waves.iter_mut().zip(status.iter_mut()) {
                    if *status == Status::Waiting {
                        wave.epoch += 1;
                        *status = Status::Ready;
                    }
                }
            }
            if turn.ends(*executed, round, turned) {
                return Ok(Progress::Paused);
            }
        }
        Ok(Progress::Ended)
    }

    fn fault(&self, wave: &Wave, env: &mut Env<'_>) -> Fault {
        let step = wave.next.saturating_sub(1) as u32;
        let why = env.fault.take().or_else(|| env.program.faults.get(&step).map(ToString::to_string));
        let why = why.unwrap_or_else(|| "it left its code".into());
        let address = env.program.steps.get(step as usize).map_or(0, |s| env.program.address_of(s));
        Fault::new(format!("{}: {why}, at {address:#x} ({})", self.kernel.name, self.describe.instruction(step)))
    }
}
