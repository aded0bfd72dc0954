//! 16-bit values, pairs of them, and their conversions.
//!
//! A value is rounded once, from binary64. If binary32 cannot hold it, it is first rounded to odd;
//! rounding that result to 13 bits or fewer is the same as rounding the value itself (Boldo and
//! Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).

use crate::exec::lane::number;

/// A binary16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

/// A bfloat16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct BF16(pub u16);

/// A pair of binary16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16x2(pub u32);

/// A pair of bfloat16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct BF16x2(pub u32);

number! {
    F16, F16(0);
    BF16, BF16(0);
    F16x2, F16x2(0);
    BF16x2, BF16x2(0);
}

/// A 16-bit number.
pub trait Half: Copy {
    /// The smallest normal number.
    const LEAST: f32;
    /// Returns the bits.
    fn bits(self) -> u16;
    /// Returns the number with these bits.
    fn of_bits(bits: u16) -> Self;
    /// Converts to binary32, exactly.
    fn widen(self) -> f32;
    /// Rounds a binary32 to nearest; a NaN gives the canonical one.
    fn narrow(x: f32) -> Self;

    /// Rounds a binary64 to nearest.
    #[inline(always)]
    fn narrow_f64(x: f64) -> Self {
        let near = x as f32;
        Self::narrow(to_odd(near, x - f64::from(near)))
    }

    /// Returns the negated number.
    #[inline(always)]
    fn negated(self) -> Self {
        Self::of_bits(self.bits() ^ 0x8000)
    }

    /// Returns the magnitude.
    #[inline(always)]
    fn size(self) -> Self {
        Self::of_bits(self.bits() & 0x7fff)
    }

    /// With `FTZ`, flushes a subnormal number to a zero of its sign.
    #[inline(always)]
    fn flush<const FTZ: bool>(self) -> Self {
        if FTZ && self.widen().abs() < Self::LEAST { Self::of_bits(self.bits() & 0x8000) } else { self }
    }
}

/// Rounds to odd, given a binary32 near a value and the difference from the value (only its sign
/// matters): returns the odd one of the two neighbours, unless `near` is exact. For an infinity or
/// a NaN, the difference counts as zero.
#[inline(always)]
fn to_odd(near: f32, lacking: f64) -> f32 {
    let away = (lacking > 0.0) == near.is_sign_positive();
    let inexact = (lacking < 0.0) | (lacking > 0.0);
    let step = if away { 1 } else { u32::MAX };
    let even = near.to_bits() & 1 == 0;
    let moves = inexact & even & (near.abs() < f32::INFINITY);
    f32::from_bits(near.to_bits().wrapping_add(if moves { step } else { 0 }))
}

impl Half for F16 {
    const LEAST: f32 = 1.0 / 16384.0;

    #[inline(always)]
    fn bits(self) -> u16 {
        self.0
    }

    #[inline(always)]
    fn of_bits(bits: u16) -> Self {
        Self(bits)
    }

    #[inline(always)]
    fn widen(self) -> f32 {
        let magnitude = u32::from(self.0 & 0x7fff) << 13;
        let normal = magnitude + (112 << 23);
        let special = magnitude + (224 << 23);
        // A subnormal has the exponent of the smallest normal number but no leading one, so the
        // subtraction removes it.
        let subnormal = f32::from_bits(magnitude + (113 << 23)) - f32::from_bits(113 << 23);
        let bits = if magnitude >= 0x0f80_0000 { special } else { normal };
        let bits = if magnitude < 0x0080_0000 { subnormal.to_bits() } else { bits };
        let bits = if magnitude > 0x0f80_0000 { crate::exec::float::NAN } else { bits };
        f32::from_bits(bits | u32::from(self.0 & 0x8000) << 16)
    }

