//! Any logic function of three inputs, given by its truth table.

use crate::exec::emit::{U32, op, ptx};
use crate::exec::lane::row;
use crate::exec::{Env, Flow, LANES, Place, Program, Row, Step, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Operand};

/// Returns the function whose value for the bits `a`, `b`, `c` is bit `4a + 2b + c` of the table.
#[inline(always)]
fn look_up(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let entry = |at: u32| (table >> at & 1).wrapping_neg();
    let of_c = |at: u32| entry(at) & !c | entry(at + 1) & c;
    let of_b = |at: u32| of_c(at) & !b | of_c(at + 2) & b;
    of_b(0) & !a | of_b(4) & a
}

/// The predicate operation, which `extra` holds above the table.
const AND: u32 = 1 << 8;

/// Also writes a predicate: whether the result is not zero, combined with another predicate.
fn tested(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let read = |warp: &Warp, program: &Program, place: Place| -> Row {
        // SAFETY: lowering gave the step three sources of one row.
        unsafe { *row(warp, program, place) }
    };
    let [a, b, c] = std::array::from_fn(|at| read(warp, env.program, step.src[at]));
    let result: [u32; LANES] = std::array::from_fn(|lane| look_up(a.0[lane], b.0[lane], c.0[lane], step.extra));
    let found = result.iter().enumerate().fold(0, |bits, (lane, word)| bits | u32::from(*word != 0) << lane);
    let other = warp.predicate(step.src[3]);
    if step.dst != Place::NONE {
        // SAFETY: lowering gave the step a destination of one row.
        unsafe { crate::exec::lane::write(warp, step.dst, &result) };
    }
    warp.set_predicate(step.also, if step.extra & AND != 0 { found & other } else { found | other });
    Flow::Next
}

fn lop3(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let join = modifiers.take_any(&["and", "or"]);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    if ty != ptx!(b32) {
        return Err(crate::exec::emit::refused(ty));
    }
    match inst.operands.get(4) {
        Some(Operand::Integer(table)) if *table <= 0xff => {}
        other => return Err(format!("the operand {other:?} is not an 8-bit table")),
    }
    let Some(join) = join else {
        return op!(low, inst, ty, [ty, ty, ty, U32], |a: u32, b: u32, c: u32, table: u32| -> u32 {
            look_up(a, b, c, table)
        });
    };
    let [Operand::Pair(dst, Some(test)), a, b, c, Operand::Integer(table), with] = inst.operands.as_slice() else {
        return Err("its operands must be d|p, a, b, c, a table and q".into());
    };
    let mut step = low.step(tested);
    if let Some(dst) = *dst {
        step.dst = low.destination(&Operand::Register(dst), ty)?;
    }
    step.also = low.predicate(&Operand::Register(*test))?;
    step.src = [low.source(a, ty)?, low.source(b, ty)?, low.source(c, ty)?, low.predicate(with)?];
    step.extra = *table as u32 | if join == "and" { AND } else { 0 };
    low.push(step);
    Ok(())
}

/// `lop3`
pub const TABLE: Table = &[("lop3", lop3)];
