//! `setp`, which writes predicates, and `set`, which writes values.

use super::outcome::extra;
use super::test::{Comparison, function};
use crate::exec::emit::{PREDICATE, destination, name, ptx, refused, sources};
use crate::exec::{Place, Step};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Type};

const COMPARISONS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];

/// Builds the step of a comparison of a type, without its destination.
fn comparison(low: &mut Lower<'_>, inst: &Instruction, mut modifiers: Modifiers<'_>, ty: Type) -> Result<Step, String> {
    let which = modifiers.take_any(&COMPARISONS).ok_or("it names no comparison")?;
    let how = modifiers.take_any(&["and", "or", "xor"]);
    let ftz = modifiers.take("ftz");
    modifiers.finish()?;
    let which = Comparison::of(which, ty).ok_or_else(|| format!("there is no .{which} of {}", name(ty)))?;
    let mut step = low.step(function(low, which.test, ty, ftz)?);
    let operands = inst.operands.get(1..).unwrap_or_default();
    step.src = match how {
        Some(_) => sources(low, operands, &[ty, ty, PREDICATE])?,
        None => sources(low, operands, &[ty, ty])?,
    };
    if which.exchanged {
        step.src.swap(0, 1);
    }
    step.extra = match how {
        None => 0,
        Some("and") => extra::AND,
        Some("or") => extra::OR,
        Some(_) => extra::XOR,
    };
    step.extra |= if which.negated { extra::NEGATED } else { 0 };
    Ok(step)
}

fn setp(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    let mut step = comparison(low, inst, modifiers, ty)?;
    (step.dst, step.also) = destination(low, inst.operands.first(), PREDICATE)?;
    low.push(step);
    Ok(())
}

fn set(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (to, from) = (modifiers.take_type()?, modifiers.take_type()?);
    let pair = matches!(from.kind, Kind::HalfPair | Kind::BFloatPair);
    let form = match to {
        ptx!(f16x2) if from == to => extra::PAIR | extra::ONE_F16,
        ptx!(bf16x2) if from == to => extra::PAIR | extra::ONE_BF16,
        ptx!(u32) | ptx!(s32) if pair => extra::PAIR,
        ptx!(u32) | ptx!(s32) => extra::WORD,
        ptx!(u16) | ptx!(s16) if !pair => extra::HALF,
        ptx!(f32) if !pair => extra::WORD | extra::ONE_F32,
        ptx!(f16) if !pair => extra::HALF | extra::ONE_F16,
        ptx!(bf16) if !pair => extra::HALF | extra::ONE_BF16,
        other => return Err(refused(other)),
    };
    let mut step = comparison(low, inst, modifiers, from)?;
    step.extra |= form;
    (step.dst, step.also) = (destination(low, inst.operands.first(), to)?.0, Place::NONE);
    low.push(step);
    Ok(())
}

/// Comparisons.
pub const TABLE: Table = &[("setp", setp), ("set", set)];
