//! `cvt`: conversions between all types.
//!
//! Conversions that kernels use often have specialised functions ([`fast`]) for their types and
//! widths. All others use one function ([`general`]) that decodes numbers and rounds them as the
//! specification ([`spec`]) says.

mod fast;
mod general;
mod pack;
mod spec;

use self::spec::{Scalar, Shape, Spec};

use super::float::Rounding;
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Operand, Type};

/// Returns a type of `cvt`, which supports more types than other instructions, and whether it is a
/// pair.
fn scalar(name: &str) -> Option<(Scalar, bool)> {
    match name {
        "e4m3x2" => return Some((Scalar::E4M3, true)),
        "e5m2x2" => return Some((Scalar::E5M2, true)),
        _ => {}
    }
    let ty = Type::named(name)?;
    let scalar = match (ty.kind, ty.bits) {
        (Kind::Unsigned, 8) => Scalar::U8,
        (Kind::Signed, 8) => Scalar::S8,
        (Kind::Unsigned, 16) => Scalar::U16,
        (Kind::Signed, 16) => Scalar::S16,
        (Kind::Unsigned, 32) => Scalar::U32,
        (Kind::Signed, 32) => Scalar::S32,
        (Kind::Unsigned, 64) => Scalar::U64,
        (Kind::Signed, 64) => Scalar::S64,
        (Kind::Float, 16) | (Kind::HalfPair, _) => Scalar::F16,
        (Kind::BFloat, _) | (Kind::BFloatPair, _) => Scalar::BF16,
        (Kind::Float, 32) => Scalar::F32,
        (Kind::Float, 64) => Scalar::F64,
        (Kind::TensorFloat, _) => Scalar::TF32,
        _ => return None,
    };
    Some((scalar, matches!(ty.kind, Kind::HalfPair | Kind::BFloatPair)))
}

/// Takes a rounding modifier; the boolean says whether it rounds to an integer.
fn take_rounding(modifiers: &mut Modifiers<'_>) -> Option<(Rounding, bool)> {
    Some(match modifiers.take_any(&["rn", "rna", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"])? {
        "rn" => (Rounding::Nearest, false),
        "rna" => (Rounding::Away, false),
        "rz" => (Rounding::Zero, false),
        "rm" => (Rounding::Down, false),
        "rp" => (Rounding::Up, false),
        "rni" => (Rounding::Nearest, true),
        "rzi" => (Rounding::Zero, true),
        "rmi" => (Rounding::Down, true),
        _ => (Rounding::Up, true),
    })
}

/// Reads the specification from an instruction.
fn read(inst: &Instruction) -> Result<Spec, String> {
    let [.., to_name, from_name] = inst.modifiers.as_slice() else { return Err("it needs two types".into()) };
    let known =
        |name: &str| scalar(name).ok_or_else(|| format!("the modifier .{name} is not a type that can be converted"));
    let ((to, to_pair), (from, from_pair)) = (known(to_name)?, known(from_name)?);
    let mut modifiers = Modifiers::of(inst);
    modifiers.take(to_name);
    modifiers.take(from_name);
    let rounding = take_rounding(&mut modifiers);
    let mut take = |name| modifiers.take(name);
    let (ftz, sat, satfinite, relu) = (take("ftz"), take("sat"), take("satfinite"), take("relu"));
    modifiers.finish()?;

    let shape = match (to_pair, from_pair) {
        (false, false) => Shape::One,
        (true, false) if from == Scalar::F32 => Shape::Join,
        (true, true) => Shape::Pair,
        _ => return Err("a pair is converted from two .f32 or from another pair".into()),
    };
    let rounds_to_integer = to.is_integer() && !from.is_integer();
    let needed = rounds_to_integer || !to.is_integer() && from.inexact_in(to);
    match rounding {
        None if needed => return Err(format!("conversion from .{from_name} to .{to_name} needs a rounding modifier")),
        Some((_, integral)) if integral != rounds_to_integer && (integral && from != to || rounds_to_integer) => {
            return Err(format!("there is no such rounding from .{from_name} to .{to_name}"));
        }
        Some(_) if to.is_integer() && from.is_integer() => return Err("integers are not rounded".into()),
        _ => {}
    }
    if ftz && from != Scalar::F32 && to != Scalar::F32 {
        return Err(".ftz is valid only with .f32".into());
    }
    if (relu || satfinite) && !matches!(to, Scalar::F16 | Scalar::BF16 | Scalar::TF32 | Scalar::E4M3 | Scalar::E5M2) {
        return Err(".relu and .satfinite are valid only for conversions to narrow formats".into());
    }
    if matches!(to, Scalar::E4M3 | Scalar::E5M2) && !satfinite {
        return Err("a conversion to an 8-bit format needs .satfinite".into());
    }
    let (rounding, integral) = rounding.unwrap_or((Rounding::Nearest, false));
    Ok(Spec { from, to, rounding, integral, ftz, sat, satfinite, relu, shape, from_width: 0, to_width: 0 })
}

/// Returns the width of an operand's register: that of the type or, for integers and bits, a wider
/// one.
fn width(low: &Lower<'_>, operand: &Operand, bits: u32, exactly: bool) -> Result<u32, String> {
    let bits = bits.max(16);
    match *operand {
        Operand::Register(id) => {
            let width = low.width(id);
            if width == bits || !exactly && width > bits && width <= 64 {
                return Ok(width);
            }
            Err(format!("{} has {width} bits, but {bits} are expected", low.register(id).name))
        }
        _ => Ok(bits),
    }
}

fn cvt(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    if inst.modifiers.iter().any(|modifier| modifier == "pack") {
        return pack::pack(low, inst);
    }
    let mut spec = read(inst)?;
    let (Some(to), Some(from)) = (inst.operands.first(), inst.operands.get(1)) else {
        return Err("it needs a destination and a source".into());
    };
    let pair = spec.shape != Shape::One;
    let to_bits = if pair { 2 * spec.to.bits() } else { spec.to.bits() };
    let from_bits = if spec.shape == Shape::Pair { 2 * spec.from.bits() } else { spec.from.bits() };
    spec.to_width = width(low, to, to_bits, !spec.to.is_integer())?;
    spec.from_width = width(low, from, from_bits, !spec.from.is_integer())?;
    if !fast::lower(low, inst, &spec)? {
        general::lower(low, inst, &spec)?;
    }
    Ok(())
}

/// Returns the type of a register of a width.
fn register(bits: u32) -> Type {
    Type { kind: Kind::Bits, bits }
}

/// Conversions.
pub const TABLES: &[Table] = &[&[("cvt", cvt)]];
