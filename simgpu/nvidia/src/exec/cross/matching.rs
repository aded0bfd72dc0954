//! `match`: finds the lanes that have the same value.

use super::vote::set;
use super::{Group, WORD, groups, lanes_with, mask, masks};
use crate::exec::lane::{row, write};
use crate::exec::{Env, Flow, LANES, Place, Step, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Operand};

/// Match instructions.
pub const TABLE: Table = &[("match", lower)];

/// Indices of a step's sources.
const VALUE: usize = 0;
/// See [`VALUE`].
const MEMBERS: usize = 1;

/// Bits of `extra`: all lanes must have the value, and the value has 64 bits.
const ALL: u32 = 1;
/// See [`ALL`].
const WIDE: u32 = 2;

fn lower(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let all = match modifiers.take_any(&["any", "all"]) {
        Some(mode) => mode == "all",
        None => return Err("it has no mode".into()),
    };
    if !modifiers.take("sync") {
        return Err("it has no .sync".into());
    }
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    if ty.kind != Kind::Bits || !matches!(ty.bits, 32 | 64) {
        return Err(format!("it does not support values of type {ty:?}"));
    }
    let [to, value, rest @ ..] = inst.operands.as_slice() else { return Err("it needs three operands".into()) };
    let mut step = lower.step(run);
    match to {
        Operand::Pair(lanes, predicate) if all => {
            if let Some(id) = lanes {
                step.dst = lower.destination(&Operand::Register(*id), WORD)?;
            }
            if let Some(id) = predicate {
                step.also = lower.predicate(&Operand::Register(*id))?;
            }
        }
        to => step.dst = lower.destination(to, WORD)?,
    }
    step.src[VALUE] = lower.source(value, ty)?;
    step.src[MEMBERS] = mask(lower, rest, true)?;
    step.extra = if all { ALL } else { 0 } | if ty.bits == 64 { WIDE } else { 0 };
    lower.push(step);
    Ok(())
}

fn run(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let mut result = [0; LANES];
    let mut same = 0;
    let values = if step.extra & WIDE != 0 {
        // SAFETY: lowering gave the step a 64-bit source.
        unsafe { *row(warp, env.program, step.src[VALUE]).cast::<[u64; LANES]>() }
    } else {
        masks(warp, env.program, step.src[VALUE]).map(u64::from)
    };
    match groups(warp, env, &masks(warp, env.program, step.src[MEMBERS])) {
        Ok(groups) => groups.for_each(|Group { lanes, members }| {
            let mut left = lanes;
            while left != 0 {
                let equal = lanes_with(&values, values[left.trailing_zeros() as usize & 31]) & members;
                if step.extra & ALL == 0 {
                    set(&mut result, equal & lanes, equal);
                } else if equal == members {
                    set(&mut result, lanes, members);
                    same |= lanes;
                }
                left &= !equal;
            }
        }),
        Err(flow) => return flow,
    }
    if step.dst != Place::NONE {
        // SAFETY: lowering checked that the register has 32 bits.
        unsafe { write(warp, step.dst, &result) };
    }
    if step.also != Place::NONE {
        warp.set_predicate(step.also, same);
    }
    Flow::Next
}
