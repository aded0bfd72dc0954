//! Runs one block: its warps take turns on one host thread; each runs until it ends, waits at a
//! barrier, or its turn is over.

use super::arguments::Filled;
use super::barriers::Barriers;
use crate::exec::fragments::PATIENCE;
use crate::exec::row::LANES;
use crate::exec::run::{Pause, run};
use crate::exec::warp::SITE_CACHES;
use crate::exec::{Env, Row, Warp};
use crate::module::Kernel;
use isobit_simgpu_core::check::{Describe, Launch, SiteCache};
use isobit_simgpu_core::engine::coordinates;
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::local::Local;
use std::sync::atomic::AtomicU64;

/// The state that the blocks of a launch share.
pub(super) struct Grid<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) launch: &'a Launch<'a>,
    pub(super) arguments: &'a Filled<'a>,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) dynamic_shared: u32,
    pub(super) clock: &'a AtomicU64,
    pub(super) describe: &'a (dyn Describe + Sync),
}

/// The state that a host thread keeps from block to block.
pub(super) struct BlockState {
    warps: Vec<Warp>,
    shared: Local,
    caches: Box<[SiteCache; SITE_CACHES]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Ready,
    Waiting,
    Ended,
}

impl BlockState {
    pub(super) fn new() -> Self {
        Self { warps: Vec::new(), shared: Local::new(), caches: Box::new([SiteCache::default(); SITE_CACHES]) }
    }
}

impl Grid<'_> {
    /// Runs block `index` and returns the number of steps of its warps.
    pub(super) fn run(&self, state: &mut BlockState, index: u32) -> (u64, Result<(), Fault>) {
        let threads: u32 = self.block.iter().product();
        let warps = threads.div_ceil(LANES as u32);
        state.shared.reset((self.kernel.shared_bytes + self.dynamic_shared) as usize, warps);
        if state.warps.len() < warps as usize {
            state.warps.resize_with(warps as usize, Warp::default);
        }
        for number in 0..warps {
            let lanes = (threads - number * LANES as u32).min(LANES as u32);
            self.start(&mut state.warps[number as usize], number, u32::MAX >> (LANES as u32 - lanes));
        }
        let mut env = Env {
            program: &self.kernel.program,
            launch: self.launch,
            shared: &mut state.shared,
            caches: &mut state.caches,
            describe: self.describe,
            block: index,
            block_at: coordinates(index, self.grid),
            grid: self.grid,
            threads: self.block,
            arguments: self.arguments.bytes(),
            arguments_at: self.arguments.address(),
            dynamic_shared: self.dynamic_shared,
            clock: self.clock,
            fault: None,
        };
        let mut executed = 0;
        let outcome = self.turns(&mut state.warps[..warps as usize], &mut env, threads, &mut executed);
        (executed, outcome)
    }

    /// Initialises a warp with the given live lanes.
    fn start(&self, warp: &mut Warp, number: u32, live: u32) {
        let program = &*self.kernel.program;
        if warp.rows.len() < program.rows {
            warp.rows.resize(program.rows, Row::ZERO);
        }
        for row in &program.zeroed {
            warp.rows[*row as usize] = Row::ZERO;
        }
        warp.predicates.clear();
        warp.predicates.resize(program.predicates, 0);
        (warp.active, warp.live, warp.pc, warp.limit) = (live, live, 0, usize::MAX);
        (warp.number, warp.epoch, warp.patience) = (number, 0, [PATIENCE; 2]);
        warp.others.clear();
        warp.barrier = None;
        warp.private.reset(self.kernel.local_bytes);
        warp.pending.reset();
    }

    fn turns(&self, warps: &mut [Warp], env: &mut Env<'_>, threads: u32, executed: &mut u64) -> Result<(), Fault> {
        // A block has at most 1024 threads: 32 warps.
        let mut all = [Status::Ready; 32];
        let status = &mut all[..warps.len()];
        let mut barriers = Barriers::new(threads);
        loop {
            let mut any_ready = false;
            for at in 0..warps.len() {
                if status[at] != Status::Ready {
                    continue;
                }
                any_ready = true;
                let warp = &mut warps[at];
                let before = warp.live;
                let pause = run(warp, env, executed);
                match pause {
                    Pause::Turn => {}
                    Pause::Barrier => {
                        barriers.ended((before & !warp.live).count_ones());
                        barriers
                            .arrive(at, warps, status, env)
                            .map_err(|why| self.fault(&warps[at], env, why.into()))?;
                        continue;
                    }
                    Pause::Left => barriers.left(warp, env),
                    Pause::Waiting => {}
                    Pause::Fault => {
                        let why = env.fault.take().unwrap_or_else(|| Fault::new("no reason was given"));
                        return Err(self.fault(warp, env, why));
                    }
                }
                status[at] = match pause {
                    Pause::Waiting if warp.live == 0 => Status::Ended,
                    Pause::Waiting => Status::Waiting,
                    _ => Status::Ready,
                };
                if before != warp.live {
                    barriers.ended((before & !warp.live).count_ones());
                    barriers.open_all(warps, status, env);
                }
            }
            if !any_ready {
                break;
            }
        }
        if status.contains(&Status::Waiting) {
            return Err(Fault::new(format!("{}: {}", self.kernel.name, barriers.deadlock(warps, env))));
        }
        Ok(())
    }

    fn fault(&self, warp: &Warp, env: &Env<'_>, why: Fault) -> Fault {
        let instruction = self.describe.instruction(warp.pc.saturating_sub(1) as u32);
        let thread = self.describe.thread(&warp.place(env), warp.active.trailing_zeros() % LANES as u32);
        Fault::of(why.kind(), format!("{}: {why}, at {instruction}, {thread}", self.kernel.name))
    }
}
