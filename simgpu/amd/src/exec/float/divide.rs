//! The three instructions around a division: scaling of operands whose quotient or Newton iteration
//! would leave the range, the last fused multiply-add with that scaling undone, and the special
//! cases.
//!
//! The published pseudocode has errors. It scales the denominator in the wrong direction if both
//! its reciprocal and the quotient are subnormal, it scales the result by a power that is right in
//! no case, and it rounds twice. It also has no case for a quotient that is certain to overflow,
//! where the iteration may give a NaN. The code here is derived from the required result of the
//! sequence, the correctly rounded quotient: the flag of `v_div_scale` says that numerator and
//! denominator were scaled differently, and then the sign of the estimate's exponent says in which
//! direction the result is scaled back.

use super::exact::fma_scaled;
use super::half::widen;
use crate::exec::lane::lanes;
use crate::exec::value::{F16, Flag, Mask};

/// The result of an invalid operation in the ISA documents.
const INVALID_F32: f32 = f32::from_bits(0xffc0_0000);
const INVALID_F64: f64 = f64::from_bits(0xfff8_0000_0000_0000);

macro_rules! divide {
    ($scale:ident, $fixup:ident, $type:ty, $uint:ty, $fraction:literal, $exponent:literal, $invalid:ident,
     far = $far:literal, tiny = $tiny:literal, up = $up:expr, vanish = $vanish:literal, exceed = $exceed:literal, quotient = $quotient:expr) => {
        /// Returns `x` (numerator or denominator) scaled, and whether the two were scaled
        /// differently.
        #[inline(always)]
        fn $scale(x: $type, denominator: $type, numerator: $type) -> ($type, Flag) {
            let exponent = |x: $type| (x.to_bits() >> $fraction) as i32 & $exponent;
            let up: $type = $up;
            let down: $type = 1.0 / up;
            let is_denominator = x.to_bits() == denominator.to_bits();
            let is_numerator = x.to_bits() == numerator.to_bits();
            let zero = (denominator == 0.0) | (numerator == 0.0);
            let far = exponent(numerator) - exponent(denominator) >= $far;
            let subnormal = denominator.abs() < <$type>::MIN_POSITIVE;
            let huge = denominator.abs() > 1.0 / <$type>::MIN_POSITIVE;
            let quotient_subnormal = $quotient(numerator, denominator);
            let tiny = exponent(numerator) <= $tiny;
            // The first case that applies decides, so they are evaluated from the last to the
            // first.
            let (mut factor, mut flag): ($type, bool) = (if tiny { up } else { 1.0 }, false);
            (factor, flag) =
                if quotient_subnormal { (if is_numerator { up } else { 1.0 }, true) } else { (factor, flag) };
            (factor, flag) = if huge { (down, false) } else { (factor, flag) };
            (factor, flag) = if huge & quotient_subnormal {
                (if is_denominator { down } else { 1.0 }, true)
            } else {
                (factor, flag)
            };
            (factor, flag) = if subnormal { (up, false) } else { (factor, flag) };
            (factor, flag) = if far { (if is_denominator { up } else { 1.0 }, true) } else { (factor, flag) };
            if zero { ($invalid, Flag(false)) } else { (x * factor, Flag(flag)) }
        }

        /// Returns the quotient with its sign, and handles the special cases.
        #[inline(always)]
        fn $fixup(quotient: $type, denominator: $type, numerator: $type) -> $type {
            let exponent = |x: $type| (x.to_bits() >> $fraction) as i32 & $exponent;
            let sign = (denominator.to_bits() ^ numerator.to_bits()) & !(<$uint>::MAX >> 1);
            let signed = |x: $type| <$type>::from_bits(x.to_bits() & (<$uint>::MAX >> 1) | sign);
            let apart = exponent(numerator) - exponent(denominator);
            let r = if apart < $vanish { signed(0.0) } else { signed(quotient) };
            let r = if apart >= $exceed { signed(<$type>::INFINITY) } else { r };
            let r = if denominator.is_infinite() | (numerator == 0.0) { signed(0.0) } else { r };
            let r = if (denominator == 0.0) | numerator.is_infinite() { signed(<$type>::INFINITY) } else { r };
            let invalid =
                (denominator == 0.0) & (numerator == 0.0) | denominator.is_infinite() & numerator.is_infinite();
            let r = if invalid { $invalid } else { r };
            let quiet = |x: $type| <$type>::from_bits(x.to_bits() | 1 << ($fraction - 1));
            let r = if denominator.is_nan() { quiet(denominator) } else { r };
            if numerator.is_nan() { quiet(numerator) } else { r }
        }
    };
}

