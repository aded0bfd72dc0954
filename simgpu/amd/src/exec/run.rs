//! Running a wave until it ends, waits, or has had its turn.

use super::program::Flow;
use super::wave::{Env, Wave};

/// Times a wave goes back in its code before other waves of its group get a turn. They may be what
/// it waits for.
const TURNS: u32 = 100_000;

/// Runs a wave until something other than its next step is to be done, and counts the steps.
pub fn run(wave: &mut Wave, env: &mut Env<'_>, executed: &mut u64) -> Flow {
    let steps = &env.program.steps;
    let mut turns = TURNS;
    loop {
        // Every jump goes to a step, and the last step does not fall through.
        let Some(step) = steps.get(wave.next) else { return Flow::Fault };
        wave.next += 1;
        *executed += 1;
        // SAFETY: the program was lowered for this processor, and the environment is the program's.
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
