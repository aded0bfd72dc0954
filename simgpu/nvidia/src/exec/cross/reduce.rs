//! Reductions over lanes: `redux`.

use super::vote::set;
use super::{Group, groups, mask, masks};
use crate::exec::lane::write;
use crate::exec::{Env, Flow, LANES, Step, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind};
use isobit_simgpu_core::check::lanes_of;

/// Reductions.
pub const TABLE: Table = &[("redux", lower)];

/// Operation, type and function.
type Row = (&'static str, Kind, fn(u32, u32) -> u32);

/// The functions, by [`Step::extra`].
const OPERATIONS: [Row; 9] = [
    ("add", Kind::Unsigned, u32::wrapping_add),
    ("add", Kind::Signed, u32::wrapping_add),
    ("min", Kind::Unsigned, |a, b| a.min(b)),
    ("min", Kind::Signed, |a, b| (a as i32).min(b as i32) as u32),
    ("max", Kind::Unsigned, |a, b| a.max(b)),
    ("max", Kind::Signed, |a, b| (a as i32).max(b as i32) as u32),
    ("and", Kind::Bits, |a, b| a & b),
    ("or", Kind::Bits, |a, b| a | b),
    ("xor", Kind::Bits, |a, b| a ^ b),
];

/// Indices of a step's sources.
const VALUE: usize = 0;
/// See [`VALUE`].
const MEMBERS: usize = 1;

fn lower(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    if !modifiers.take("sync") {
        return Err("it has no .sync".into());
    }
    let operation = modifiers.take_any(&["add", "min", "max", "and", "or", "xor"]).ok_or("it has no operation")?;
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    let of = |row: &Row| row.0 == operation && row.1 == ty.kind && ty.bits == 32;
    let at = OPERATIONS.iter().position(of);
    let at = at.ok_or_else(|| format!("reduction .{operation} does not support {ty:?}"))?;
    let [to, value, rest @ ..] = inst.operands.as_slice() else { return Err("it needs three operands".into()) };
    let mut step = lower.step(run);
    step.dst = lower.destination(to, ty)?;
    step.src[VALUE] = lower.source(value, ty)?;
    step.src[MEMBERS] = mask(lower, rest, true)?;
    step.extra = at as u32;
    lower.push(step);
    Ok(())
}

fn run(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let values = masks(warp, env.program, step.src[VALUE]);
    let operation = OPERATIONS[step.extra as usize].2;
    let mut result = [0; LANES];
    match groups(warp, env, &masks(warp, env.program, step.src[MEMBERS])) {
        Ok(groups) => groups.for_each(|Group { lanes, members }| {
            let all = lanes_of(members.into()).map(|lane| values[lane as usize & 31]);
            set(&mut result, lanes, all.reduce(operation).unwrap_or(0));
        }),
        Err(flow) => return flow,
    }
    // SAFETY: lowering checked that the register has 32 bits.
    unsafe { write(warp, step.dst, &result) };
    Flow::Next
}
