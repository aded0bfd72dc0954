//! Conversions with specialised functions.

use super::register;
use super::spec::{Scalar, Shape, Spec};
use crate::exec::emit::{op, ptx};
use crate::exec::float::{Canonical, Rounding};
use crate::exec::half::{BF16, F16, Half};
use crate::lower::Lower;
use crate::ptx::ast::{Instruction, Type};

/// Pushes a step if the conversion has a specialised function.
///
/// # Errors
/// Fails if the operands do not match.
pub fn lower(low: &mut Lower<'_>, inst: &Instruction, spec: &Spec) -> Result<bool, String> {
    if spec.shape != Shape::One || spec.ftz || spec.sat || spec.satfinite || spec.relu {
        return Ok(false);
    }
    match (spec.to.is_integer(), spec.from.is_integer()) {
        (true, true) => between_integers(low, inst, spec),
        (false, true) => from_integer(low, inst, spec),
        (true, false) => to_integer(low, inst, spec),
        (false, false) => between_floats(low, inst, spec),
    }
}

/// Returns the type of a register that holds a float.
fn float(scalar: Scalar) -> Type {
    match scalar {
        Scalar::F32 => ptx!(f32),
        Scalar::F64 => ptx!(f64),
        _ => register(16),
    }
}

/// Evaluates an expression that pushes a step with the unsigned type of a register width.
macro_rules! registers {
    ($(($bits:expr) $t:ident),* => $body:expr) => { registers!(@ $body; $(($bits) $t)*) };
    (@ $body:expr;) => { $body };
    (@ $body:expr; ($bits:expr) $t:ident $($rest:tt)*) => {
        match $bits {
            16 => { type $t = u16; registers!(@ $body; $($rest)*) }
            32 => { type $t = u32; registers!(@ $body; $($rest)*) }
            _ => { type $t = u64; registers!(@ $body; $($rest)*) }
        }
    };
}

/// Evaluates an expression that pushes a step with the Rust type of an integer.
macro_rules! integers {
    ($scalar:expr, $t:ident: $($variant:ident $type:ident)* => $body:expr) => {
        match $scalar {
            $(Scalar::$variant => { type $t = $type; $body?; true })*
            _ => false,
        }
    };
}

/// Truncates to a narrower integer, or extends to a wider one by the signedness of the source;
/// extends the result to a wider register by the signedness of the result.
fn between_integers(low: &mut Lower<'_>, inst: &Instruction, spec: &Spec) -> Result<bool, String> {
    let (to, from) = (register(spec.to_width), register(spec.from_width));
    if spec.to.bits() <= spec.from.bits() {
        return Ok(integers!(spec.to, T: U8 u8 S8 i8 U16 u16 S16 i16 U32 u32 S32 i32 U64 u64 S64 i64 => {
            registers!((spec.from_width) From, (spec.to_width) To => {
                op!(low, inst, to, [from], |x: From| -> To { x as T as To })
            })
        }));
    }
    if spec.from.is_signed() && !spec.to.is_signed() && spec.to_width > spec.to.bits() {
        return Ok(false);
    }
    Ok(integers!(spec.from, T: U8 u8 S8 i8 U16 u16 S16 i16 U32 u32 S32 i32 => {
        registers!((spec.from_width) From, (spec.to_width) To => {
                op!(low, inst, to, [from], |x: From| -> To { x as T as To })
            })
    }))
}

fn from_integer(low: &mut Lower<'_>, inst: &Instruction, spec: &Spec) -> Result<bool, String> {
    if spec.rounding != Rounding::Nearest || spec.from_width != spec.from.bits() {
        return Ok(false);
    }
    let from = register(spec.from_width);
    Ok(match spec.to {
        Scalar::F32 => integers!(spec.from, T: U16 u16 S16 i16 U32 u32 S32 i32 U64 u64 S64 i64 => {
            op!(low, inst, ptx!(f32), [from], |x: T| -> f32 { x as f32 })
        }),
        Scalar::F64 => integers!(spec.from, T: U16 u16 S16 i16 U32 u32 S32 i32 U64 u64 S64 i64 => {
            op!(low, inst, ptx!(f64), [from], |x: T| -> f64 { x as f64 })
        }),
        _ => false,
    })
}

/// Rounds towards zero, as most languages do. Rust's casts saturate and convert a NaN to 0.
fn to_integer(low: &mut Lower<'_>, inst: &Instruction, spec: &Spec) -> Result<bool, String> {
    if spec.rounding != Rounding::Zero || spec.to_width != spec.to.bits() {
        return Ok(false);
    }
    let to = register(spec.to_width);
    let from = float(spec.from);
    Ok(match spec.from {
        Scalar::F16 => integers!(spec.to, T: U16 u16 S16 i16 U32 u32 S32 i32 => {
            op!(low, inst, to, [from], |x: F16| -> T { x.widen() as T })
        }),
        Scalar::F32 => {
            integers!(spec.to, T: U16 u16 S16 i16 U32 u32 S32 i32 => {
                op!(low, inst, to, [from], |x: f32| -> T { x as T })
            }) || integers!(spec.to, T: U64 u64 S64 i64 => {
                op!(low, inst, to, [from], |x: f32| -> T { if x.is_nan() { (1u64 << 63) as T } else { x as T } })
            })
        }
        Scalar::F64 => integers!(spec.to, T: U16 u16 S16 i16 U32 u32 S32 i32 U64 u64 S64 i64 => {
            op!(low, inst, to, [from], |x: f64| -> T {
                if x.is_nan() { (1u64 << (T::BITS - 1)) as T } else { x as T }
            })
        }),
        _ => false,
    })
}

