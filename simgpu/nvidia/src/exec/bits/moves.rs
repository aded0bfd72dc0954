//! `mov`: copies of registers, constants, packing and unpacking. Reads of special registers and
//! addresses are elsewhere.

use crate::exec::emit::{PREDICATE, last_type, op, typed};
use crate::exec::lane::{row, write};
use crate::exec::memory::{function, symbol};
use crate::exec::special::special;
use crate::exec::{Env, Flow, LANES, Place, Program, Step, Warp};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Operand, Type};

/// Adds a step that copies a predicate.
pub fn predicate(low: &mut Lower<'_>, dst: Place, source: Place) {
    fn copy(warp: &mut Warp, step: &Step, _: &mut Env<'_>) -> Flow {
        let bits = warp.predicate(step.src[0]);
        warp.set_predicate(step.dst, bits);
        Flow::Next
    }
    let mut step = low.step(copy);
    (step.dst, step.src[0]) = (dst, source);
    low.push(step);
}

fn set_predicate(warp: &mut Warp, step: &Step, _: &mut Env<'_>) -> Flow {
    warp.set_predicate(step.dst, step.extra);
    Flow::Next
}

fn mov_predicate(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let [dst, source] = inst.operands.as_slice() else { return Err("it has one source".into()) };
    let dst = low.written_predicate(dst)?;
    if let Operand::Integer(value) = *source {
        let mut step = low.step(set_predicate);
        (step.dst, step.extra) = (dst, if value != 0 { u32::MAX } else { 0 });
        low.push(step);
        return Ok(());
    }
    let source = low.predicate(source)?;
    predicate(low, dst, source);
    Ok(())
}

/// Returns the element type of a vector that stands for a type.
fn element(ty: Type, count: usize) -> Result<Type, String> {
    let bits = ty.bits / count as u32;
    match (ty.kind, ty.bits, count) {
        (Kind::Bits, 16, 2) | (Kind::Bits, 32 | 64, 2 | 4) => Ok(Type { kind: Kind::Bits, bits }),
        _ => Err(format!("{count} elements do not make a {}", crate::exec::emit::name(ty))),
    }
}

/// Reads a row of a type and widens it.
///
/// # Safety
/// The place has that width in the warp or the program.
unsafe fn read(warp: &Warp, program: &Program, place: Place, bits: u32) -> [u64; LANES] {
    // SAFETY: the caller promises that the place has that width in the warp or the program.
    unsafe {
        let row = row(warp, program, place);
        match bits {
            64 => *row.cast::<[u64; LANES]>(),
            32 => (*row.cast::<[u32; LANES]>()).map(u64::from),
            bits => (*row.cast::<[u16; LANES]>()).map(|word| u64::from(word) & ((1 << bits) - 1)),
        }
    }
}

/// Writes the low bits of double words.
///
/// # Safety
/// The place has that width in the warp.
unsafe fn store(warp: &mut Warp, place: Place, bits: u32, values: &[u64; LANES]) {
    // SAFETY: the caller promises that the place has that width in the warp.
    unsafe {
        match bits {
            64 => write(warp, place, values),
            32 => write(warp, place, &values.map(|value| value as u32)),
            bits => write(warp, place, &values.map(|value| value as u16 & (u16::MAX >> (16 - bits)))),
        }
    }
}

/// `mov.b64 d, {a, b}`; `extra` is the width of an element.
fn pack(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let (mut packed, mut count) = ([0; LANES], 0);
    for place in step.src.into_iter().filter(|place| *place != Place::NONE) {
        // SAFETY: lowering gave the step sources of this width.
        let part = unsafe { read(warp, env.program, place, step.extra) };
        packed.iter_mut().zip(part).for_each(|(packed, part)| *packed |= part << (count * step.extra));
        count += 1;
    }
    // SAFETY: lowering gave the step a destination with the total width of its elements.
    unsafe { store(warp, step.dst, count * step.extra, &packed) };
    Flow::Next
}

/// `mov.b64 {a, b}, d`; `extra` holds the width of an element, and the list of destinations in the
/// bits above.
fn unpack(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let places = &env.program.lists[(step.extra >> 8) as usize];
    let bits = step.extra & 0xff;
    // SAFETY: lowering gave the step a source with the total width of its elements.
    let packed = unsafe { read(warp, env.program, step.src[0], bits * places.len() as u32) };
    for (place, at) in places.iter().zip(0..).filter(|(place, _)| **place != Place::NONE) {
        // SAFETY: lowering gave the step destinations of this width.
        unsafe { store(warp, *place, bits, &packed.map(|value| value >> (at * bits))) };
    }
    Flow::Next
}

/// `mov`
///
/// # Errors
/// Fails if the type or the operands are not supported.
pub fn mov(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    match inst.operands.last() {
        Some(Operand::Special(..)) => return special(low, inst),
        Some(Operand::Symbol(..)) => return symbol(low, inst),
        Some(Operand::Name(_)) => return function(low, inst),
        _ => {}
    }
    let ty = last_type(inst)?;
    let mut modifiers = Modifiers::of(inst);
    modifiers.take_type()?;
    modifiers.finish()?;
    if ty == PREDICATE {
        return mov_predicate(low, inst);
    }
    match inst.operands.as_slice() {
        [dst, Operand::Vector(parts)] => {
            let each = element(ty, parts.len())?;
            let mut step = low.step(pack);
            for (place, part) in step.src.iter_mut().zip(parts) {
                *place = low.source(part, each)?;
            }
            (step.dst, step.extra) = (low.destination(dst, ty)?, each.bits);
            low.push(step);
            Ok(())
        }
        [Operand::Vector(parts), source] => {
            let each = element(ty, parts.len())?;
            let mut places = Vec::with_capacity(parts.len());
            for part in parts {
                places.push(if *part == Operand::Sink { Place::NONE } else { low.destination(part, each)? });
            }
            let mut step = low.step(unpack);
            step.src[0] = low.source(source, ty)?;
            step.extra = (low.program.lists.len() as u32) << 8 | each.bits;
            low.program.lists.push(places);
            low.push(step);
            Ok(())
        }
        _ => typed!(ty, T: b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64 => op!(low, inst, ty, [ty], |a: T| -> T { a })),
    }
}

/// Moves.
pub const TABLE: Table = &[("mov", mov)];
