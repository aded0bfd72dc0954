//! Divergence: lanes of one warp at different places in the code.
//!
//! One set of lanes runs; the others are in [`Warp::others`]. The lanes that are furthest back run
//! first. The block layout puts the point where paths meet again after all of them, so lanes
//! reconverge there without extra work. [`Warp::limit`] is the lowest position ahead at which other
//! lanes are: the run loop compares one number, and everything else happens here, when lanes meet.
//!
//! Lanes that are deeper in calls count as further back than all others: lanes that called a
//! function together thus meet again behind the call. Each lane has its own registers and its own
//! frame, so that lanes in different calls of one function can be at the same step.
//!
//! Threads of a warp may wait for each other, so no lane may be left waiting forever: lanes that
//! jump back too often yield to the others, and run again only when all others have had their turn.

use super::warp::{Fragment, Wait, Warp};
use std::cmp::Reverse;

/// The initial value of [`Warp::patience`].
pub const PATIENCE: u32 = 1 << 14;
/// The minimum patience, for a warp whose patience has run out repeatedly.
const LEAST_PATIENCE: u32 = 1 << 4;

impl Warp {
    /// Leaves some of the running lanes, but not all, at a step.
    #[inline(never)]
    pub fn fork(&mut self, pc: usize, lanes: u32) {
        self.active &= !lanes;
        self.limit = self.limit.min(pc);
        self.set_aside(Fragment { pc, lanes, wait: Wait::Ready, depth: self.depth, told: false });
    }

    /// Leaves all running lanes at a step.
    pub fn park(&mut self, pc: usize, wait: Wait) {
        let lanes = std::mem::take(&mut self.active);
        self.set_aside(Fragment { pc, lanes, wait, depth: self.depth, told: false });
    }

    /// Adds lanes to those that are elsewhere. Lanes that come to a barrier wait with those that
    /// are there, whether or not others went around it.
    pub fn set_aside(&mut self, fragment: Fragment) {
        let same = |other: &&mut Fragment| {
            other.pc == fragment.pc && other.wait == fragment.wait && other.depth == fragment.depth
        };
        match self.others.iter_mut().find(same) {
            Some(other) => other.lanes |= fragment.lanes,
            None => self.others.push(fragment),
        }
    }

    /// Runs the lanes that are furthest back, if some are ready and none run.
    pub fn resume(&mut self) -> bool {
        let ready = self.others.iter().enumerate().filter(|(_, other)| other.wait == Wait::Ready);
        let Some((at, _)) = ready.min_by_key(|(_, other)| (Reverse(other.depth), other.pc)) else { return false };
        self.run_fragment(at);
        true
    }

    /// Runs the lanes that have waited longest for the members of a mask, if there are such lanes
    /// and none run.
    pub fn retry(&mut self) -> bool {
        let Some(at) = self.others.iter().position(|other| other.wait == Wait::Members) else { return false };
        self.run_fragment(at);
        true
    }

    fn run_fragment(&mut self, at: usize) {
        let next = self.others.remove(at);
        (self.pc, self.active, self.depth) = (next.pc, next.lanes, next.depth);
        self.gather();
    }

    /// Handles running lanes that have reached or passed the position of other lanes.
    #[inline(never)]
    pub fn meet(&mut self) {
        let first = |other: &Fragment| (Reverse(other.depth), other.pc) < (Reverse(self.depth), self.pc);
        if self.others.iter().any(|other| other.wait == Wait::Ready && first(other)) {
            self.park(self.pc, Wait::Ready);
            self.resume();
        } else {
            self.gather();
        }
    }

    /// Merges the lanes that are at the same position as the running ones. Lanes that wait at a
    /// barrier of the block are past it only when it opens. Lanes that wait for members merge
    /// whatever their depth is, because the members may be in other calls of the same function.
    pub fn gather(&mut self) {
        let (pc, depth, mut limit, mut active) = (self.pc, self.depth, usize::MAX, self.active);
        self.others.retain(|other| {
            let waits = matches!(other.wait, Wait::Barrier(_));
            if !waits && other.pc == pc && (other.depth == depth || other.wait == Wait::Members) {
                active |= other.lanes;
                return false;
            }
            if !waits && other.pc > pc && other.depth == depth {
                limit = limit.min(other.pc);
            }
            true
        });
        (self.active, self.limit) = (active, limit);
    }

    /// Makes the running lanes wait until the others have had a turn. Returns whether there are
    /// other lanes, which then run.
    pub fn give_turn(&mut self) -> bool {
        self.park(self.pc, Wait::Turn);
        self.resume()
    }

    /// Reduces one of the two patience values, because waiting did not help. Used for code with
    /// atomics, with which threads mostly wait for each other: every iteration of such a loop adds
    /// an atomic that the race checks must remember.
    pub fn lose_patience(&mut self, apart: bool) {
        let patience = &mut self.patience[usize::from(apart)];
        *patience = (*patience / 4).max(LEAST_PATIENCE);
    }

    /// Makes the lanes ready that yielded their turn. Returns whether there were any.
    pub fn end_turns(&mut self) -> bool {
        let mut any = false;
        for other in self.others.iter_mut().filter(|other| other.wait == Wait::Turn) {
            (other.wait, any) = (Wait::Ready, true);
        }
        any
    }

    /// Whether any lanes may be able to continue, which is the case unless all wait at barriers of
    /// the block.
    pub fn is_ready(&self) -> bool {
        self.active != 0 || self.others.iter().any(|other| !matches!(other.wait, Wait::Barrier(_)))
    }
}
