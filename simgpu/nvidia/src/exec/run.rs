//! Runs a warp until it ends, waits, or its turn is over.

use super::control;
use super::program::{Flow, Place, Step};
use super::warp::{Env, Wait, Warp};

/// The reason why a warp pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// Others get a turn.
    Turn,
    /// The running lanes have come to the barrier that [`Warp::barrier`] describes; the caller must
    /// park them there.
    Barrier,
    /// All live lanes wait at barriers, or for lanes that do. There may be no live lanes.
    Waiting,
    /// The lanes of the warp wait for each other, for ever.
    Stuck,
    /// The warp cannot continue; [`Env::fault`] holds the reason.
    Fault,
}

/// The progress of a warp's turn.
struct Turn {
    /// Steps executed.
    executed: u64,
    /// Backward jumps of all lanes together.
    together: u32,
    /// Backward jumps of some lanes while others are elsewhere.
    apart: u32,
    /// The number of consecutive steps that could not be executed because members were missing, and
    /// when the last one was.
    stuck: usize,
    stuck_at: u64,
}

/// Runs a warp that has lanes that can continue, and counts the steps.
pub fn run(warp: &mut Warp, env: &mut Env<'_>, executed: &mut u64) -> Pause {
    let mut turn = Turn { executed: 0, together: 0, apart: 0, stuck: 0, stuck_at: 0 };
    if warp.active != 0 {
        warp.gather();
    } else if let Some(pause) = turn.next(warp, env) {
        return pause;
    }
    // Lanes are at a barrier only if they were at the start: a barrier ends the turn.
    let observed =
        env.watched || env.coverage.is_some() || warp.others.iter().any(|other| matches!(other.wait, Wait::Barrier(_)));
    let pause = if observed { turn.steps::<true>(warp, env) } else { turn.steps::<false>(warp, env) };
    *executed += turn.executed;
    pause
}

impl Turn {
    /// Runs steps until the turn ends. With `OBSERVED`, [`observed`](super::observed) looks at
    /// each.
    fn steps<const OBSERVED: bool>(&mut self, warp: &mut Warp, env: &mut Env<'_>) -> Pause {
        let steps = &env.program.steps[..];
        loop {
            if warp.pc >= warp.limit {
                warp.meet();
            }
            // Cannot happen: every jump goes to a step, and the last step does not fall through.
            let Some(step) = steps.get(warp.pc) else {
                env.fault = Some("it left its code".into());
                return Pause::Fault;
            };
            if OBSERVED {
                warp.observe(step, env);
            }
            warp.pc += 1;
            self.executed += 1;
            let flow = if step.guard == Place::NONE {
                // SAFETY: the program was lowered for this processor, and the environment and the
                // warp's registers belong to the program.
                unsafe { (step.exec)(warp, step, env) }
            } else {
                guarded(warp, step, env)
            };
            if flow != Flow::Next
                && let Some(pause) = self.after(warp, env, flow)
            {
                return pause;
            }
        }
    }

    /// Handles a step after which the running lanes do not simply continue.
    fn after(&mut self, warp: &mut Warp, env: &mut Env<'_>, flow: Flow) -> Option<Pause> {
        match flow {
            Flow::Next => None,
            Flow::Back if warp.others.is_empty() => {
                self.apart = 0;
                self.together += 1;
                if self.together < warp.patience[0].min(env.patience) {
                    return None;
                }
                if env.program.atomics {
                    warp.lose_patience(false);
                }
                Some(Pause::Turn)
            }
            Flow::Back => {
                self.apart += 1;
                if self.apart < warp.patience[1].min(env.patience) {
                    warp.gather();
                    return None;
                }
                if env.program.atomics {
                    warp.lose_patience(true);
                }
                self.pass_on(warp, env)
            }
            Flow::Yield if warp.others.is_empty() => Some(Pause::Turn),
            Flow::Yield => self.pass_on(warp, env),
            Flow::Barrier => Some(Pause::Barrier),
            Flow::Converge => {
                self.stuck = if self.executed == self.stuck_at + 1 { self.stuck + 1 } else { 1 };
                self.stuck_at = self.executed;
                warp.park(warp.pc - 1, Wait::Members);
                self.next(warp, env)
            }
            Flow::Exit => {
                warp.live &= !warp.active;
                warp.active = 0;
                self.next(warp, env)
            }
            Flow::Fault => Some(Pause::Fault),
        }
    }

    fn pass_on(&mut self, warp: &mut Warp, env: &mut Env<'_>) -> Option<Pause> {
        self.apart = 0;
        if warp.give_turn() { None } else { self.next(warp, env) }
    }

    /// Finds lanes that can continue when none run.
    fn next(&mut self, warp: &mut Warp, env: &mut Env<'_>) -> Option<Pause> {
        if warp.resume() {
            return None;
        }
        if warp.end_turns() {
            return Some(Pause::Turn);
        }
        // Lanes that wait for members try again: the missing lanes may have ended or reconverged.
        let members = warp.others.iter().filter(|other| other.wait == Wait::Members).count();
        if members == 0 {
            return Some(Pause::Waiting);
        }
        if self.stuck <= members || control::open_warp_barrier(warp, env.program) {
            if !warp.resume() {
                warp.retry();
            }
            return None;
        }
        if members < warp.others.len() {
            return Some(Pause::Waiting);
        }
        Some(Pause::Stuck)
    }
}

/// Executes a step under a predicate: the lanes whose predicate is false continue after the step.
#[inline(always)]
fn guarded(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let all = warp.active;
    let on = all & warp.predicate(step.guard);
    if on == 0 {
        return Flow::Next;
    }
    warp.active = on;
    // SAFETY: as for steps without a predicate.
    let flow = unsafe { (step.exec)(warp, step, env) };
    if flow == Flow::Next {
        warp.active = all;
    } else if on != all {
        warp.fork(warp.pc, all & !on);
    }
    flow
}