    #[inline(always)]
    fn narrow(x: f32) -> Self {
        let bits = x.to_bits() & 0x7fff_ffff;
        let even = bits >> 13 & 1;
        let normal = bits.wrapping_sub(112 << 23).wrapping_add(0xfff + even) >> 13;
        // The last place of the sum is that of a subnormal binary16.
        let subnormal = (f32::from_bits(bits) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let half = if bits < 113 << 23 { subnormal } else { normal };
        let half = if bits >= 143 << 23 { 0x7c00 } else { half };
        let half = half | x.to_bits() >> 16 & 0x8000;
        Self(if x.is_nan() { 0x7fff } else { half as u16 })
    }
}

impl Half for BF16 {
    const LEAST: f32 = f32::MIN_POSITIVE;

    #[inline(always)]
    fn bits(self) -> u16 {
        self.0
    }

    #[inline(always)]
    fn of_bits(bits: u16) -> Self {
        Self(bits)
    }

    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }

    #[inline(always)]
    fn narrow(x: f32) -> Self {
        let even = x.to_bits() >> 16 & 1;
        let half = x.to_bits().wrapping_add(0x7fff + even) >> 16;
        Self(if x.is_nan() { 0x7fff } else { half as u16 })
    }
}

/// One 16-bit number or a pair.
pub trait Halves: Copy {
    /// The type of each number.
    type Each: Half;
    /// Applies a function to each.
    fn map(self, f: impl Fn(Self::Each) -> Self::Each) -> Self;
    /// Applies a function to each and its counterpart.
    fn zip(self, other: Self, f: impl Fn(Self::Each, Self::Each) -> Self::Each) -> Self;
    /// Applies a function to each and its two counterparts.
    fn zip3(self, b: Self, c: Self, f: impl Fn(Self::Each, Self::Each, Self::Each) -> Self::Each) -> Self;
}

macro_rules! halves {
    ($($half:ident, $pair:ident;)*) => {$(
        impl Halves for $half {
            type Each = Self;
            #[inline(always)]
            fn map(self, f: impl Fn(Self) -> Self) -> Self {
                f(self)
            }
            #[inline(always)]
            fn zip(self, other: Self, f: impl Fn(Self, Self) -> Self) -> Self {
                f(self, other)
            }
            #[inline(always)]
            fn zip3(self, b: Self, c: Self, f: impl Fn(Self, Self, Self) -> Self) -> Self {
                f(self, b, c)
            }
        }

        impl $pair {
            /// Returns the lower and the upper number.
            #[inline(always)]
            pub fn split(self) -> [$half; 2] {
                [$half(self.0 as u16), $half((self.0 >> 16) as u16)]
            }
            /// Joins both numbers.
            #[inline(always)]
            pub fn join([low, high]: [$half; 2]) -> Self {
                Self(u32::from(low.0) | u32::from(high.0) << 16)
            }
        }

        impl Halves for $pair {
            type Each = $half;
            #[inline(always)]
            fn map(self, f: impl Fn($half) -> $half) -> Self {
                let [low, high] = self.split();
                Self::join([f(low), f(high)])
            }
            #[inline(always)]
            fn zip(self, other: Self, f: impl Fn($half, $half) -> $half) -> Self {
                let ([a, x], [b, y]) = (self.split(), other.split());
                Self::join([f(a, b), f(x, y)])
            }
            #[inline(always)]
            fn zip3(self, b: Self, c: Self, f: impl Fn($half, $half, $half) -> $half) -> Self {
                let ([a, x], [b, y], [c, z]) = (self.split(), b.split(), c.split());
                Self::join([f(a, b, c), f(x, y, z)])
            }
        }
    )*};
}

halves! {
    F16, F16x2;
    BF16, BF16x2;
}

/// Returns `a b + c` of widened halves: the product is exact, and Knuth's two-sum gives the
/// rounding error of the sum.
#[inline(always)]
pub fn fused<H: Half>(a: f32, b: f32, c: f32) -> H {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let part = sum - product;
    let lost = (product - (sum - part)) + (c - part);
    // An inexact sum uses all 53 digits, so its last digit can record that.
    let inexact = (lost < 0.0) | (lost > 0.0);
    let away = (lost > 0.0) == (sum > 0.0);
    let moves = inexact & (sum.to_bits() & 1 == 0);
    let step = if away { 1 } else { u64::MAX };
    H::narrow_f64(f64::from_bits(sum.to_bits().wrapping_add(if moves { step } else { 0 })))
}
