//! A warp: its registers, its lanes, and its environment.

use super::memory::{Pending, Private};
use super::program::{Place, Program};
use super::row::Row;
use super::stack::Stack;
use isobit_simgpu_core::check::{Describe, Launch, Place as Where, SiteCache};
use isobit_simgpu_core::coverage::Marks;
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::local::Local;
use std::sync::atomic::AtomicU64;

/// The registers of one warp, and its running lanes.
#[derive(Debug, Default)]
pub struct Warp {
    /// The rows of its registers.
    pub rows: Vec<Row>,
    /// Its predicates, one bit per lane.
    pub predicates: Vec<u32>,
    /// The carry that `.cc` instructions write, one bit per lane.
    pub carry: u32,
    /// The running lanes, at least one; lanes that are elsewhere in the code are in `others`.
    pub active: u32,
    /// Their next step.
    pub pc: usize,
    /// The number of functions with frames in which they are. Lanes of different depths run
    /// together from where they met as members of a mask to their next call or return; this is then
    /// the depth of those that waited longest.
    pub depth: u32,
    /// The lanes that exist and have not ended.
    pub live: u32,
    /// The index of the warp in its block.
    pub number: u32,
    /// Number of barriers passed.
    pub epoch: u32,
    /// Local memory of its threads.
    pub private: Private,
    /// The stacks of its threads.
    pub stack: Stack,
    /// Asynchronous copies that are not complete.
    pub pending: Pending,
    /// Lanes that are elsewhere in the code.
    pub others: Vec<Fragment>,
    /// The position at which the running lanes must look for the lanes of `others` (see
    /// [`fragments`](super::fragments)).
    pub limit: usize,
    /// How often lanes may jump back before others get a turn: first for all lanes together, when
    /// other warps wait; second for some of the lanes, when the rest of the warp waits.
    pub patience: [u32; 2],
    /// The barrier that the running lanes have come to.
    pub barrier: Option<Barrier>,
}

/// Lanes at the same place in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// Their next step.
    pub pc: usize,
    /// The mask of the lanes.
    pub lanes: u32,
    /// What they wait for.
    pub wait: Wait,
    /// The number of functions with frames in which they are, as [`Warp::depth`].
    pub depth: u32,
    /// Others went around the barrier at which they wait, and a finding says so.
    pub told: bool,
}

/// What lanes that are not running wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Nothing: they run when lanes that are further back in the code have caught up with them.
    Ready,
    /// The end of the turn that they yielded to others.
    Turn,
    /// The other members of the mask of the step.
    Members,
    /// A barrier of the block, at the step before their next one.
    Barrier(Barrier),
}

/// The parameters of a barrier of the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Barrier {
    /// Its number, from 0 to 15.
    pub number: u32,
    /// Participating threads; `None` for all threads of the block.
    pub threads: Option<u32>,
    /// The threads do not wait (`bar.arrive`).
    pub arrive_only: bool,
    /// All threads of a warp must come together (`.aligned`).
    pub aligned: bool,
    /// The reduction over all threads (`bar.red`).
    pub reduction: Option<Reduction>,
}

/// The operation of `bar.red`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The number of true conditions, written to a row.
    Count,
    /// Whether all conditions are true, written to a predicate.
    All,
    /// Whether any condition is true, written to a predicate.
    Any,
}

impl Warp {
    /// Returns the position of the warp, for checks.
    #[inline(always)]
    pub fn place(&self, env: &Env<'_>) -> Where {
        Where { group: env.block, wave: self.number, epoch: self.epoch }
    }

    /// Returns the running step, which is the site for checks.
    #[inline(always)]
    pub fn site(&self) -> u32 {
        self.pc as u32 - 1
    }

    /// Returns a predicate's bits, negated if its place says so.
    #[inline(always)]
    pub fn predicate(&self, place: Place) -> u32 {
        // A constant predicate is the same in every lane; its index is 0 for false and 1 for true.
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

    /// Whether all live lanes of `members` are active, which a `.sync` instruction waits for
    /// ([`Flow::Converge`](super::Flow::Converge)).
    #[inline(always)]
    pub fn converged(&self, members: u32) -> bool {
        members & self.live & !self.active == 0
    }
}

/// Number of caches for the last allocation that an instruction found, indexed by the low bits of
/// its step.
pub const SITE_CACHES: usize = 256;

/// The environment of a warp.
pub struct Env<'a> {
    /// The code.
    pub program: &'a Program,
    /// The launch, which checks accesses to global memory.
    pub launch: &'a Launch<'a>,
    /// The shared memory of the block.
    pub shared: &'a mut Local,
    /// The last allocations that instructions found.
    pub caches: &'a mut [SiteCache; SITE_CACHES],
    /// Names for findings.
    pub describe: &'a dyn Describe,
    /// The linear index of the block.
    pub block: u32,
    /// `%ctaid`
    pub block_at: [u32; 3],
    /// `%nctaid`
    pub grid: [u32; 3],
    /// `%ntid`
    pub threads: [u32; 3],
    /// The argument buffer.
    pub arguments: &'a [u8],
    /// Its generic address in device memory (`cvta.param`).
    pub arguments_at: u64,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// A monotonic clock.
    pub clock: &'a AtomicU64,
    /// Backward jumps after which a warp's turn ends, if its own patience does not end it earlier.
    pub patience: u32,
    /// Whether what the warps do to memory is watched (see
    /// [`Turn::watched`](isobit_simgpu_core::schedule::Turn::watched)).
    pub watched: bool,
    /// The marks of the steps that run, if they are wanted.
    pub coverage: Option<&'a Marks>,
    /// The reason why a step returned [`Flow::Fault`](super::Flow::Fault).
    pub fault: Option<Fault>,
}