/// Whether the exact quotient is smaller than the smallest normal number.
#[inline(always)]
fn subnormal_quotient_f32(numerator: f32, denominator: f32) -> bool {
    f64::from(numerator).abs() < f64::from(denominator).abs() * f64::from(f32::MIN_POSITIVE)
}

#[inline(always)]
fn subnormal_quotient_f64(numerator: f64, denominator: f64) -> bool {
    (numerator / denominator).abs() < f64::MIN_POSITIVE
}

divide!(
    scale_f32,
    fixup_f32,
    f32,
    u32,
    23,
    0xff,
    INVALID_F32,
    far = 96,
    tiny = 23,
    up = 18_446_744_073_709_551_616.0,
    vanish = -150,
    exceed = 129,
    quotient = subnormal_quotient_f32
);
divide!(
    scale_f64,
    fixup_f64,
    f64,
    u64,
    52,
    0x7ff,
    INVALID_F64,
    far = 768,
    tiny = 53,
    up = 340_282_366_920_938_463_463_374_607_431_768_211_456.0,
    vanish = -1075,
    exceed = 1025,
    quotient = subnormal_quotient_f64
);

/// Computes `a b + c`, times 2^64 or 2^-64 if the flag is set, rounded once: the binary64 sum is
/// rounded to odd.
#[inline(always)]
fn fmas_f32(a: f32, b: f32, c: f32, flag: Mask) -> f32 {
    let (up, down) = (18_446_744_073_709_551_616.0, 1.0 / 18_446_744_073_709_551_616.0);
    let estimate_above_one = c.to_bits() >> 23 & 0xff > 127;
    let factor = if estimate_above_one { up } else { down };
    let factor = if flag.is_set() { factor } else { 1.0 };
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let part = sum - product;
    let lost = (product - (sum - part)) + (c - part);
    let step = if (lost > 0.0) == (sum > 0.0) { 1 } else { u64::MAX };
    let inexact = (lost < 0.0) | (lost > 0.0);
    let even = sum.to_bits() & 1 == 0;
    let odd = f64::from_bits(sum.to_bits().wrapping_add(if inexact & even { step } else { 0 }));
    (odd * factor) as f32
}

#[inline(always)]
fn fmas_f64(a: f64, b: f64, c: f64, flag: Mask) -> f64 {
    if flag.is_set() {
        fma_scaled(a, b, c, if c.to_bits() >> 52 & 0x7ff > 1023 { 128 } else { -128 })
    } else {
        a.mul_add(b, c)
    }
}

#[inline(always)]
fn fixup_f16(quotient: F16, denominator: F16, numerator: F16) -> F16 {
    // A NaN keeps its payload through binary32 and back, and so does every number; no exponents are
    // so far apart that the quotient becomes zero.
    super::half::narrow(fixup_f32(widen(quotient), widen(denominator), widen(numerator)))
}

lanes! {
    /// The division instructions.
    TABLE:
    "v_div_scale_f32" => |x: f32, denominator: f32, numerator: f32| -> (f32, Flag) {
        scale_f32(x, denominator, numerator)
    };
    "v_div_scale_f64" => |x: f64, denominator: f64, numerator: f64| -> (f64, Flag) {
        scale_f64(x, denominator, numerator)
    };
    "v_div_fmas_f32" => |a: f32, b: f32, c: f32, flag: Mask| -> f32 { fmas_f32(a, b, c, flag) };
    "v_div_fmas_f64" => |a: f64, b: f64, c: f64, flag: Mask| -> f64 { fmas_f64(a, b, c, flag) };
    "v_div_fixup_f16" => |q: F16, denominator: F16, numerator: F16| -> F16 { fixup_f16(q, denominator, numerator) };
    "v_div_fixup_legacy_f16" => |q: F16, denominator: F16, numerator: F16| -> F16 {
        fixup_f16(q, denominator, numerator)
    };
    "v_div_fixup_f32" => |q: f32, denominator: f32, numerator: f32| -> f32 { fixup_f32(q, denominator, numerator) };
    "v_div_fixup_f64" => |q: f64, denominator: f64, numerator: f64| -> f64 { fixup_f64(q, denominator, numerator) };
}
