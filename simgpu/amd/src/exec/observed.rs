//! Looks at each step that a wave is about to run, in the rare turns that need it: watched turns
//! (see [`Env::watched`]), turns of a wave of which only some lanes were at a barrier, and all
//! turns if what runs is recorded.
//!
//! The barrier of the hardware counts waves, and EXEC does not tell whether an absent lane has
//! returned or goes around the barrier in a branch: both are only masked. The rule is that of
//! CUDA's `__syncthreads`, which HIP takes over: a thread may return before a barrier, but must not
//! go around it. A lane that has returned runs nothing any more. It may be in EXEC again between
//! the end of a branch and the end of the wave, but then accesses no memory. So an absent lane goes
//! around the barrier if it comes to another barrier, or if it accesses memory together with all
//! lanes that were at the barrier: the branches have then met again behind it. An absent lane that
//! accesses memory without them may be on its way to an early return, which the compiler has placed
//! behind the barrier.

use super::marks::memory;
use super::memory::buffer::is_private;
use super::program::Step;
use super::wave::{Env, SITE_CACHES, Wave};
use crate::isa::Inst;
use isobit_simgpu_core::check::{Place, SiteCache};

/// Number of barriers that a wave remembers. The first ones are enough: lanes that meet again
/// behind a loop also do so for the first barrier in it.
const REMEMBERED: usize = 8;

/// A barrier at which some lanes of the wave were, and others were not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partial {
    /// The barrier's step, and the place of the wave when it came there.
    site: u32,
    who: Place,
    there: u64,
    absent: u64,
}

impl Wave {
    /// Looks at the step that the wave is about to run.
    #[inline(never)]
    pub fn observe(&mut self, step: &Step, env: &mut Env<'_>) {
        if env.watched {
            env.caches[self.next % SITE_CACHES] = SiteCache::default();
        }
        let exec = self.exec() & self.live;
        if let Some(marks) = env.coverage {
            // A vector instruction without an active lane does nothing, unless it is one on
            // matrices.
            let ignores_exec =
                |inst: &Inst| ["s_", "v_mfma_", "v_wmma_"].iter().any(|kind| inst.name.starts_with(kind));
            if exec != 0 || env.program.insts.get(step.inst as usize).is_some_and(ignores_exec) {
                marks.ran(self.next);
            }
        }
        let behind = |partial: &Partial| exec & partial.absent != 0 && partial.there & !exec == 0;
        if self.partial.iter().any(behind) && accesses(self, step, env.program.inst(step)) {
            self.tell(exec, behind, env);
        }
    }

    /// Records that the wave has come to the barrier before its next step.
    pub fn at_barrier(&mut self, env: &Env<'_>) {
        let there = self.exec() & self.live;
        let absent = self.live & !there;
        if there == 0 {
            return;
        }
        self.tell(there, |partial| there & partial.absent != 0, env);
        if absent != 0 && self.partial.len() < REMEMBERED {
            self.partial.push(Partial { site: self.next as u32 - 1, who: self.place(env), there, absent });
        }
    }

    /// Reports lanes that went around the barriers for which `around` holds, and forgets these
    /// barriers.
    fn tell(&mut self, lanes: u64, around: impl Fn(&Partial) -> bool, env: &Env<'_>) {
        for partial in self.partial.extract_if(.., |partial| around(partial)) {
            let lanes = lanes & partial.absent;
            env.launch.went_around_barrier(&partial.who, partial.site, lanes, env.describe);
        }
    }
}

/// Whether the lanes of an instruction access memory that threads share. Loads to scalar registers
/// are those of the whole wave.
fn accesses(wave: &Wave, step: &Step, inst: &Inst) -> bool {
    match memory(inst) {
        Some(("buffer", _)) => !is_private(wave, step),
        Some((space, _)) => matches!(space, "global" | "flat" | "ds"),
        None => false,
    }
}
