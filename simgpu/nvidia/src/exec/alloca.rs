//! Instructions that allocate and free memory on the stacks of a warp's threads.

use super::lane::{row, write};
use super::memory::lanes_in;
use super::program::{Exec, Flow, Place, Program, Step};
use super::row::LANES;
use super::stack::ALIGN;
use super::warp::{Env, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Operand};
use isobit_simgpu_core::finding::{Fault, FaultKind};

/// Allocates memory on the stack. The first source is the size; `extra` is the alignment.
fn allocate(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let sizes = operand(warp, env.program, step.src[0], step.src[1] != Place::NONE);
    let mut found = [0; LANES];
    for lane in lanes_in(warp.active) {
        let size = u32::try_from(sizes[lane]).unwrap_or(u32::MAX);
        let gap = warp.top(lane).next_multiple_of(step.extra) - warp.top(lane);
        let bytes = size.saturating_add(gap);
        let counted = bytes.saturating_add(ALIGN - 1) & !(ALIGN - 1);
        match warp.raise(lane, bytes, counted, "alloca") {
            Ok(top) => found[lane] = u64::from(top + gap),
            Err(why) => {
                warp.active = 1 << lane;
                env.fault = Some(Fault::of(FaultKind::Stack, why));
                return Flow::Fault;
            }
        }
    }
    result(warp, step, &found);
    Flow::Next
}

/// Reads the top of the stack.
fn save(warp: &mut Warp, step: &Step, _: &mut Env<'_>) -> Flow {
    let tops = std::array::from_fn(|lane| warp.top(lane).into());
    result(warp, step, &tops);
    Flow::Next
}

/// Frees what was allocated since the top was at the source.
fn restore(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let tops = operand(warp, env.program, step.src[0], step.src[1] != Place::NONE);
    for lane in lanes_in(warp.active) {
        let in_function = warp.stack.depth(lane) > 0;
        let lowest = if in_function { warp.rows[env.program.calls.frame.index()].0[lane] } else { warp.private.own() };
        let old = warp.top(lane);
        let new = u32::try_from(tops[lane]).ok().filter(|top| (lowest..=old).contains(top) && top % ALIGN == 0);
        let Some(new) = new else {
            warp.active = 1 << lane;
            let why =
                format!("stackrestore to {:#x}, but the function's stack is from {lowest:#x} to {old:#x}", tops[lane]);
            env.fault = Some(Fault::of(FaultKind::Stack, why));
            return Flow::Fault;
        };
        warp.free(lane, new);
    }
    Flow::Next
}

/// Reads a source of 64 or 32 bits.
fn operand(warp: &Warp, program: &Program, place: Place, narrow: bool) -> [u64; LANES] {
    // SAFETY: lowering gave the step a source of this width.
    unsafe {
        let row = row(warp, program, place);
        if narrow { (*row.cast::<[u32; LANES]>()).map(u64::from) } else { *row.cast() }
    }
}

/// Writes a result of 64 or 32 bits.
fn result(warp: &mut Warp, step: &Step, values: &[u64; LANES]) {
    // SAFETY: lowering gave the step a destination of this width.
    unsafe {
        if step.src[1] != Place::NONE {
            write(warp, step.dst, &values.map(|value| value as u32));
        } else {
            write(warp, step.dst, values);
        }
    }
}

/// Instructions for the stack.
pub const TABLE: Table = &[
    ("alloca", |lower, inst| lowered(lower, inst, allocate)),
    ("stacksave", |lower, inst| lowered(lower, inst, save)),
    ("stackrestore", |lower, inst| lowered(lower, inst, restore)),
];

fn lowered(lower: &mut Lower<'_>, inst: &Instruction, exec: Exec) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    if ty.kind != Kind::Unsigned || !matches!(ty.bits, 32 | 64) {
        return Err(format!("a stack has no addresses of type {ty:?}"));
    }
    let mut step = lower.step(exec);
    match (inst.opcode.as_str(), inst.operands.as_slice()) {
        ("alloca", [to, size, align @ ..]) => {
            step.extra = match align {
                // clang writes 0 for the default.
                [] | [Operand::Integer(0)] => 8,
                [Operand::Integer(align)] if align.is_power_of_two() && *align <= 1 << 16 => *align as u32,
                _ => return Err("its alignment is not a constant power of two".into()),
            };
            (step.dst, step.src[0]) = (lower.destination(to, ty)?, lower.source(size, ty)?);
        }
        ("stacksave", [to]) => step.dst = lower.destination(to, ty)?,
        ("stackrestore", [from]) => step.src[0] = lower.source(from, ty)?,
        (_, operands) => return Err(format!("it does not accept {} operands", operands.len())),
    }
    if ty.bits == 32 {
        // It says that the step has 32 bits.
        step.src[1] = lower.constant(0, 32);
    }
    lower.program.calls.stack = true;
    lower.push(step);
    Ok(())
}
