//! Runs a wave until it ends, waits, or has used up its turn.

use super::program::Flow;
use super::wave::{Env, Wave};

/// The number of backward jumps of a wave before other waves of its group get a turn, because the
/// wave may be waiting for them.
const TURNS: u32 = 100_000;

/// Runs a wave until it must stop or yield, and counts the steps.
pub fn run(wave: &mut Wave, env: &mut Env<'_>, executed: &mut u64) -> Flow {
    // Lanes go around a barrier only in a turn after the one that ended there.
    if env.watched || env.coverage.is_some() || !wave.partial.is_empty() {
        steps::<true>(wave, env, executed)
    } else {
        steps::<false>(wave, env, executed)
    }
}

/// Runs steps until the turn ends. With `OBSERVED`, [`observed`](super::observed) looks at each.
fn steps<const OBSERVED: bool>(wave: &mut Wave, env: &mut Env<'_>, executed: &mut u64) -> Flow {
    let steps = &env.program.steps;
    let mut turns = TURNS.min(env.patience);
    loop {
        // Every jump goes to a step, and the last step never continues to the next.
        let Some(step) = steps.get(wave.next) else { return Flow::Fault };
        if OBSERVED {
            wave.observe(step, env);
        }
        wave.next += 1;
        *executed += 1;
        // SAFETY: the program was lowered for this processor, and the environment contains that
        // program.
        match unsafe { (step.exec)(wave, step, env) } {
            Flow::Next => {}
            Flow::Back => {
                turns -= 1;
                if turns == 0 {
                    return Flow::Yield;
                }
            }
            other => return other,
        }
    }
}
