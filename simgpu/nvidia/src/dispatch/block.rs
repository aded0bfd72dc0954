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
use isobit_simgpu_core::deadlock::Wait;
use isobit_simgpu_core::engine::coordinates;
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::local::Local;
use isobit_simgpu_core::schedule::{Groups, Progress, Stuck, Turn};
use isobit_simgpu_core::undefined;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// The state that the blocks of a launch share.
pub(super) struct Grid<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) launch: &'a Launch<'a>,
    pub(super) arguments: &'a Filled<'a>,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) dynamic_shared: u32,
    /// Bytes of stack per thread.
    pub(super) stack: u32,
    pub(super) clock: &'a AtomicU64,
    pub(super) describe: &'a (dyn Describe + Sync),
    pub(super) instructions: &'a AtomicU64,
}

/// A running block, and what is kept from block to block.
pub(super) struct BlockState {
    index: u32,
    warps: Vec<Warp>,
    /// The status of each warp of the block; `warps` may have more.
    status: Vec<Status>,
    barriers: Barriers,
    shared: Local,
    caches: Box<[SiteCache; SITE_CACHES]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Status {
    Ready,
    Waiting,
    Ended,
}

impl Groups for Grid<'_> {
    type State = BlockState;
    type Error = Fault;

    fn state(&self) -> BlockState {
        BlockState {
            index: 0,
            warps: Vec::new(),
            status: Vec::new(),
            barriers: Barriers::new(0),
            shared: Local::new(),
            caches: Box::new([SiteCache::default(); SITE_CACHES]),
        }
    }

    fn start(&self, state: &mut BlockState, group: u64) {
        let threads: u32 = self.block.iter().product();
        let warps = threads.div_ceil(LANES as u32);
        state.index = group as u32;
        state.shared.reset((self.kernel.shared_bytes + self.dynamic_shared) as usize, warps);
        if state.warps.len() < warps as usize {
            state.warps.resize_with(warps as usize, Warp::default);
        }
        for number in 0..warps {
            let lanes = (threads - number * LANES as u32).min(LANES as u32);
            self.start_warp(&mut state.warps[number as usize], number, u32::MAX >> (LANES as u32 - lanes));
        }
        state.status.clear();
        state.status.resize(warps as usize, Status::Ready);
        state.barriers = Barriers::new(threads);
    }

    fn run(&self, state: &mut BlockState, turn: &Turn) -> Result<Progress, Fault> {
        let BlockState { index, warps, status, barriers, shared, caches } = state;
        let mut env = Env {
            program: &self.kernel.program,
            launch: self.launch,
            shared,
            caches,
            describe: self.describe,
            block: *index,
            block_at: coordinates(*index, self.grid),
            grid: self.grid,
            threads: self.block,
            arguments: self.arguments.bytes(),
            arguments_at: self.arguments.address(),
            dynamic_shared: self.dynamic_shared,
            clock: self.clock,
            patience: turn.patience,
            watched: turn.watched,
            coverage: self.kernel.coverage.as_ref(),
            fault: None,
        };
        let mut executed = 0;
        let outcome = self.turns(&mut warps[..status.len()], status, barriers, &mut env, turn, &mut executed);
        self.instructions.fetch_add(executed * LANES as u64, Ordering::Relaxed);
        outcome
    }

    fn digest(&self, state: &BlockState) -> u64 {
        let mut hasher = DefaultHasher::new();
        for warp in &state.warps[..state.status.len()] {
            let rows = &warp.rows[..self.kernel.program.rows];
            rows.iter().for_each(|row| row.0.hash(&mut hasher));
            warp.predicates.hash(&mut hasher);
            // The epoch only concerns the race checks.
            (warp.carry, warp.active, warp.live, warp.pc, warp.depth, &warp.others).hash(&mut hasher);
            warp.stack.hash(&mut hasher);
            warp.private.hash(&mut hasher);
            warp.pending.hash(&mut hasher);
        }
        state.status.hash(&mut hasher);
        state.barriers.hash(&mut hasher);
        state.shared.bytes().hash(&mut hasher);
        hasher.finish()
    }

    fn bytes(&self, state: &BlockState) -> usize {
        let of_warp = |warp: &Warp| size_of_val(&warp.rows[..]) + warp.private.host_bytes() + warp.stack.host_bytes();
        state.warps.iter().map(of_warp).sum::<usize>() + state.shared.host_bytes() + size_of_val(&*state.caches)
    }

    fn deadlock(&self, stuck: &Stuck<'_, BlockState>) -> Fault {
        self.launch.stuck(stuck, |state| self.waits(state), self.describe)
    }
}

impl Grid<'_> {
    /// Returns where the lanes of a block are.
    fn waits(&self, state: &BlockState) -> Vec<Wait> {
        super::deadlock::waits(&state.warps[..state.status.len()], state.index)
    }

    /// Initialises a warp with the given live lanes.
    fn start_warp(&self, warp: &mut Warp, number: u32, live: u32) {
        let program = &*self.kernel.program;
        if warp.rows.len() < program.rows {
            warp.rows.resize(program.rows, Row::UNDEFINED);
        }
        for row in &program.undefined {
            warp.rows[*row as usize] = Row::UNDEFINED;
        }
        warp.predicates.clear();
        warp.predicates.resize(program.predicates, undefined::WORD);
        (warp.active, warp.live, warp.pc, warp.limit) = (live, live, 0, usize::MAX);
        (warp.number, warp.epoch, warp.patience) = (number, 0, [PATIENCE; 2]);
        warp.others.clear();
        warp.barrier = None;
        warp.private.reset(self.kernel.local_bytes);
        warp.depth = 0;
        warp.stack.reset(program, self.stack);
        warp.pending.reset();
    }

    /// Runs the warps in turn until the block or its turn ends.
    fn turns(
        &self,
        warps: &mut [Warp],
        status: &mut [Status],
        barriers: &mut Barriers,
        env: &mut Env<'_>,
        turn: &Turn,
        executed: &mut u64,
    ) -> Result<Progress, Fault> {
        for round in 1u32.. {
            let (mut any_ready, mut turned) = (false, false);
            for at in 0..warps.len() {
                if status[at] != Status::Ready {
                    continue;
                }
                any_ready = true;
                let warp = &mut warps[at];
                let before = warp.live;
                let pause = run(warp, env, executed);
                match pause {
                    Pause::Turn => turned = true,
                    Pause::Barrier => {
                        barriers.ended((before & !warp.live).count_ones());
                        barriers
                            .arrive(at, warps, status, env)
                            .map_err(|why| self.fault(&warps[at], env, why.into()))?;
                        continue;
                    }
                    Pause::Waiting => {}
                    Pause::Stuck => return Err(super::deadlock::of_warp(warp, env)),
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
            if turn.ends(*executed, round, turned) {
                return Ok(Progress::Paused);
            }
        }
        if status.contains(&Status::Waiting) {
            return Err(super::deadlock::at_barriers(warps, env));
        }
        Ok(Progress::Ended)
    }

    fn fault(&self, warp: &Warp, env: &Env<'_>, why: Fault) -> Fault {
        let instruction = self.describe.instruction(warp.pc.saturating_sub(1) as u32);
        let thread = self.describe.thread(&warp.place(env), warp.active.trailing_zeros() % LANES as u32);
        Fault::of(why.kind(), format!("{}: {why}, at {instruction}, {thread}", self.kernel.name))
    }
}
