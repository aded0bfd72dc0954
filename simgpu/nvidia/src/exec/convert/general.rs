//! Any conversion, of one number at a time.

use super::how::{How, Scalar, Shape};
use super::register;
use crate::exec::emit::{destination, sources};
use crate::exec::float::{NAN_F64, Rounding, exact::Exact, format::Number};
use crate::exec::lane::{row, write};
use crate::exec::{Env, Flow, LANES, Place, Program, Step, Warp};
use crate::lower::Lower;
use crate::ptx::ast::Instruction;

/// Pushes the step.
///
/// # Errors
/// Other operands than it has.
pub fn lower(low: &mut Lower<'_>, inst: &Instruction, how: &How) -> Result<(), String> {
    let from = register(how.from_width);
    let from_ty = match how.from {
        Scalar::F32 => crate::exec::emit::ptx!(f32),
        Scalar::F64 => crate::exec::emit::ptx!(f64),
        _ => from,
    };
    let types = if how.shape == Shape::Join { vec![from_ty; 2] } else { vec![from_ty] };
    let mut step = low.step(convert);
    step.dst = destination(low, inst.operands.first(), register(how.to_width))?.0;
    step.src = sources(low, inst.operands.get(1..).unwrap_or_default(), &types)?;
    step.extra = how.encode();
    low.push(step);
    Ok(())
}

/// The double words of a source.
///
/// # Safety
/// It has that width.
unsafe fn read(warp: &Warp, program: &Program, place: Place, bits: u32) -> [u64; LANES] {
    // SAFETY: the caller's word.
    unsafe {
        let row = row(warp, program, place);
        match bits {
            64 => *row.cast::<[u64; LANES]>(),
            32 => (*row.cast::<[u32; LANES]>()).map(u64::from),
            _ => (*row.cast::<[u16; LANES]>()).map(u64::from),
        }
    }
}

fn convert(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    let how = How::decode(step.extra);
    // SAFETY: lowering gave the step sources of this width, two where the shape is `Join`.
    let (first, second) = unsafe {
        let read = |at: usize| read(warp, env.program, step.src[at], how.from_width);
        (read(0), if how.shape == Shape::Join { read(1) } else { [0; LANES] })
    };
    let bits = how.to.bits();
    let out: [u64; LANES] = std::array::from_fn(|lane| match how.shape {
        Shape::One => one(first[lane], &how),
        Shape::Join => one(second[lane], &how) | one(first[lane], &how) << bits,
        Shape::Pair => one(first[lane], &how) | one(first[lane] >> how.from.bits(), &how) << bits,
    });
    // SAFETY: lowering gave the step a destination of this width.
    unsafe {
        match how.to_width {
            64 => write(warp, step.dst, &out),
            32 => write(warp, step.dst, &out.map(|value| value as u32)),
            _ => write(warp, step.dst, &out.map(|value| value as u16)),
        }
    }
    Flow::Next
}

/// The low bits of a word, as the number that they are.
fn number(bits: u64, from: Scalar) -> Number {
    let unused = 64 - from.bits();
    match from.format() {
        Some(format) => format.take_apart(bits << unused >> unused),
        None if from.is_signed() => Number::Finite(Exact::of_integer(((bits << unused) as i64 >> unused).into())),
        None => Number::Finite(Exact::of_integer((bits << unused >> unused).into())),
    }
}

/// Converts one.
fn one(bits: u64, how: &How) -> u64 {
    let mut number = number(bits, how.from);
    if let Number::Finite(exact) = &mut number {
        // A subnormal of binary32 has fewer digits than a normal number.
        if how.ftz && how.from == Scalar::F32 && exact.integer < 1 << 23 {
            exact.integer = 0;
        }
    }
    match how.to.format() {
        Some(_) => to_float(number, how),
        None => to_integer(number, how),
    }
}

/// The nearest integer in the range of the type, which fills the register by its sign. Of what a NaN gives, see `cvt` in the PTX ISA.
fn to_integer(number: Number, how: &How) -> u64 {
    let bits = how.to.bits();
    let (least, greatest) =
        if how.to.is_signed() { (-1i128 << (bits - 1), (1i128 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let value = match number {
        Number::Nan if how.from == Scalar::F64 || bits == 64 => 1 << (bits - 1),
        Number::Nan => 0,
        Number::Infinity { negative: true } => least,
        Number::Infinity { negative: false } => greatest,
        Number::Finite(exact) => {
            // From here on it is too large for every type.
            let size = if exact.integer != 0 && exact.exponent > 64 {
                1 << 100
            } else {
                exact.integer_at(0, how.rounding) as i128
            };
            let value = if exact.negative { -size } else { size };
            // Integers are cut to the type unless they are to be saturated.
            if how.sat || !how.from.is_integer() { value.clamp(least, greatest) } else { value }
        }
    };
    let unused = 64 - bits;
    let top = (value as u64) << unused;
    if how.to.is_signed() { (top as i64 >> unused) as u64 } else { top >> unused }
}

/// The number of a format nearest in the direction.
fn to_float(number: Number, how: &How) -> u64 {
    let Some(format) = how.to.format() else { return 0 };
    // TensorFloat-32 lies in the upper bits of a word.
    let place = if how.to == Scalar::TF32 { 13 } else { 0 };
    let ones = (1 << format.sign()) - 1;
    let infinity = |negative: bool| {
        let limit = if how.satfinite { format.greatest() } else { format.infinity() };
        u64::from(negative) << format.sign() | limit
    };
    let one = ((1 << (format.exponent - 1)) - 1) << (format.precision - 1);
    let result = match number {
        Number::Nan if how.sat => 0,
        // All bits ones but the sign, except in binary64.
        Number::Nan if how.to == Scalar::F64 => return NAN_F64,
        Number::Nan => return ones << place | if place != 0 { (1 << place) - 1 } else { 0 },
        Number::Infinity { negative } => infinity(negative),
        Number::Finite(exact) => {
            let exact = if how.integral { integral(exact, how.rounding) } else { exact };
            match exact.round(format, how.rounding) {
                (_, true) if how.satfinite => infinity(exact.negative),
                (bits, _) => bits,
            }
        }
    };
    let negative = result >> format.sign() & 1 != 0;
    if negative && (how.relu || how.sat) {
        return 0;
    }
    let result = if how.sat && result > one { one } else { result };
    let subnormal = result & ones < 1 << (format.precision - 1);
    let result = if how.ftz && how.to == Scalar::F32 && subnormal { result & !ones } else { result };
    result << place
}

/// Rounded to an integer; a zero keeps the sign.
fn integral(exact: Exact, rounding: Rounding) -> Exact {
    if exact.exponent >= 0 { exact } else { Exact { integer: exact.integer_at(0, rounding), exponent: 0, ..exact } }
}
