//! Logic on registers and predicates; operations on predicates process all lanes at once.

use crate::exec::emit::{PREDICATE, op, sources, typed};
use crate::exec::{Env, Flow, Step, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Type};

const AND: u32 = 0;
const OR: u32 = 1;
const XOR: u32 = 2;

fn of_predicates<const OP: u32>(warp: &mut Warp, step: &Step, _: &mut Env<'_>) -> Flow {
    let (a, b) = (warp.predicate(step.src[0]), warp.predicate(step.src[1]));
    let bits = match OP {
        AND => a & b,
        OR => a | b,
        _ => a ^ b,
    };
    warp.set_predicate(step.dst, bits);
    Flow::Next
}

fn take_type(inst: &Instruction) -> Result<Type, String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    Ok(ty)
}

fn logic<const OP: u32>(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let ty = take_type(inst)?;
    if ty == PREDICATE {
        let [dst, operands @ ..] = inst.operands.as_slice() else { return Err("it has no operands".into()) };
        let mut step = low.step(of_predicates::<OP>);
        step.dst = low.written_predicate(dst)?;
        step.src = sources(low, operands, &[PREDICATE; 2])?;
        low.push(step);
        return Ok(());
    }
    match OP {
        AND => typed!(ty, T: b16 b32 b64 => op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T { a & b })),
        OR => typed!(ty, T: b16 b32 b64 => op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T { a | b })),
        _ => typed!(ty, T: b16 b32 b64 => op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T { a ^ b })),
    }
}

fn not(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let ty = take_type(inst)?;
    if ty == PREDICATE {
        let [dst, source] = inst.operands.as_slice() else { return Err("it has one source".into()) };
        let (dst, source) = (low.written_predicate(dst)?, low.predicate(source)?.negated());
        super::moves::predicate(low, dst, source);
        return Ok(());
    }
    typed!(ty, T: b16 b32 b64 => op!(low, inst, ty, [ty], |a: T| -> T { !a }))
}

fn cnot(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let ty = take_type(inst)?;
    typed!(ty, T: b16 b32 b64 => op!(low, inst, ty, [ty], |a: T| -> T { (a == 0).into() }))
}

/// Logic instructions.
pub const TABLE: Table =
    &[("and", logic::<AND>), ("or", logic::<OR>), ("xor", logic::<XOR>), ("not", not), ("cnot", cnot)];
