//! Conversions with functions of their own.

use super::how::{How, Scalar, Shape};
use super::register;
use crate::exec::emit::{op, ptx};
use crate::exec::float::{Canonical, Rounding};
use crate::exec::half::{BF16, F16, Half};
use crate::lower::Lower;
use crate::ptx::ast::{Instruction, Type};

/// Pushes a step if there is a function for the conversion.
///
/// # Errors
/// Other operands than it has.
pub fn lower(low: &mut Lower<'_>, inst: &Instruction, how: &How) -> Result<bool, String> {
    if how.shape != Shape::One || how.ftz || how.sat || how.satfinite || how.relu {
        return Ok(false);
    }
    match (how.to.is_integer(), how.from.is_integer()) {
        (true, true) => between_integers(low, inst, how),
        (false, true) => from_integer(low, inst, how),
        (true, false) => to_integer(low, inst, how),
        (false, false) => between_floats(low, inst, how),
    }
}

/// The type of a register that holds a float.
fn float(scalar: Scalar) -> Type {
    match scalar {
        Scalar::F32 => ptx!(f32),
        Scalar::F64 => ptx!(f64),
        _ => register(16),
    }
}

/// Gives the unsigned type of a register of a width to an expression that pushes a step.
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

/// Gives the Rust type of an integer to an expression that pushes a step.
macro_rules! integers {
    ($scalar:expr, $t:ident: $($variant:ident $type:ident)* => $body:expr) => {
        match $scalar {
            $(Scalar::$variant => { type $t = $type; $body?; true })*
            _ => false,
        }
    };
}

/// A narrower integer is cut off, a wider one filled by the sign of the source, and the rest of a wider register by that of the result.
fn between_integers(low: &mut Lower<'_>, inst: &Instruction, how: &How) -> Result<bool, String> {
    let (to, from) = (register(how.to_width), register(how.from_width));
    if how.to.bits() <= how.from.bits() {
        return Ok(integers!(how.to, T: U8 u8 S8 i8 U16 u16 S16 i16 U32 u32 S32 i32 U64 u64 S64 i64 => {
            registers!((how.from_width) From, (how.to_width) To => {
                op!(low, inst, to, [from], |x: From| -> To { x as T as To })
            })
        }));
    }
    if how.from.is_signed() && !how.to.is_signed() && how.to_width > how.to.bits() {
        return Ok(false);
    }
    Ok(integers!(how.from, T: U8 u8 S8 i8 U16 u16 S16 i16 U32 u32 S32 i32 => {
        registers!((how.from_width) From, (how.to_width) To => {
                op!(low, inst, to, [from], |x: From| -> To { x as T as To })
            })
    }))
}

fn from_integer(low: &mut Lower<'_>, inst: &Instruction, how: &How) -> Result<bool, String> {
    if how.rounding != Rounding::Nearest || how.from_width != how.from.bits() {
        return Ok(false);
    }
    let from = register(how.from_width);
    Ok(match how.to {
        Scalar::F32 => integers!(how.from, T: U16 u16 S16 i16 U32 u32 S32 i32 U64 u64 S64 i64 => {
            op!(low, inst, ptx!(f32), [from], |x: T| -> f32 { x as f32 })
        }),
        Scalar::F64 => integers!(how.from, T: U16 u16 S16 i16 U32 u32 S32 i32 U64 u64 S64 i64 => {
            op!(low, inst, ptx!(f64), [from], |x: T| -> f64 { x as f64 })
        }),
        _ => false,
    })
}

/// Towards zero, which is what languages ask for. Rust's casts saturate, and give 0 for a NaN.
fn to_integer(low: &mut Lower<'_>, inst: &Instruction, how: &How) -> Result<bool, String> {
    if how.rounding != Rounding::Zero || how.to_width != how.to.bits() {
        return Ok(false);
    }
    let to = register(how.to_width);
    let from = float(how.from);
    Ok(match how.from {
        Scalar::F16 => integers!(how.to, T: U16 u16 S16 i16 U32 u32 S32 i32 => {
            op!(low, inst, to, [from], |x: F16| -> T { x.widen() as T })
        }),
        Scalar::F32 => {
            integers!(how.to, T: U16 u16 S16 i16 U32 u32 S32 i32 => {
                op!(low, inst, to, [from], |x: f32| -> T { x as T })
            }) || integers!(how.to, T: U64 u64 S64 i64 => {
                op!(low, inst, to, [from], |x: f32| -> T { if x.is_nan() { (1u64 << 63) as T } else { x as T } })
            })
        }
        Scalar::F64 => integers!(how.to, T: U16 u16 S16 i16 U32 u32 S32 i32 U64 u64 S64 i64 => {
            op!(low, inst, to, [from], |x: f64| -> T {
                if x.is_nan() { (1u64 << (T::BITS - 1)) as T } else { x as T }
            })
        }),
        _ => false,
    })
}

fn between_floats(low: &mut Lower<'_>, inst: &Instruction, how: &How) -> Result<bool, String> {
    let (to, from) = (float(how.to), float(how.from));
    match (how.to, how.from, how.integral, how.rounding) {
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
