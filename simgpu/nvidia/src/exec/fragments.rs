//! Lanes of one warp at different places in the code.
//!
//! One set of lanes runs; the others lie in [`Warp::others`]. The lanes that are furthest back run
//! first. Blocks are laid out so that the place where ways meet again comes after all of them, so
//! that lanes gather there by themselves. [`Warp::limit`] is the lowest place ahead at which others
//! are: the run loop compares one number, and all else happens here, at a meeting.
//!
//! Threads of a warp may wait for each other, so that no lanes may be left out for ever: lanes that
//! went back too often give others a turn, and do not hold those up until all have had theirs.

use super::warp::{Fragment, Wait, Warp};

/// [`Warp::patience`] of a warp that starts.
pub const PATIENCE: u32 = 1 << 14;
/// What is left of it for a warp that was too patient again and again.
const LEAST_PATIENCE: u32 = 1 << 4;

impl Warp {
    /// Leaves some of the running lanes at a step, not all of them.
    #[inline(never)]
    pub fn fork(&mut self, pc: usize, lanes: u32) {
        self.active &= !lanes;
        self.limit = self.limit.min(pc);
        self.set_aside(Fragment { pc, lanes, wait: Wait::Ready });
    }

    /// Leaves all running lanes at a step.
    pub fn park(&mut self, pc: usize, wait: Wait) {
        let lanes = std::mem::take(&mut self.active);
        self.set_aside(Fragment { pc, lanes, wait });
    }

    fn set_aside(&mut self, fragment: Fragment) {
        match self.others.iter_mut().find(|other| other.pc == fragment.pc && other.wait == fragment.wait) {
            Some(other) => other.lanes |= fragment.lanes,
            None => self.others.push(fragment),
        }
    }

    /// Runs the lanes that are furthest back, where some are ready and none run.
    pub fn resume(&mut self) -> bool {
        let ready = self.others.iter().enumerate().filter(|(_, other)| other.wait == Wait::Ready);
        let Some((at, _)) = ready.min_by_key(|(_, other)| other.pc) else { return false };
        self.run_fragment(at);
        true
    }

    /// Runs the lanes that have waited longest for the members of a mask, where some do and none
    /// run.
    pub fn retry(&mut self) -> bool {
        let Some(at) = self.others.iter().position(|other| other.wait == Wait::Members) else { return false };
        self.run_fragment(at);
        true
    }

    fn run_fragment(&mut self, at: usize) {
        let next = self.others.remove(at);
        (self.pc, self.active) = (next.pc, next.lanes);
        self.gather();
    }

    /// The running lanes have come to where others are, or have passed them.
    #[inline(never)]
    pub fn meet(&mut self) {
        if self.others.iter().any(|other| other.wait == Wait::Ready && other.pc < self.pc) {
            self.park(self.pc, Wait::Ready);
            self.resume();
        } else {
            self.gather();
        }
    }

    /// Takes in the lanes that are where the running ones are. Those that wait at a barrier of the
    /// block are behind it only when it opens.
    pub fn gather(&mut self) {
        let (pc, mut limit, mut active) = (self.pc, usize::MAX, self.active);
        self.others.retain(|other| {
            let waits = matches!(other.wait, Wait::Barrier(_));
            if !waits && other.pc == pc {
                active |= other.lanes;
                return false;
            }
            if !waits && other.pc > pc {
                limit = limit.min(other.pc);
            }
            true
        });
        (self.active, self.limit) = (active, limit);
    }

    /// Lets the running lanes stand back until the others had a turn. True where there are such,
    /// which run now.
    pub fn give_turn(&mut self) -> bool {
        self.park(self.pc, Wait::Turn);
        self.resume()
    }

    /// Patience, of the one kind or the other, was of no use. For code that has atomics, with which
    /// threads mostly wait for each other: every round of such a loop is one more atomic that the
    /// race checks remember.
    pub fn lose_patience(&mut self, apart: bool) {
        let patience = &mut self.patience[usize::from(apart)];
        *patience = (*patience / 4).max(LEAST_PATIENCE);
    }

    /// Makes those ready that stood back. True where there were such.
    pub fn end_turns(&mut self) -> bool {
        let mut any = false;
        for other in self.others.iter_mut().filter(|other| other.wait == Wait::Turn) {
            (other.wait, any) = (Wait::Ready, true);
        }
        any
    }

    /// Whether any lanes may be able to go on: not all wait at barriers of the block.
    pub fn is_ready(&self) -> bool {
        self.active != 0 || self.others.iter().any(|other| !matches!(other.wait, Wait::Barrier(_)))
    }
}
