//! Shuffles: `shfl`.

use super::{WORD, groups, mask, masks};
use crate::exec::lane::write;
use crate::exec::{Env, Exec, Flow, LANES, Place, Step, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Operand};

/// Shuffles.
pub const TABLE: Table = &[("shfl", shuffle)];

const UP: u8 = 0;
const DOWN: u8 = 1;
const BUTTERFLY: u8 = 2;
const INDEX: u8 = 3;

/// Indices of a step's sources.
const VALUE: usize = 0;
/// See [`VALUE`].
const BY: usize = 1;
/// See [`VALUE`].
const BOUND: usize = 2;
/// See [`VALUE`].
const MEMBERS: usize = 3;

fn shuffle(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let sync = modifiers.take("sync");
    let (fast, base) = match modifiers.take_any(&["up", "down", "bfly", "idx"]) {
        Some("up") => (fast::<UP> as Exec, base::<UP> as Exec),
        Some("down") => (fast::<DOWN> as Exec, base::<DOWN> as Exec),
        Some("bfly") => (fast::<BUTTERFLY> as Exec, base::<BUTTERFLY> as Exec),
        Some(_) => (fast::<INDEX> as Exec, base::<INDEX> as Exec),
        None => return Err("it has no mode".into()),
    };
    if !modifiers.take("b32") {
        return Err("it supports only values of type b32".into());
    }
    modifiers.finish()?;
    let [to, value, by, bound, rest @ ..] = inst.operands.as_slice() else {
        return Err("it needs four operands".into());
    };
    let mut step = lower.step(lower.choose(fast, base));
    match to {
        Operand::Pair(value, predicate) => {
            if let Some(id) = value {
                step.dst = lower.destination(&Operand::Register(*id), WORD)?;
            }
            if let Some(id) = predicate {
                step.also = lower.predicate(&Operand::Register(*id))?;
            }
        }
        to => step.dst = lower.destination(to, WORD)?,
    }
    step.src =
        [lower.source(value, WORD)?, lower.source(by, WORD)?, lower.source(bound, WORD)?, mask(lower, rest, sync)?];
    lower.push(step);
    Ok(())
}

#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn fast<const MODE: u8>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    run::<MODE>(warp, step, env)
}

fn base<const MODE: u8>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    run::<MODE>(warp, step, env)
}

#[inline(always)]
fn run<const MODE: u8>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let groups = match groups(warp, env, &masks(warp, env.program, step.src[MEMBERS])) {
        Ok(groups) => groups,
        Err(flow) => return flow,
    };
    let [values, by, bounds] = [VALUE, BY, BOUND].map(|at| masks(warp, env.program, step.src[at]));
    let mut from = [0; LANES];
    let mut valid = 0;
    for lane in 0..LANES {
        let (source, inside) = source::<MODE>(lane as i32, by[lane], bounds[lane]);
        from[lane] = if inside { source } else { lane as i32 };
        valid |= u32::from(inside) << lane;
    }
    // The value from a lane that does not take part is undefined in PTX; it is zero here, whatever
    // that lane's register holds.
    let mut result = [0; LANES];
    for group in groups {
        for lane in 0..LANES {
            let source = from[lane] as usize & 31;
            let taken = group.lanes >> lane & group.members >> source & 1;
            result[lane] |= values[source] & taken.wrapping_neg();
        }
    }
    if step.dst != Place::NONE {
        // SAFETY: lowering checked that the register has 32 bits.
        unsafe { write(warp, step.dst, &result) };
    }
    if step.also != Place::NONE {
        warp.set_predicate(step.also, valid);
    }
    Flow::Next
}

/// Returns the lane that a lane reads from, and whether it is in range.
#[inline(always)]
fn source<const MODE: u8>(lane: i32, by: u32, bound: u32) -> (i32, bool) {
    let by = (by & 31) as i32;
    let clamp = (bound & 31) as i32;
    let segment = (bound >> 8 & 31) as i32;
    let most = lane & segment | clamp & !segment;
    let least = lane & segment;
    match MODE {
        UP => (lane - by, lane - by >= most),
        DOWN => (lane + by, lane + by <= most),
        BUTTERFLY => (lane ^ by, lane ^ by <= most),
        _ => (least | by & !segment, least | by & !segment <= most),
    }
}
