//! Cache hints: prefetches, priorities, policies. The simulated card has no caches, so they have no
//! effect. (A `discard` makes bytes undefined; here they keep their values.)

use super::address::{address, take_space};
use super::load_store::expect_operands;
use crate::exec::lane::write;
use crate::exec::{Env, Flow, LANES, Step, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Space, Type};

/// Cache control instructions.
pub const TABLE: Table = &[
    ("prefetch", |lower, inst| hint(lower, inst, &["L1", "L2", "L2::evict_last", "L2::evict_normal"], 1)),
    ("prefetchu", |lower, inst| hint(lower, inst, &["L1"], 1)),
    ("applypriority", |lower, inst| hint(lower, inst, &["L2::evict_normal"], 2)),
    ("discard", |lower, inst| hint(lower, inst, &["L2"], 2)),
    ("createpolicy", policy),
];

/// Lowers a hint with an address and, if there are two operands, a number of bytes.
fn hint(lower: &mut Lower<'_>, inst: &Instruction, levels: &[&'static str], operands: usize) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let space = take_space(&mut modifiers);
    modifiers.take_any(levels).ok_or("it has no cache level")?;
    modifiers.finish()?;
    expect_operands(lower, inst, operands, false)?;
    if !matches!(space, Space::Global | Space::Local | Space::Generic) {
        return Err(format!("it supports global and local memory, but not {space:?}"));
    }
    address(lower, &inst.operands[0], space).map(|_| ())
}

/// A policy is a number that has no meaning here.
fn policy(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let kind = modifiers.take_any(&["fractional", "range", "cvt"]).ok_or("it has no kind of policy")?;
    take_space(&mut modifiers);
    modifiers.take("L2");
    modifiers.take_any(&["L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"]);
    modifiers.take_any(&["L2::evict_first", "L2::evict_unchanged"]);
    let ty = Type { kind: Kind::Bits, bits: 64 };
    if modifiers.take_type()? != ty {
        return Err("the type of a policy must be b64".into());
    }
    modifiers.finish()?;
    let most = if kind == "range" { 4 } else { 2 };
    if inst.operands.is_empty() || inst.operands.len() > most {
        return Err(format!("it has {} operands", inst.operands.len()));
    }
    let step = Step { dst: lower.destination(&inst.operands[0], ty)?, ..lower.step(nothing) };
    lower.push(step);
    Ok(())
}

fn nothing(warp: &mut Warp, step: &Step, _: &mut Env<'_>) -> Flow {
    // SAFETY: lowering checked that the register has 64 bits.
    unsafe { write(warp, step.dst, &[0u64; LANES]) };
    Flow::Next
}
