//! Two instructions in one (VOPD, GFX11): both read their sources before either writes.
//!
//! They run one after the other. The first to run is one whose destination the other does not read.
//! If each reads the other's destination, the old value is saved first.

use super::lower::Lower;
use super::program::{Flow, Source, Step, Unsupported};
use super::wave::{Env, Wave};
use crate::isa::Inst;

/// The row in which a destination's old value is saved. GFX11 does not use this row, because it has
/// no accumulation registers.
const ASIDE: u16 = 511;

impl Lower {
    /// Returns the step of both halves.
    ///
    /// # Errors
    /// The errors of either half.
    pub fn dual(&mut self, inst: &Inst, other: &Inst) -> Result<Step, Unsupported> {
        let (x, mut y) = (self.half(inst)?, self.half(other)?);
        // Operands that a step does not have count as row 0, which at worst saves a value
        // unnecessarily.
        let reads = |step: &Step, row: u16| step.rows.contains(&Source::Row(row));
        let x_reads_y = reads(&x, y.dst);
        let y_reads_x = reads(&y, x.dst);
        let mut step = self.step(run);
        let pair = match (x_reads_y, y_reads_x) {
            (_, false) => [x, y],
            (false, true) => [y, x],
            (true, true) => {
                y.rows.iter_mut().filter(|row| **row == Source::Row(x.dst)).for_each(|row| *row = Source::Row(ASIDE));
                step.exec = run_aside;
                [x, y]
            }
        };
        step.target = self.pair(pair);
        Ok(step)
    }
}

fn run(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    let pair = &env.program.pairs[step.target as usize];
    for half in pair {
        // SAFETY: both halves were lowered with the step, for the same wave, processor and program.
        unsafe { (half.exec)(wave, half, env) };
    }
    Flow::Next
}

fn run_aside(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    let [x, _] = &env.program.pairs[step.target as usize];
    wave.v[usize::from(ASIDE)] = wave.v[usize::from(x.dst)];
    run(wave, step, env)
}
