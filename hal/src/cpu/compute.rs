//! Arithmetic in the compute types, as `docs/numerics.md` defines it, implemented once for integers
//! and once for floats.

use std::fmt::Debug;

/// A type in which arithmetic is done: the integers, f32 and f64.
pub(super) trait Compute: bytemuck::Pod + PartialOrd + Debug + Send + Sync + 'static {
    const ZERO: Self;
    const ONE: Self;
    /// The lower bound of all values.
    const BOTTOM: Self;
    /// The upper bound of all values.
    const TOP: Self;

    /// Converts a parameter: rounds to nearest even for floats; truncates and saturates for
    /// integers, with NaN giving 0.
    fn from_parameter(v: f64) -> Self;
    fn is_nan(self) -> bool;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn sign(self) -> Self;
    fn relu(self) -> Self;
    fn ceil(self) -> Self;
    fn floor(self) -> Self;
    fn round(self) -> Self;
    fn trunc(self) -> Self;
    /// Rounds to the nearest integer, halves to even.
    fn round_even(self) -> Self;
    fn add(self, rhs: Self) -> Self;
    fn sub(self, rhs: Self) -> Self;
    fn mul(self, rhs: Self) -> Self;
    fn div(self, rhs: Self) -> Self;
    fn rem(self, rhs: Self) -> Self;
    /// Returns the quotient rounded down.
    fn floor_div(self, rhs: Self) -> Self;
    /// Returns the remainder of that quotient, which has the sign of `rhs`.
    fn floor_mod(self, rhs: Self) -> Self;
    fn maximum(self, rhs: Self) -> Self;
    fn minimum(self, rhs: Self) -> Self;
    /// Returns `self * factor + summand`: one fma for floats, wrapping for integers.
    fn affine(self, factor: Self, summand: Self) -> Self;
}

/// A floating-point compute type.
pub(super) trait FloatCompute: Compute {
    fn sqrt(self) -> Self;
    fn fma(self, factor: Self, summand: Self) -> Self;
    /// Converts a count, rounded to nearest even.
    fn from_count(n: usize) -> Self;
}

macro_rules! integers {
    ($($ty:ident)*) => {$(
        impl Compute for $ty {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const BOTTOM: Self = $ty::MIN;
            const TOP: Self = $ty::MAX;

            #[inline(always)]
            fn from_parameter(v: f64) -> Self { v as $ty }
            #[inline(always)]
            fn is_nan(self) -> bool { false }
            #[inline(always)]
            fn neg(self) -> Self { self.wrapping_neg() }
            #[inline(always)]
            fn abs(self) -> Self { if self < 0 as $ty { self.wrapping_neg() } else { self } }
            #[inline(always)]
            fn sign(self) -> Self { ((self > 0) as $ty).wrapping_sub((self < 0 as $ty) as $ty) }
            #[inline(always)]
            fn relu(self) -> Self { self.max(0) }
            #[inline(always)]
            fn ceil(self) -> Self { self }
            #[inline(always)]
            fn floor(self) -> Self { self }
            #[inline(always)]
            fn round(self) -> Self { self }
            #[inline(always)]
            fn trunc(self) -> Self { self }
            #[inline(always)]
            fn round_even(self) -> Self { self }
            #[inline(always)]
            fn add(self, rhs: Self) -> Self { self.wrapping_add(rhs) }
            #[inline(always)]
            fn sub(self, rhs: Self) -> Self { self.wrapping_sub(rhs) }
            #[inline(always)]
            fn mul(self, rhs: Self) -> Self { self.wrapping_mul(rhs) }
            #[inline(always)]
            fn div(self, rhs: Self) -> Self { if rhs == 0 { 0 } else { self.wrapping_div(rhs) } }
            #[inline(always)]
            fn rem(self, rhs: Self) -> Self { if rhs == 0 { 0 } else { self.wrapping_rem(rhs) } }
            #[inline(always)]
            #[allow(unused_comparisons, reason = "the unsigned dtypes")]
            fn floor_div(self, rhs: Self) -> Self {
                if rhs == 0 {
                    return 0;
                }
                let (quotient, rest) = (self.wrapping_div(rhs), self.wrapping_rem(rhs));
                let rounds_up = if rhs < 0 { rest > 0 } else { rest < 0 };
                quotient.wrapping_sub(rounds_up.into())
            }
            #[inline(always)]
            #[allow(unused_comparisons, reason = "the unsigned dtypes")]
            fn floor_mod(self, rhs: Self) -> Self {
                if rhs == 0 {
                    return 0;
                }
                let rest = self.wrapping_rem(rhs);
                let of_other_sign = if rhs < 0 { rest > 0 } else { rest < 0 };
                if of_other_sign { rest.wrapping_add(rhs) } else { rest }
            }
            #[inline(always)]
            fn maximum(self, rhs: Self) -> Self { self.max(rhs) }
            #[inline(always)]
            fn minimum(self, rhs: Self) -> Self { self.min(rhs) }
            #[inline(always)]
            fn affine(self, factor: Self, summand: Self) -> Self {
                self.wrapping_mul(factor).wrapping_add(summand)
            }
        }
    )*};
}
integers! { u8 i8 u16 i16 u32 i32 u64 i64 }

