//! Looks at each step that a warp is about to run, in the rare turns that need it: watched turns
//! (see [`Env::watched`]), turns of lanes while others of their warp wait at a barrier, and all
//! turns if what runs is recorded.
//!
//! CUDA's `__syncthreads` waits for all threads of the block that have not exited. So a thread may
//! return before a barrier, but it must not go around the barrier. It does so if it accesses memory
//! behind the barrier, which is in code that every thread runs that passes the barrier. What a
//! thread does on its way to an early return is not.

use super::program::{Place, Program, Step};
use super::warp::{Barrier, Env, SITE_CACHES, Wait, Warp};
use isobit_simgpu_core::check::SiteCache;

impl Warp {
    /// Looks at the step that the active lanes are about to run.
    #[inline(never)]
    pub fn observe(&mut self, step: &Step, env: &mut Env<'_>) {
        if env.watched {
            // What a watched turn does is noticed where an access misses its cache.
            env.caches[self.pc % SITE_CACHES] = SiteCache::default();
        }
        let on = if step.guard == Place::NONE { self.active } else { self.active & self.predicate(step.guard) };
        if on == 0 {
            return;
        }
        if let Some(marks) = env.coverage {
            marks.ran(self.pc);
        }
        if env.program.accesses[self.pc] {
            self.look_behind(on, env);
        }
    }

    /// Reports lanes that are behind a barrier at which others of the warp wait.
    fn look_behind(&mut self, lanes: u32, env: &Env<'_>) {
        let place = self.place(env);
        for other in &mut self.others {
            if let Wait::Barrier(Barrier { aligned: true, .. }) = other.wait
                && !other.told
                && env.program.is_behind(other.pc - 1, self.pc)
            {
                env.launch.went_around_barrier(&place, other.pc as u32 - 1, lanes.into(), env.describe);
                // Once is enough.
                other.told = true;
            }
        }
    }
}

impl Program {
    /// Whether every thread that passes step `from` comes to the block of step `at` before it ends.
    fn is_behind(&self, from: usize, at: usize) -> bool {
        let (start, goal) = (self.block_of(from), self.block_of(at));
        if start == goal {
            return false;
        }
        let mut seen = vec![false; self.blocks.len()];
        seen[goal] = true;
        let (mut left, mut reached) = (vec![start], false);
        while let Some(block) = left.pop() {
            for &next in &self.blocks[block].next {
                reached |= next as usize == goal;
                if !std::mem::replace(&mut seen[next as usize], true) {
                    left.push(next as usize);
                }
            }
        }
        // A block without a successor is the end of its threads.
        let ends = seen.iter().zip(&self.blocks).any(|(seen, block)| *seen && block.next.is_empty());
        reached && !ends
    }
}
