//! A warp: its registers, its lanes, and what it runs in.

use super::memory::{Pending, Private};
use super::program::{Place, Program};
use super::row::Row;
use isobit_simgpu_core::check::{Describe, Launch, Place as Where, SiteCache};
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::local::Local;
use std::sync::atomic::AtomicU64;

/// The registers of one warp, and which of its lanes run.
#[derive(Debug, Default)]
pub struct Warp {
    /// The rows of its registers.
    pub rows: Vec<Row>,
    /// Its predicates, a bit a lane.
    pub predicates: Vec<u32>,
    /// The carry that `.cc` instructions leave for others, a bit a lane.
    pub carry: u32,
    /// The lanes that run now. At least one; lanes that are elsewhere in the code are in `others`.
    pub active: u32,
    /// The step that they run next.
    pub pc: usize,
    /// The lanes that exist and have not ended.
    pub live: u32,
    /// Which warp of its block it is.
    pub number: u32,
    /// Barriers it has passed.
    pub epoch: u32,
    /// Local memory of its threads.
    pub private: Private,
    /// Asynchronous copies that have been asked for and are not done.
    pub pending: Pending,
    /// Lanes that are elsewhere.
    pub others: Vec<Fragment>,
    /// The step before which the running lanes must look for those of `others` (see
    /// [`fragments`](super::fragments)).
    pub limit: usize,
    /// How often lanes may go back in the code before others get a turn: all lanes together, which
    /// other warps wait for, and some, which the rest of the warp waits for.
    pub patience: [u32; 2],
    /// The barrier that the running lanes have come to.
    pub barrier: Option<Barrier>,
}

/// Lanes that are at one place in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// The step they run next.
    pub pc: usize,
    /// Which they are.
    pub lanes: u32,
    /// What they wait for.
    pub wait: Wait,
}

/// What lanes wait for that do not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Nothing: they run when lanes that are further back in the code have come to them.
    Ready,
    /// The end of the turn that they have given to others.
    Turn,
    /// The other members of the mask of the step.
    Members,
    /// A barrier of the block: the step before theirs.
    Barrier(Barrier),
}

/// What a barrier of the block asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Barrier {
    /// Its number, from 0 to 15.
    pub number: u32,
    /// Threads that take part; none for all of the block.
    pub threads: Option<u32>,
    /// They do not wait for it (`bar.arrive`).
    pub arrive_only: bool,
    /// All threads of a warp must come together (`.aligned`).
    pub aligned: bool,
    /// The reduction over all threads (`bar.red`).
    pub reduction: Option<Reduction>,
}

/// What `bar.red` reduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// How many are true, written to a row.
    Count,
    /// Whether all are, written to a predicate.
    All,
    /// Whether any is, written to a predicate.
    Any,
}

impl Warp {
    /// Where it is, for checks.
    #[inline(always)]
    pub fn place(&self, env: &Env<'_>) -> Where {
        Where { group: env.block, wave: self.number, epoch: self.epoch }
    }

    /// The step that is running: the site of checks.
    #[inline(always)]
    pub fn site(&self) -> u32 {
        self.pc as u32 - 1
    }

    /// A predicate's bits, negated where its place says so.
    #[inline(always)]
    pub fn predicate(&self, place: Place) -> u32 {
        // A constant is false or true in every lane: its index says which.
        let bits =
            if place.is_constant() { (place.index() as u32).wrapping_neg() } else { self.predicates[place.index()] };
        if place.is_negated() { !bits } else { bits }
    }

    /// Writes a predicate in the active lanes.
    #[inline(always)]
    pub fn set_predicate(&mut self, place: Place, bits: u32) {
        let old = &mut self.predicates[place.index()];
        *old = bits & self.active | *old & !self.active;
    }

    /// Whether all of `members` that live are active: what a `.sync` instruction waits for
    /// ([`Flow::Converge`](super::Flow::Converge)).
    #[inline(always)]
    pub fn converged(&self, members: u32) -> bool {
        members & self.live & !self.active == 0
    }
}

/// Places for what instructions found last, by the low bits of their step.
pub const SITE_CACHES: usize = 256;

/// What a warp runs in.
pub struct Env<'a> {
    /// The code.
    pub program: &'a Program,
    /// The launch, which checks accesses to global memory.
    pub launch: &'a Launch<'a>,
    /// The shared memory of the block.
    pub shared: &'a mut Local,
    /// What instructions found last.
    pub caches: &'a mut [SiteCache; SITE_CACHES],
    /// Names for findings.
    pub describe: &'a dyn Describe,
    /// The block, counted linearly.
    pub block: u32,
    /// `%ctaid`
    pub block_at: [u32; 3],
    /// `%nctaid`
    pub grid: [u32; 3],
    /// `%ntid`
    pub threads: [u32; 3],
    /// The argument buffer.
    pub arguments: &'a [u8],
    /// Where it is in device memory, as a generic address (`cvta.param`).
    pub arguments_at: u64,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// A clock that only goes forward.
    pub clock: &'a AtomicU64,
    /// Why a step gave [`Flow::Fault`](super::Flow::Fault).
    pub fault: Option<Fault>,
}
