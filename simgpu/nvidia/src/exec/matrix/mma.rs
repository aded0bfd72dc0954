//! `mma.sync.aligned`: which matrices an instruction multiplies, and where they are.

use super::integer::{A_SIGNED, B_SIGNED, SATURATED};
use super::layout::Shape;
use super::{double, integer};
use crate::exec::Place;
use crate::exec::emit::{name, ptx};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Operand, Type};

/// Returns the registers of a fragment, which is a vector or a single register.
fn fragment(
    low: &mut Lower<'_>,
    operand: &Operand,
    (ty, count): (Type, usize),
    result: bool,
) -> Result<Vec<Place>, String> {
    let parts = match operand {
        Operand::Vector(parts) => parts.as_slice(),
        single => std::slice::from_ref(single),
    };
    if parts.len() != count {
        return Err(format!("a fragment has {} registers, but {count} are expected", parts.len()));
    }
    parts.iter().map(|part| if result { low.destination(part, ty) } else { low.source(part, ty) }).collect()
}

/// Returns whether an element is signed; accepts only types whose sums are exact.
fn element(ty: Type) -> Result<bool, String> {
    match ty {
        ptx!(u8) | ptx!(s8) => Ok(ty.kind == Kind::Signed),
        Type { kind: Kind::Float | Kind::BFloat | Kind::TensorFloat, .. } => {
            Err(format!("mma of {} is not simulated: its rounding is not documented", name(ty)))
        }
        other => Err(format!("mma of {} is not simulated", name(other))),
    }
}

fn mma(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    for wanted in ["sync", "aligned"] {
        if !modifiers.take(wanted) {
            return Err(format!("it needs .{wanted}"));
        }
    }
    let types: Vec<Type> = inst.modifiers.iter().filter_map(|modifier| Type::named(modifier)).collect();
    let [d, a, b, c] = types.as_slice() else { return Err("it needs four types".into()) };
    let doubles = types == [ptx!(f64); 4];
    let signed = if doubles { (false, false) } else { (element(*a)?, element(*b)?) };
    if !doubles && [*d, *c] != [ptx!(s32); 2] {
        return Err("its sum must be .s32".into());
    }
    for _ in 0..4 {
        modifiers.take_type()?;
    }
    let shape_of = if doubles { Shape::of_doubles } else { Shape::of_bytes };
    let named = inst.modifiers.iter().find_map(|modifier| Some((modifier, shape_of(modifier)?)));
    let (named, shape) = named.ok_or("this shape is not simulated")?;
    modifiers.take(named);
    if !modifiers.take("row") || !modifiers.take("col") {
        return Err("its matrices must be .row.col".into());
    }
    let saturated = !doubles && modifiers.take("satfinite");
    modifiers.finish()?;
    let [d, a, b, c] = inst.operands.as_slice() else { return Err("it needs four operands".into()) };
    let register = if doubles { ptx!(f64) } else { ptx!(b32) };
    let mut list = fragment(low, d, (register, shape.c_registers()), true)?;
    list.extend(fragment(low, a, (register, shape.a_registers()), false)?);
    list.extend(fragment(low, b, (register, shape.b_registers()), false)?);
    list.extend(fragment(low, c, (register, shape.c_registers()), false)?);
    let exec = if doubles { double::exec(low, shape) } else { integer::exec(low, shape) };
    let mut step = low.step(exec);
    step.extra = low.program.lists.len() as u32;
    for (flag, set) in [(A_SIGNED, signed.0), (B_SIGNED, signed.1), (SATURATED, saturated)] {
        step.extra |= if set { flag } else { 0 };
    }
    low.program.lists.push(list);
    low.push(step);
    Ok(())
}

/// `mma`
pub const TABLE: Table = &[("mma", mma)];
