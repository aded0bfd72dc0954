//! Any conversion, one number at a time.

use super::register;
use super::spec::{Scalar, Shape, Spec};
use crate::exec::emit::{destination, sources};
use crate::exec::float::{NAN_F64, Rounding, exact::Exact, format::Number};
use crate::exec::lane::{row, write};
use crate::exec::{Env, Flow, LANES, Place, Program, Step, Warp};
use crate::lower::Lower;
use crate::ptx::ast::Instruction;

/// Pushes the step.
///
/// # Errors
/// Fails if the operands do not match.
pub fn lower(low: &mut Lower<'_>, inst: &Instruction, spec: &Spec) -> Result<(), String> {
    let from = register(spec.from_width);
    let from_ty = match spec.from {
        Scalar::F32 => crate::exec::emit::ptx!(f32),
        Scalar::F64 => crate::exec::emit::ptx!(f64),
        _ => from,
    };
    let types = if spec.shape == Shape::Join { vec![from_ty; 2] } else { vec![from_ty] };
    let mut step = low.step(convert);
    step.dst = destination(low, inst.operands.first(), register(spec.to_width))?.0;
    step.src = sources(low, inst.operands.get(1..).unwrap_or_default(), &types)?;
    step.extra = spec.encode();
    low.push(step);
    Ok(())
}

/// Reads a source as double words.
///
/// # Safety
/// The source has that width.
unsafe fn read(warp: &Warp, program: &Program, place: Place, bits: u32) -> [u64; LANES] {
    // SAFETY: the caller promises that the source has that width.
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
    let spec = Spec::decode(step.extra);
    // SAFETY: lowering gave the step sources of this width, and two of them if the shape is `Join`.
    let (first, second) = unsafe {
        let read = |at: usize| read(warp, env.program, step.src[at], spec.from_width);
        (read(0), if spec.shape == Shape::Join { read(1) } else { [0; LANES] })
    };
    let bits = spec.to.bits();
    let out: [u64; LANES] = std::array::from_fn(|lane| match spec.shape {
        Shape::One => one(first[lane], &spec),
        Shape::Join => one(second[lane], &spec) | one(first[lane], &spec) << bits,
        Shape::Pair => one(first[lane], &spec) | one(first[lane] >> spec.from.bits(), &spec) << bits,
    });
    // SAFETY: lowering gave the step a destination of this width.
    unsafe {
        match spec.to_width {
            64 => write(warp, step.dst, &out),
            32 => write(warp, step.dst, &out.map(|value| value as u32)),
            _ => write(warp, step.dst, &out.map(|value| value as u16)),
        }
    }
    Flow::Next
}

/// Decodes the low bits of a word as a number.
fn number(bits: u64, from: Scalar) -> Number {
    let unused = 64 - from.bits();
    match from.format() {
        Some(format) => format.take_apart(bits << unused >> unused),
        None if from.is_signed() => Number::Finite(Exact::of_integer(((bits << unused) as i64 >> unused).into())),
        None => Number::Finite(Exact::of_integer((bits << unused >> unused).into())),
    }
}

/// Converts one value.
fn one(bits: u64, spec: &Spec) -> u64 {
    let mut number = number(bits, spec.from);
    if let Number::Finite(exact) = &mut number {
        // A binary32 with fewer digits than a normal number is subnormal.
        if spec.ftz && spec.from == Scalar::F32 && exact.integer < 1 << 23 {
            exact.integer = 0;
        }
    }
    match spec.to.format() {
        Some(_) => to_float(number, spec),
        None => to_integer(number, spec),
    }
}

/// Rounds to an integer, clamps it to the range of the type, and extends it to the register by its
/// signedness. For the result of a NaN, see `cvt` in the PTX ISA.
fn to_integer(number: Number, spec: &Spec) -> u64 {
    let bits = spec.to.bits();
    let (least, greatest) =
        if spec.to.is_signed() { (-1i128 << (bits - 1), (1i128 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let value = match number {
        Number::Nan if spec.from == Scalar::F64 || bits == 64 => 1 << (bits - 1),
        Number::Nan => 0,
        Number::Infinity { negative: true } => least,
        Number::Infinity { negative: false } => greatest,
        Number::Finite(exact) => {
            // With a larger exponent, the value is too large for every type.
            let size = if exact.integer != 0 && exact.exponent > 64 {
                1 << 100
            } else {
                exact.integer_at(0, spec.rounding) as i128
            };
            let value = if exact.negative { -size } else { size };
            // An integer source is truncated to the type unless `.sat` is given.
            if spec.sat || !spec.from.is_integer() { value.clamp(least, greatest) } else { value }
        }
    };
    let unused = 64 - bits;
    let top = (value as u64) << unused;
    if spec.to.is_signed() { (top as i64 >> unused) as u64 } else { top >> unused }
}

/// Rounds to a number of a format.
fn to_float(number: Number, spec: &Spec) -> u64 {
    let Some(format) = spec.to.format() else { return 0 };
    // TensorFloat-32 uses the upper bits of a word.
    let place = if spec.to == Scalar::TF32 { 13 } else { 0 };
    let ones = (1 << format.sign()) - 1;
    let infinity = |negative: bool| {
        let limit = if spec.satfinite { format.greatest() } else { format.infinity() };
        u64::from(negative) << format.sign() | limit
    };
    let one = ((1 << (format.exponent - 1)) - 1) << (format.precision - 1);
    let result = match number {
        Number::Nan if spec.sat => 0,
        // All bits are ones except the sign, unless the format is binary64.
        Number::Nan if spec.to == Scalar::F64 => return NAN_F64,
        Number::Nan => return ones << place | if place != 0 { (1 << place) - 1 } else { 0 },
        Number::Infinity { negative } => infinity(negative),
        Number::Finite(exact) => {
            let exact = if spec.integral { integral(exact, spec.rounding) } else { exact };
            match exact.round(format, spec.rounding) {
                (_, true) if spec.satfinite => infinity(exact.negative),
                (bits, _) => bits,
            }
        }
    };
    let negative = result >> format.sign() & 1 != 0;
    if negative && (spec.relu || spec.sat) {
        return 0;
    }
    let result = if spec.sat && result > one { one } else { result };
    let subnormal = result & ones < 1 << (format.precision - 1);
    let result = if spec.ftz && spec.to == Scalar::F32 && subnormal { result & !ones } else { result };
    result << place
}

/// Rounds to an integer; a zero keeps its sign.
fn integral(exact: Exact, rounding: Rounding) -> Exact {
    if exact.exponent >= 0 { exact } else { Exact { integer: exact.integer_at(0, rounding), exponent: 0, ..exact } }
}
