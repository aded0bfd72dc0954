//! Execution of one group: its waves take turns on one host thread; each runs until it ends or
//! waits at a barrier.

use super::arguments::Filled;
use super::{PRIVATE_APERTURE, SHARED_APERTURE, coordinates};
use crate::exec::wave::SITE_CACHES;
use crate::exec::{Env, Flow, Wave, run};
use crate::loader::Kernel;
use crate::service::HostCalls;
use isobit_simgpu_core::check::{Describe, Launch, Place, SiteCache};
use isobit_simgpu_core::finding::{Fault, Finding, FindingKind};
use isobit_simgpu_core::local::Local;
use std::sync::atomic::AtomicU64;

/// The state that the groups of a launch share.
pub(super) struct Group<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) launch: &'a Launch<'a>,
    pub(super) arguments: &'a Filled<'a>,
    pub(super) host_calls: Option<&'a HostCalls<'a>>,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) lds_bytes: u32,
    pub(super) width: usize,
    pub(super) clock: &'a AtomicU64,
    pub(super) describe: &'a (dyn Describe + Sync),
}

/// The state that a host thread reuses from group to group.
pub(super) struct GroupState {
    waves: Vec<Wave>,
    local: Local,
    caches: Box<[SiteCache; SITE_CACHES]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Ready,
    Waiting,
    Ended,
}

impl GroupState {
    pub(super) fn new() -> Self {
        Self { waves: Vec::new(), local: Local::new(), caches: Box::new([SiteCache::default(); SITE_CACHES]) }
    }
}

impl Group<'_> {
    /// Runs group `index` and counts the instructions of its waves.
    pub(super) fn run(&self, state: &mut GroupState, index: u32) -> (u64, Result<(), Fault>) {
        let waves = self.block.iter().product::<u32>().div_ceil(self.width as u32);
        let at = coordinates(index, self.grid);
        state.local.reset(self.lds_bytes as usize, waves);
        if state.waves.len() < waves as usize {
            state.waves.resize_with(waves as usize, Wave::new);
        }
        for wave in 0..waves {
            self.start(&mut state.waves[wave as usize], at, wave);
        }
        let mut env = Env {
            program: &self.kernel.program,
            launch: self.launch,
            local: &mut state.local,
            caches: &mut state.caches,
            describe: self.describe,
            group: index,
            shared_aperture: SHARED_APERTURE,
            private_aperture: PRIVATE_APERTURE,
            clock: self.clock,
            host_calls: self.host_calls,
            fault: None,
        };
        let mut executed = 0;
        let outcome = self.turns(&mut state.waves[..waves as usize], &mut env, &mut executed);
        (executed, outcome)
    }

    fn turns(&self, waves: &mut [Wave], env: &mut Env<'_>, executed: &mut u64) -> Result<(), Fault> {
        // A group has at most 1024 threads: 32 waves.
        let mut status = [Status::Ready; 32];
        let status = &mut status[..waves.len()];
        while status.contains(&Status::Ready) {
            for (wave, status) in waves.iter_mut().zip(status.iter_mut()) {
                if *status != Status::Ready {
                    continue;
                }
                *status = match run::run(wave, env, executed) {
                    Flow::End => Status::Ended,
                    Flow::Barrier => {
                        self.check_barrier(wave, env);
                        Status::Waiting
                    }
                    Flow::Yield | Flow::Next | Flow::Back => Status::Ready,
                    Flow::Fault => return Err(self.fault(wave, env)),
                };
            }
            // The barrier does not wait for waves that have ended.
            if !status.contains(&Status::Ready) {
                for (wave, status) in waves.iter_mut().zip(status.iter_mut()) {
                    if *status == Status::Waiting {
                        wave.epoch += 1;
                        *status = Status::Ready;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reports an incomplete barrier. At a barrier the hardware counts a wave as a whole, so it is
    /// an error in the source if some of its threads do not reach it.
    fn check_barrier(&self, wave: &Wave, env: &Env<'_>) {
        let absent = wave.live & !wave.exec();
        if absent == 0 {
            return;
        }
        let place = Place { group: env.group, wave: wave.wave, epoch: wave.epoch };
        let lane = absent.trailing_zeros();
        let thread = self.describe.thread(&place, lane);
        self.launch.findings().push(Finding {
            kind: FindingKind::DivergentBarrier,
            kernel: self.kernel.name.clone(),
            instruction: self.describe.instruction(wave.next as u32 - 1),
            message: format!(
                "{} threads of the wave do not reach the barrier, {thread} among them",
                absent.count_ones()
            ),
            thread,
            buffer: String::new(),
            offset: 0,
        });
    }

    fn fault(&self, wave: &Wave, env: &mut Env<'_>) -> Fault {
        let step = wave.next.saturating_sub(1) as u32;
        let why = env.fault.take().or_else(|| env.program.faults.get(&step).map(ToString::to_string));
        let why = why.unwrap_or_else(|| "it left its code".into());
        let address = env.program.steps.get(step as usize).map_or(0, |s| env.program.address_of(s));
        Fault::new(format!("{}: {why}, at {address:#x} ({})", self.kernel.name, self.describe.instruction(step)))
    }
}
