//! Instructions about the lanes of a warp: the active lanes (`activemask`), one elected lane
//! (`elect`), and `pmevent`, which has no effect.

use super::vote::set;
use super::{Group, WORD, groups, mask, masks};
use crate::exec::lane::write;
use crate::exec::{Env, Flow, LANES, Place, Step, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Operand};

/// Instructions about warps.
pub const TABLE: Table = &[("activemask", active), ("elect", elect), ("pmevent", event)];

fn active(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    fn run(warp: &mut Warp, step: &Step, _: &mut Env<'_>) -> Flow {
        let lanes = [warp.active; LANES];
        // SAFETY: lowering checked that the register has 32 bits.
        unsafe { write(warp, step.dst, &lanes) };
        Flow::Next
    }
    let mut modifiers = Modifiers::of(inst);
    if !modifiers.take("b32") {
        return Err("its type must be b32".into());
    }
    modifiers.finish()?;
    let [to] = inst.operands.as_slice() else { return Err("it needs one operand".into()) };
    let step = Step { dst: lower.destination(to, WORD)?, ..lower.step(run) };
    lower.push(step);
    Ok(())
}

fn elect(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    /// Elects the lowest lane of each group.
    fn run(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
        let (mut leaders, mut elected) = ([0; LANES], 0);
        match groups(warp, env, &masks(warp, env.program, step.src[0])) {
            Ok(groups) => groups.for_each(|Group { lanes, members }| {
                set(&mut leaders, lanes, members.trailing_zeros());
                elected |= members & members.wrapping_neg();
            }),
            Err(flow) => return flow,
        }
        if step.dst != Place::NONE {
            // SAFETY: lowering checked that the register has 32 bits.
            unsafe { write(warp, step.dst, &leaders) };
        }
        if step.also != Place::NONE {
            warp.set_predicate(step.also, elected);
        }
        Flow::Next
    }
    let mut modifiers = Modifiers::of(inst);
    if !modifiers.take("sync") {
        return Err("it has no .sync".into());
    }
    modifiers.finish()?;
    let [Operand::Pair(leader, elected), rest @ ..] = inst.operands.as_slice() else {
        return Err("it needs two results".into());
    };
    let mut step = lower.step(run);
    if let Some(id) = leader {
        step.dst = lower.destination(&Operand::Register(*id), WORD)?;
    }
    if let Some(id) = elected {
        step.also = lower.predicate(&Operand::Register(*id))?;
    }
    step.src[0] = mask(lower, rest, true)?;
    lower.push(step);
    Ok(())
}

fn event(_: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    modifiers.take("mask");
    modifiers.finish()?;
    match inst.operands.as_slice() {
        [Operand::Integer(0..=0xffff)] => Ok(()),
        _ => Err("it needs a constant".into()),
    }
}
