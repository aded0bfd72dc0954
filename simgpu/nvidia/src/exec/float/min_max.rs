//! Minimum and maximum. If one operand is a NaN, the result is the other operand, or a NaN with
//! `.NaN`; -0 is less than +0.

use super::{Canonical, flush};
use crate::exec::emit::{flags, op, ptx, refused};
use crate::lower::{Lower, Modifiers};
use crate::ptx::ast::Instruction;

/// Bit operations to order numbers of a format.
pub trait Ordered: Canonical + Copy + PartialOrd {
    /// Whether the value is a NaN.
    fn nan(self) -> bool;
    /// Returns the magnitude.
    fn size(self) -> Self;
    /// Negates the value if the sign of the other is set.
    fn signed_by(self, other: Self) -> Self;
    /// Bitwise and; for two zeros it gives the greater one.
    fn and(self, other: Self) -> Self;
    /// Bitwise or; for two zeros it gives the lesser one.
    fn or(self, other: Self) -> Self;
}

macro_rules! ordered {
    ($($type:ty)*) => {$(
        impl Ordered for $type {
            #[inline(always)]
            fn nan(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn size(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn signed_by(self, other: Self) -> Self {
                Self::from_bits(self.to_bits() ^ other.to_bits() & (-0.0 as Self).to_bits())
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                Self::from_bits(self.to_bits() & other.to_bits())
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                Self::from_bits(self.to_bits() | other.to_bits())
            }
        }
    )*};
}

ordered! { f32 f64 }

/// Returns the lesser or the greater of two.
#[inline(always)]
pub fn choose<const MAX: bool, const KEEP_NAN: bool, T: Ordered>(a: T, b: T) -> T {
    let equal = if MAX { a.and(b) } else { a.or(b) };
    let (first, second) = if MAX { (a > b, b > a) } else { (a < b, b < a) };
    let chosen = if first { a } else { equal };
    let chosen = if second { b } else { chosen };
    // The NaN rule selects one of the operands; if both are a NaN, the result is a NaN.
    let (from_a, from_b) = if KEEP_NAN { (a.nan(), b.nan()) } else { (b.nan(), a.nan()) };
    let chosen = if from_a { a } else { chosen };
    let chosen = if from_b { b } else { chosen };
    chosen.canonical()
}

/// Like [`choose`]; with `XORSIGN`, compares magnitudes and gives the result the product of the
/// signs.
#[inline(always)]
pub fn choose_signed<const MAX: bool, const KEEP_NAN: bool, const XORSIGN: bool, T: Ordered>(a: T, b: T) -> T {
    if !XORSIGN {
        return choose::<MAX, KEEP_NAN, T>(a, b);
    }
    let chosen = choose::<MAX, KEEP_NAN, T>(a.size(), b.size());
    if chosen.nan() { chosen } else { chosen.signed_by(a).signed_by(b) }
}

/// `min`
pub fn min(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    order(low, inst, false)
}

/// `max`
pub fn max(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    order(low, inst, true)
}

fn order(low: &mut Lower<'_>, inst: &Instruction, max: bool) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (ftz, nan) = (modifiers.take("ftz"), modifiers.take("NaN"));
    let xorsign = modifiers.take("xorsign");
    if xorsign != modifiers.take("abs") {
        return Err(".xorsign and .abs are valid only together".into());
    }
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    let three = inst.operands.len() == 4;
    match ty {
        ptx!(f32) if three => flags!(max MAX, ftz FTZ, nan NAN, xorsign XORSIGN => {
            op!(low, inst, ty, [ty, ty, ty], |a: f32, b: f32, c: f32| -> f32 {
                let (a, b, c) = (flush::<FTZ>(a), flush::<FTZ>(b), flush::<FTZ>(c));
                choose_signed::<MAX, NAN, XORSIGN, f32>(choose_signed::<MAX, NAN, XORSIGN, f32>(a, b), c)
            })
        }),
        ptx!(f32) => {
            flags!(max MAX, ftz FTZ, nan NAN, xorsign XORSIGN => op!(low, inst, ty, [ty, ty], |a: f32, b: f32| -> f32 {
                choose_signed::<MAX, NAN, XORSIGN, f32>(flush::<FTZ>(a), flush::<FTZ>(b))
            }))
        }
        ptx!(f64) if !ftz && !nan && !xorsign => {
            flags!(max MAX => op!(low, inst, ty, [ty, ty], |a: f64, b: f64| -> f64 {
                choose::<MAX, false, f64>(a, b)
            }))
        }
        other => Err(refused(other)),
    }
}
