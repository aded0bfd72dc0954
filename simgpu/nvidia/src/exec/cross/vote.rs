//! Votes: `vote`.

use super::{Group, WORD, groups, mask, masks};
use crate::exec::lane::write;
use crate::exec::{Env, Flow, LANES, Step, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::Instruction;

/// Votes.
pub const TABLE: Table = &[("vote", vote)];

const ALL: u32 = 0;
const ANY: u32 = 1;
const UNIFORM: u32 = 2;

/// Indices of a step's sources.
const VOTE: usize = 0;
/// See [`VOTE`].
const MEMBERS: usize = 1;

fn vote(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let sync = modifiers.take("sync");
    let mode = modifiers.take_any(&["all", "any", "uni", "ballot"]).ok_or("it has no mode")?;
    let ty = if mode == "ballot" { "b32" } else { "pred" };
    if !modifiers.take(ty) {
        return Err(format!("its result must have the type {ty}"));
    }
    modifiers.finish()?;
    let [to, from, rest @ ..] = inst.operands.as_slice() else { return Err("it needs two operands".into()) };
    let mut step = match mode {
        "ballot" => {
            let dst = lower.destination(to, WORD)?;
            Step { dst, ..lower.step(ballot) }
        }
        mode => {
            let dst = lower.written_predicate(to)?;
            let extra = match mode {
                "all" => ALL,
                "any" => ANY,
                _ => UNIFORM,
            };
            Step { dst, extra, ..lower.step(agree) }
        }
    };
    step.src[VOTE] = lower.predicate(from)?;
    step.src[MEMBERS] = mask(lower, rest, sync)?;
    lower.push(step);
    Ok(())
}

fn ballot(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let votes = warp.predicate(step.src[VOTE]);
    let mut result = [0; LANES];
    match groups(warp, env, &masks(warp, env.program, step.src[MEMBERS])) {
        Ok(groups) => groups.for_each(|Group { lanes, members }| set(&mut result, lanes, votes & members)),
        Err(flow) => return flow,
    }
    // SAFETY: lowering checked that the register has 32 bits.
    unsafe { write(warp, step.dst, &result) };
    Flow::Next
}

/// Sets the words of the lanes in a mask.
#[inline(always)]
pub(super) fn set(words: &mut [u32; LANES], lanes: u32, value: u32) {
    for (lane, word) in words.iter_mut().enumerate() {
        *word |= value & (lanes >> lane & 1).wrapping_neg();
    }
}

fn agree(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let votes = warp.predicate(step.src[VOTE]);
    let mut result = 0;
    match groups(warp, env, &masks(warp, env.program, step.src[MEMBERS])) {
        Ok(groups) => groups.for_each(|Group { lanes, members }| {
            let yes = votes & members;
            let outcome = match step.extra {
                ALL => yes == members,
                ANY => yes != 0,
                _ => yes == members || yes == 0,
            };
            result |= if outcome { lanes } else { 0 };
        }),
        Err(flow) => return flow,
    }
    warp.set_predicate(step.dst, result);
    Flow::Next
}