macro_rules! floats {
    ($($ty:ident)*) => {$(
        impl Compute for $ty {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const BOTTOM: Self = $ty::NEG_INFINITY;
            const TOP: Self = $ty::INFINITY;

            #[inline(always)]
            fn from_parameter(v: f64) -> Self { v as $ty }
            #[inline(always)]
            fn is_nan(self) -> bool { self.is_nan() }
            #[inline(always)]
            fn neg(self) -> Self { -self }
            #[inline(always)]
            fn abs(self) -> Self { self.abs() }
            #[inline(always)]
            fn sign(self) -> Self {
                let nonzero = if self > 0.0 { 1.0 } else { -1.0 };
                if self == 0.0 { 0.0 } else if self.is_nan() { self } else { nonzero }
            }
            #[inline(always)]
            fn relu(self) -> Self { if self > 0.0 || self.is_nan() { self } else { 0.0 } }
            #[inline(always)]
            fn ceil(self) -> Self { self.ceil() }
            #[inline(always)]
            fn floor(self) -> Self { self.floor() }
            #[inline(always)]
            fn round(self) -> Self { self.round() }
            #[inline(always)]
            fn trunc(self) -> Self { self.trunc() }
            #[inline(always)]
            fn round_even(self) -> Self { self.round_ties_even() }
            #[inline(always)]
            fn add(self, rhs: Self) -> Self { self + rhs }
            #[inline(always)]
            fn sub(self, rhs: Self) -> Self { self - rhs }
            #[inline(always)]
            fn mul(self, rhs: Self) -> Self { self * rhs }
            #[inline(always)]
            fn div(self, rhs: Self) -> Self { self / rhs }
            #[inline(always)]
            fn rem(self, rhs: Self) -> Self { self % rhs }
            #[inline(always)]
            fn floor_div(self, rhs: Self) -> Self {
                if self.is_infinite() {
                    return $ty::NAN;
                }
                let opposed = self != 0.0 && self.is_sign_negative() != rhs.is_sign_negative();
                if rhs.is_infinite() && opposed && !self.is_nan() {
                    return -1.0;
                }
                let quotient = self / rhs;
                let rest = (-quotient).mul_add(rhs, self);
                let is_lifted = if rhs < 0.0 { rest > 0.0 } else { rest < 0.0 };
                if is_lifted && quotient.floor() == quotient { quotient - 1.0 } else { quotient.floor() }
            }
            #[inline(always)]
            fn floor_mod(self, rhs: Self) -> Self {
                let rest = self % rhs;
                let of_other_sign = if rhs < 0.0 { rest > 0.0 } else { rest < 0.0 };
                if rest == 0.0 { (0.0 as $ty).copysign(rhs) } else if of_other_sign { rest + rhs } else { rest }
            }
            #[inline(always)]
            fn maximum(self, rhs: Self) -> Self {
                let on_tie = if self.is_sign_negative() { rhs } else { self };
                let ordered = if self > rhs { self } else if self < rhs { rhs } else { on_tie };
                if self.is_nan() { self } else if rhs.is_nan() { rhs } else { ordered }
            }
            #[inline(always)]
            fn minimum(self, rhs: Self) -> Self {
                let on_tie = if self.is_sign_negative() { self } else { rhs };
                let ordered = if self < rhs { self } else if self > rhs { rhs } else { on_tie };
                if self.is_nan() { self } else if rhs.is_nan() { rhs } else { ordered }
            }
            #[inline(always)]
            fn affine(self, factor: Self, summand: Self) -> Self { self.mul_add(factor, summand) }
        }

        impl FloatCompute for $ty {
            #[inline(always)]
            fn sqrt(self) -> Self { self.sqrt() }
            #[inline(always)]
            fn fma(self, factor: Self, summand: Self) -> Self { self.mul_add(factor, summand) }
            #[inline(always)]
            fn from_count(n: usize) -> Self { n as $ty }
        }
    )*};
}
floats! { f32 f64 }