fn between_floats(low: &mut Lower<'_>, inst: &Instruction, spec: &Spec) -> Result<bool, String> {
    let (to, from) = (float(spec.to), float(spec.from));
    match (spec.to, spec.from, spec.integral, spec.rounding) {
        (Scalar::F16, Scalar::F32, _, Rounding::Nearest) => {
            op!(low, inst, to, [from], |x: f32| -> F16 { F16::narrow(x) })
        }
        (Scalar::BF16, Scalar::F32, _, Rounding::Nearest) => {
            op!(low, inst, to, [from], |x: f32| -> BF16 { BF16::narrow(x) })
        }
        (Scalar::F16, Scalar::F64, _, Rounding::Nearest) => {
            op!(low, inst, to, [from], |x: f64| -> F16 { F16::narrow_f64(x) })
        }
        (Scalar::BF16, Scalar::F64, _, Rounding::Nearest) => {
            op!(low, inst, to, [from], |x: f64| -> BF16 { BF16::narrow_f64(x) })
        }
        (Scalar::F32, Scalar::F64, _, Rounding::Nearest) => {
            op!(low, inst, to, [from], |x: f64| -> f32 { (x as f32).canonical() })
        }
        (Scalar::F32, Scalar::F16, ..) => op!(low, inst, to, [from], |x: F16| -> f32 { x.widen().canonical() }),
        (Scalar::F32, Scalar::BF16, ..) => op!(low, inst, to, [from], |x: BF16| -> f32 { x.widen().canonical() }),
        (Scalar::F64, Scalar::F16, ..) => {
            op!(low, inst, to, [from], |x: F16| -> f64 { f64::from(x.widen()).canonical() })
        }
        (Scalar::F64, Scalar::BF16, ..) => {
            op!(low, inst, to, [from], |x: BF16| -> f64 { f64::from(x.widen()).canonical() })
        }
        (Scalar::F64, Scalar::F32, ..) => op!(low, inst, to, [from], |x: f32| -> f64 { f64::from(x).canonical() }),
        (Scalar::F32, Scalar::F32, true, Rounding::Nearest) => {
            op!(low, inst, to, [from], |x: f32| -> f32 { x.round_ties_even().canonical() })
        }
        (Scalar::F32, Scalar::F32, true, Rounding::Zero) => {
            op!(low, inst, to, [from], |x: f32| -> f32 { x.trunc().canonical() })
        }
        (Scalar::F32, Scalar::F32, true, Rounding::Down) => {
            op!(low, inst, to, [from], |x: f32| -> f32 { x.floor().canonical() })
        }
        (Scalar::F32, Scalar::F32, true, Rounding::Up) => {
            op!(low, inst, to, [from], |x: f32| -> f32 { x.ceil().canonical() })
        }
        (Scalar::F64, Scalar::F64, true, Rounding::Nearest) => {
            op!(low, inst, to, [from], |x: f64| -> f64 { x.round_ties_even().canonical() })
        }
        (Scalar::F64, Scalar::F64, true, Rounding::Zero) => {
            op!(low, inst, to, [from], |x: f64| -> f64 { x.trunc().canonical() })
        }
        (Scalar::F64, Scalar::F64, true, Rounding::Down) => {
            op!(low, inst, to, [from], |x: f64| -> f64 { x.floor().canonical() })
        }
        (Scalar::F64, Scalar::F64, true, Rounding::Up) => {
            op!(low, inst, to, [from], |x: f64| -> f64 { x.ceil().canonical() })
        }
        (Scalar::F16, Scalar::F16, true, Rounding::Nearest) => {
            op!(low, inst, to, [from], |x: F16| -> F16 { F16::narrow(x.widen().round_ties_even()) })
        }
        (Scalar::F16, Scalar::F16, true, Rounding::Zero) => {
            op!(low, inst, to, [from], |x: F16| -> F16 { F16::narrow(x.widen().trunc()) })
        }
        (Scalar::F16, Scalar::F16, true, Rounding::Down) => {
            op!(low, inst, to, [from], |x: F16| -> F16 { F16::narrow(x.widen().floor()) })
        }
        (Scalar::F16, Scalar::F16, true, Rounding::Up) => {
            op!(low, inst, to, [from], |x: F16| -> F16 { F16::narrow(x.widen().ceil()) })
        }
        _ => return Ok(false),
    }?;
    Ok(true)
}
