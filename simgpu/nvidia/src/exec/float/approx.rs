//! Approximations: quotients, reciprocals and roots with `.approx` and `.full`, and the
//! transcendental functions.
//!
//! PTX bounds their errors, most to a few units in the last place. By default the result is
//! correctly rounded. `Lower::approximation` selects another result that a card may give: the
//! neighbour of the exact value that is farthest from it but still within one unit, upwards or
//! downwards in magnitude. Exact results stay exact, as those of powers of two do on every card.

use super::{Canonical, finish, flush};
use crate::exec::emit::{flags, op, ptx, refused};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::Instruction;

/// Evaluates an expression with the constant `SHIFT`.
macro_rules! shifted {
    ($low:expr, $shift:ident => $body:expr) => {
        match $low.approximation {
            0 => {
                const $shift: i8 = 0;
                $body
            }
            1.. => {
                const $shift: i8 = 1;
                $body
            }
            _ => {
                const $shift: i8 = -1;
                $body
            }
        }
    };
}
pub(crate) use shifted;

/// Returns the binary32 within one unit in the last place of an exact value, on the side that the
/// shift selects.
#[inline(always)]
fn settle<const SHIFT: i8>(exact: f64) -> f32 {
    let near = exact as f32;
    let (size, bound) = (f64::from(near).abs(), exact.abs());
    let moves = match SHIFT {
        0 => return near,
        1.. => size < bound,
        _ => size > bound,
    };
    let next = f32::from_bits(near.to_bits().wrapping_add(i32::from(SHIFT) as u32));
    if moves & near.is_normal() & next.is_normal() { next } else { near }
}

/// Returns a binary64 whose low word is zero, shifted by one unit of the remaining digits.
#[inline(always)]
fn coarse<const SHIFT: i8>(exact: f64) -> f64 {
    let near = exact.to_bits() & !0xffff_ffff;
    let inexact = exact.to_bits() != near && exact.is_finite();
    let moved = near.wrapping_add(((i64::from(SHIFT)) << 32) as u64);
    let result = f64::from_bits(if inexact && f64::from_bits(moved).is_normal() { moved } else { near });
    if exact.is_nan() { exact } else { flush_f64(result) }
}

#[inline(always)]
fn flush_f64(x: f64) -> f64 {
    if x.abs() < f64::MIN_POSITIVE { 0.0f64.copysign(x) } else { x }
}

/// Returns the part of the operand that `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` use.
#[inline(always)]
fn coarse_operand(x: f64) -> f64 {
    flush_f64(f64::from_bits(x.to_bits() & !0xffff_ffff))
}

/// A binary32 function that is computed in binary64.
macro_rules! function {
    ($low:ident, $inst:ident, $ftz:ident, $ty:ident, |$x:ident| $exact:expr) => {
        flags!($ftz FTZ => shifted!($low, SHIFT => op!($low, $inst, $ty, [$ty], |x: f32| -> f32 {
            let $x = f64::from(flush::<FTZ>(x));
            finish::<FTZ, false>(settle::<SHIFT>($exact))
        })))
    };
}

/// A table entry for such a function, `.f32` only.
macro_rules! transcendental {
    ($($name:ident, |$x:ident| $exact:expr;)*) => {$(
        fn $name(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
            let mut modifiers = Modifiers::of(inst);
            if !modifiers.take("approx") {
                return Err("it exists only as .approx".into());
            }
            let (ftz, ty) = (modifiers.take("ftz"), modifiers.take_type()?);
            modifiers.finish()?;
            match ty {
                ptx!(f32) => function!(low, inst, ftz, ty, |$x| $exact),
                other => Err(refused(other)),
            }
        }
    )*};
}

transcendental! {
    sin, |x| x.sin();
    cos, |x| x.cos();
    lg2, |x| x.log2();
}

/// `ex2.approx.f32`
pub fn ex2(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    transcendental! { function, |x| x.exp2(); }
    function(low, inst)
}

/// `tanh.approx.f32`
pub fn tanh(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    transcendental! { function, |x| x.tanh(); }
    function(low, inst)
}

/// `div.approx` and `div.full`. `div.approx` multiplies by the reciprocal, which is zero if it
/// would be subnormal.
pub fn div(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let fast = modifiers.take("approx");
    if !fast {
        modifiers.take("full");
    }
    let (ftz, ty) = (modifiers.take("ftz"), modifiers.take_type()?);
    modifiers.finish()?;
    if ty != ptx!(f32) {
        return Err(refused(ty));
    }
    flags!(ftz FTZ, fast FAST => shifted!(low, SHIFT => op!(low, inst, ty, [ty, ty], |a: f32, b: f32| -> f32 {
        let (a, b) = (flush::<FTZ>(a), flush::<FTZ>(b));
        let quotient = settle::<SHIFT>(f64::from(a) / f64::from(b));
        let vanishes = FAST & (b.abs() > f32::from_bits(0x7e80_0000)) & (b.abs() < f32::INFINITY);
        finish::<FTZ, false>(if vanishes { a * 0.0f32.copysign(b) } else { quotient })
    })))
}

/// An instruction that has a binary64 form with a coarse result, always `.ftz`, and, if `$full` is
/// set, also a full-precision form.
macro_rules! both_widths {
    ($(#[$doc:meta])* $name:ident, $full:expr, |$x:ident| $exact:expr) => {
        $(#[$doc])*
        pub fn $name(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
            let mut modifiers = Modifiers::of(inst);
            if !modifiers.take("approx") {
                return Err("it exists only as .approx".into());
            }
            let (ftz, ty) = (modifiers.take("ftz"), modifiers.take_type()?);
            modifiers.finish()?;
            match ty {
                ptx!(f32) => function!(low, inst, ftz, ty, |$x| $exact),
                ptx!(f64) if ftz => shifted!(low, SHIFT => op!(low, inst, ty, [ty], |x: f64| -> f64 {
                    let $x = coarse_operand(x);
                    coarse::<SHIFT>($exact).canonical()
                })),
                ptx!(f64) if $full => op!(low, inst, ty, [ty], |$x: f64| -> f64 { ($exact).canonical() }),
                other => Err(refused(other)),
            }
        }
    };
}

both_widths!(
    /// `rcp.approx`
    rcp, false, |x| 1.0 / x
);
both_widths!(
    /// `rsqrt.approx`
    rsqrt, true, |x| 1.0 / x.sqrt()
);

/// `sqrt.approx.f32`
pub fn sqrt(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    transcendental! { function, |x| x.sqrt(); }
    function(low, inst)
}

/// Functions that exist only as approximations, for binary32 only.
pub const TABLE: Table = &[("sin", sin), ("cos", cos), ("lg2", lg2), ("rsqrt", rsqrt)];