/// An integer compute type.
pub(super) trait IntCompute: Compute {
    /// Raises to an integer power modulo 2^bits; a negative exponent gives the integer part of the
    /// real result.
    fn pow(self, exponent: Self) -> Self;
    fn bitwise_not(self) -> Self;
    fn bitwise_and(self, rhs: Self) -> Self;
    fn bitwise_or(self, rhs: Self) -> Self;
    fn bitwise_xor(self, rhs: Self) -> Self;
    /// Shifts by an amount that counts as unsigned, and may exceed the number of bits.
    fn left_shift(self, amount: Self) -> Self;
    /// The same to the right; a signed integer keeps its sign.
    fn right_shift(self, amount: Self) -> Self;
}

macro_rules! int_compute {
    ($($ty:ident)*) => {$(
        impl IntCompute for $ty {
            #[inline(always)]
            fn bitwise_not(self) -> Self { !self }
            #[inline(always)]
            fn bitwise_and(self, rhs: Self) -> Self { self & rhs }
            #[inline(always)]
            fn bitwise_or(self, rhs: Self) -> Self { self | rhs }
            #[inline(always)]
            fn bitwise_xor(self, rhs: Self) -> Self { self ^ rhs }
            #[inline(always)]
            fn left_shift(self, amount: Self) -> Self {
                // A negative amount is a large one.
                u32::try_from(amount).ok().and_then(|amount| self.checked_shl(amount)).unwrap_or(0)
            }
            #[inline(always)]
            fn right_shift(self, amount: Self) -> Self {
                let shifted = u32::try_from(amount).ok().and_then(|amount| self.checked_shr(amount));
                let sign = self >> ($ty::BITS - 1);
                let beyond = if $ty::MIN == 0 { 0 } else { sign };
                shifted.unwrap_or(beyond)
            }
            #[inline(always)]
            fn pow(self, exponent: Self) -> Self {
                if exponent < 0 as $ty {
                    let minus_one = (0 as $ty).wrapping_sub(1);
                    return if self == 1 || (self == minus_one && exponent & 1 == 0) {
                        1
                    } else if self == minus_one {
                        minus_one
                    } else {
                        0
                    };
                }
                let (mut result, mut square, mut left) = (1 as $ty, self, exponent);
                while left != 0 {
                    if left & 1 == 1 {
                        result = result.wrapping_mul(square);
                    }
                    square = square.wrapping_mul(square);
                    left >>= 1;
                }
                result
            }
        }
    )*};
}
int_compute! { u8 i8 u16 i16 u32 i32 u64 i64 }

/// Conversion that rounds once, as `docs/numerics.md` section 4 defines it; Rust's `as` follows
/// that rule.
pub(super) trait Convert<D> {
    fn convert(self) -> D;
}

/// Conversion to the f32 that rounds to a narrow float as the exact value would.
pub(super) trait OddF32 {
    fn odd_f32(self) -> f32;
}

macro_rules! conversions {
    ($($from:ident)*) => { $(conversions!(@to $from u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);)* };
    (@to $from:ident $($to:ident)*) => {$(
        impl Convert<$to> for $from {
            #[inline(always)]
            fn convert(self) -> $to { self as $to }
        }
    )*};
}
conversions! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }

macro_rules! odd_f32 {
    ($($ty:ident $x:ident => $odd:expr;)*) => {$(
        impl OddF32 for $ty {
            #[inline(always)]
            fn odd_f32(self) -> f32 {
                let $x = self;
                $odd
            }
        }
    )*};
}
use super::math::convert::{odd_f32_from_f64, odd_f32_from_i64, odd_f32_from_u64};
odd_f32! {
    u8 x => x.into();
    i8 x => x.into();
    u16 x => x.into();
    i16 x => x.into();
    u32 x => odd_f32_from_i64(x.into());
    u64 x => odd_f32_from_u64(x);
    i32 x => odd_f32_from_i64(x.into());
    i64 x => odd_f32_from_i64(x);
    f32 x => x;
    f64 x => odd_f32_from_f64(x);
}
