//! The types in which numbers are stored and computed.

use half::{bf16, f16};

mod complex;

pub use complex::Complex;

/// A type in which sums are computed.
pub trait Compute: bytemuck::Pod + Default + PartialEq {
    /// Returns the rounded sum.
    fn plus(self, other: Self) -> Self;
    /// Returns the rounded product.
    fn times(self, other: Self) -> Self;

    /// Returns the complex conjugate; a real number is its own.
    #[inline]
    fn conjugate(self) -> Self {
        self
    }

    /// Whether the number is zero, of either sign.
    fn is_zero(self) -> bool {
        self == Self::default()
    }
}

macro_rules! float {
    ($($t:ty),*) => {$(
        impl Compute for $t {
            #[inline]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline]
            fn times(self, other: Self) -> Self {
                self * other
            }
        }
    )*};
}

float!(f16, f32, f64);

/// Overflow wraps.
impl Compute for i32 {
    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
}

/// A type of factors.
pub trait Input<C>: Copy + 'static {
    /// Converts exactly to the compute type.
    fn widen(self) -> C;
}

/// A type of results.
pub trait Output<C>: Input<C> {
    /// Rounds once, to nearest even.
    fn round(value: C) -> Self;
}

impl<C: Compute> Input<C> for C {
    #[inline]
    fn widen(self) -> C {
        self
    }
}

impl<C: Compute> Output<C> for C {
    #[inline]
    fn round(value: C) -> Self {
        value
    }
}

macro_rules! exact {
    ($($from:ty => $to:ty),*) => {$(
        impl Input<$to> for $from {
            #[inline]
            fn widen(self) -> $to {
                self.into()
            }
        }
    )*};
}

exact!(i8 => i32, i8 => f32);

macro_rules! narrow {
    ($($t:ty),*) => {$(
        impl Input<f32> for $t {
            #[inline]
            fn widen(self) -> f32 {
                self.to_f32()
            }
        }

        impl Output<f32> for $t {
            #[inline]
            fn round(value: f32) -> Self {
                Self::from_f32(value)
            }
        }
    )*};
}

narrow!(f16, bf16);

/// A float of 8 bits with a significand of four, without infinities (OCP E4M3).
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct F8E4M3(pub u8);

impl Input<f32> for F8E4M3 {
    fn widen(self) -> f32 {
        let (exponent, fraction) = (i32::from(self.0 >> 3 & 15), f32::from(self.0 & 7));
        let magnitude = match exponent {
            15 if self.0 & 7 == 7 => f32::NAN,
            0 => fraction * 2f32.powi(-9),
            _ => (8.0 + fraction) * 2f32.powi(exponent - 10),
        };
        if self.0 & 0x80 == 0 { magnitude } else { -magnitude }
    }
}

/// A float of 8 bits with a significand of three (OCP E5M2): the upper half of an f16.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct F8E5M2(pub u8);

impl Input<f32> for F8E5M2 {
    fn widen(self) -> f32 {
        f16::from_bits(u16::from(self.0) << 8).to_f32()
    }
}

/// Rounds to the nearest number with ten mantissa bits, ties away from zero, as matrix units take
/// f32 in the precision of TF32 (`cvt.rna.tf32.f32`).
pub fn tf32(value: f32) -> f32 {
    if !value.is_finite() {
        return value;
    }
    // A carry goes into the exponent and gives the next power of two, or infinity.
    f32::from_bits((value.to_bits() + 0x1000) & !0x1fff)
}

/// A number of single precision that is multiplied in the precision of TF32.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Tf32(pub f32);

impl Input<f32> for Tf32 {
    #[inline]
    fn widen(self) -> f32 {
        tf32(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tf32_has_ten_bits() {
        let step = 1.0 / 1024.0;
        assert_eq!([tf32(1.0), tf32(1.0 + step), tf32(-1.0 - step)], [1.0, 1.0 + step, -1.0 - step]);
        assert_eq!([tf32(1.0 + step / 2.0), tf32(-1.0 - step / 2.0)], [1.0 + step, -1.0 - step], "halfway");
        assert_eq!(tf32(1.0 + step * 0.4999), 1.0);
        assert_eq!(tf32(2.0 - step / 8.0), 2.0, "a carry");
        assert_eq!(tf32(f32::MAX), f32::INFINITY);
        assert!(tf32(f32::from_bits(0x7f80_0001)).is_nan() && tf32(f32::NEG_INFINITY) == f32::NEG_INFINITY);
    }

    #[test]
    fn floats_of_eight_bits_widen() {
        let e4m3 = [0x00, 0x01, 0x07, 0x08, 0x38, 0xb9, 0x7e].map(|bits| F8E4M3(bits).widen());
        assert_eq!(e4m3, [0.0, 1.0 / 512.0, 7.0 / 512.0, 1.0 / 64.0, 1.0, -1.125, 448.0]);
        assert!(F8E4M3(0x7f).widen().is_nan() && F8E4M3(0xff).widen().is_nan() && F8E5M2(0x7d).widen().is_nan());
        let e5m2 = [0x80, 0x01, 0x3c, 0xc5, 0x7b, 0x7c].map(|bits| F8E5M2(bits).widen());
        assert_eq!(e5m2, [-0.0, 2f32.powi(-16), 1.0, -5.0, 57344.0, f32::INFINITY]);
    }
}
