//! Instructions on one lane, and the swap of two registers.

use super::{read, scalar, vector};
use crate::exec::lower::{Lowering, modifier};
use crate::exec::program::{Flow, Step};
use crate::exec::source;
use crate::exec::wave::{Env, Wave};
use crate::isa::Operand;

/// Reads any lane's register, active or not; the lane number is taken modulo the wave.
fn readlane(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    let lane = source::word(wave, env, step.scalars[0]) as usize % wave.width;
    let word = read(wave, step, env, 0).0[lane];
    wave.set_word(step.sdst, word);
    Flow::Next
}

/// Reads the first active lane, or lane 0 if no lane is active.
fn readfirstlane(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    let lane = wave.exec().trailing_zeros() as usize;
    let word = read(wave, step, env, 0).0[if lane < wave.width { lane } else { 0 }];
    wave.set_word(step.sdst, word);
    Flow::Next
}

/// Writes one lane, active or not.
fn writelane(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    let word = source::word(wave, env, step.scalars[0]);
    let lane = source::word(wave, env, step.scalars[1]) as usize % wave.width;
    wave.v[usize::from(step.dst) & 511].0[lane] = word;
    Flow::Next
}

/// Swaps the destination and the source in active lanes; `target` is the source's row.
fn swap(wave: &mut Wave, step: &Step, _: &mut Env<'_>) -> Flow {
    let (to, from) = (usize::from(step.dst), step.target as usize);
    for lane in 0..wave.width {
        if wave.active.0[lane] != 0 {
            let word = wave.v[to].0[lane];
            wave.v[to].0[lane] = std::mem::replace(&mut wave.v[from].0[lane], word);
        }
    }
    Flow::Next
}

/// The single-lane instructions.
pub const TABLE: &[(&str, Lowering)] = &[
    ("v_readlane_b32", |lower, inst| scalar(lower, inst, readlane, 1, 1)),
    ("v_readfirstlane_b32", |lower, inst| scalar(lower, inst, readfirstlane, 1, 0)),
    ("v_writelane_b32", |lower, inst| vector(lower, inst, writelane, 0, 2)),
    ("v_swap_b32", |lower, inst| {
        let mut step = vector(lower, inst, swap, 0, 0)?;
        match inst.src[0] {
            Operand::Vgpr(register) => step.target = lower.row(register).into(),
            _ => return Err(modifier(inst, "a source that is not a vector register")),
        }
        Ok(step)
    }),
];
