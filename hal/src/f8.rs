//! The 8-bit floats of the [OCP 8-bit Floating Point Specification], [`F8E4M3`] and [`F8E5M2`], in
//! the style of `half::f16`. The crate [`half`] does not provide them.
//!
//! [OCP 8-bit Floating Point Specification]: https://www.opencompute.org/documents/ocp-8-bit-floating-point-specification-ofp8-revision-1-0-2023-12-01-pdf-1
//! [`half`]: https://docs.rs/half

use core::cmp::Ordering;
use core::fmt;
use core::ops::Neg;
use core::str::FromStr;

/// Truncates to f32 and sets the last bit if anything was cut off. Rounding the result again gives
/// the same as rounding the f64 once (Boldo and Melquiond, 2008).
pub(crate) const fn round_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let back = nearest as f64;
    let cut = nearest.to_bits() - (back.abs() > value.abs()) as u32;
    f32::from_bits(cut | (back != value) as u32)
}

/// An 8-bit float with one sign bit, four exponent bits (bias 7) and three fraction bits: "E4M3" in
/// the OCP specification, also known as `e4m3fn`.
///
/// It has no infinities: the largest finite value is 448, and `S.1111.111` is NaN. Conversions to
/// it round once, to nearest even, and saturate to ±448. Infinities saturate too; PyTorch converts
/// them to NaN.
///
/// Values compare as numbers: NaN is not equal to anything, and both zeros are equal.
///
/// ```rust
/// use isobit_hal::F8E4M3;
///
/// let x = F8E4M3::from_f32(0.3);
/// assert_eq!((x.to_bits(), x.to_f32()), (0x2a, 0.3125));
/// assert_eq!(F8E4M3::from_f32(1e9), F8E4M3::MAX);
/// assert_eq!(F8E4M3::MAX.to_f32(), 448.0);
/// ```
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct F8E4M3(u8);

impl F8E4M3 {
    /// The largest finite value, 448.
    pub const MAX: Self = Self(0x7e);
    /// The smallest finite value, -448.
    pub const MIN: Self = Self(0xfe);
    /// The smallest positive normal value, 2⁻⁶.
    pub const MIN_POSITIVE: Self = Self(0x08);
    /// The smallest positive subnormal value, 2⁻⁹.
    pub const MIN_POSITIVE_SUBNORMAL: Self = Self(0x01);
    /// The largest subnormal value, 7·2⁻⁹.
    pub const MAX_SUBNORMAL: Self = Self(0x07);
    /// The distance between 1 and the next larger value, 2⁻³.
    pub const EPSILON: Self = Self(0x20);
    /// A NaN.
    pub const NAN: Self = Self(0x7f);
    /// 0.
    pub const ZERO: Self = Self(0x00);
    /// -0.
    pub const NEG_ZERO: Self = Self(0x80);
    /// 1.
    pub const ONE: Self = Self(0x38);
    /// -1.
    pub const NEG_ONE: Self = Self(0xb8);
    /// The number of significant binary digits, including the implicit one.
    pub const MANTISSA_DIGITS: u32 = 4;

    /// Rounds to nearest, ties to even, and saturates to ±448; NaN gives a NaN.
    #[inline]
    pub const fn from_f32(value: f32) -> Self {
        let magnitude = value.to_bits() & 0x7fff_ffff;
        let sign = ((value.to_bits() >> 24) & 0x80) as u8;
        let rounded = if magnitude > 0x7f80_0000 {
            0x7f
        } else if magnitude >= 448f32.to_bits() {
            0x7e
        } else if magnitude < 0x3c80_0000 {
            // The unit of the subnormals, 2⁻⁹, is the unit in the last place of an f32 near 2¹⁴, so
            // the addition rounds.
            ((f32::from_bits(magnitude) + 16384.0).to_bits() - 16384f32.to_bits()) as u8
        } else {
            // Rounds away 20 fraction bits, with a carry into the exponent, and changes the bias
            // from 127 to 7.
            ((magnitude + 0x7_ffff + ((magnitude >> 20) & 1) - (120 << 23)) >> 20) as u8
        };
        Self(sign | rounded)
    }

    /// Converts the value exactly.
    #[inline]
    pub const fn to_f32(self) -> f32 {
        let magnitude = (self.0 & 0x7f) as u32;
        let bits = if magnitude == 0x7f {
            f32::NAN.to_bits()
        } else {
            // The shift places exponent and fraction in the fields of an f32; the product changes
            // the bias from 7 to 127, including for subnormals.
            (f32::from_bits(magnitude << 20) * f32::from_bits((127 + 120) << 23)).to_bits()
        };
        f32::from_bits(((self.0 & 0x80) as u32) << 24 | bits)
    }

    /// Whether the value is a NaN.
    #[inline]
    pub const fn is_nan(self) -> bool {
        self.0 & 0x7f == 0x7f
    }

    /// Whether the value is not a NaN (there are no infinities).
    #[inline]
    pub const fn is_finite(self) -> bool {
        !self.is_nan()
    }
}

/// An 8-bit float with one sign bit, five exponent bits (bias 15) and two fraction bits: "E5M2" in
/// the OCP specification. It is the upper half of a binary16, with its infinities and NaNs.
///
/// The largest finite value is 57344. Conversions to it round once, to nearest even, and overflow
/// to infinity from 61440 on, as those of IEEE 754 do.
///
/// Values compare as numbers: NaN is not equal to anything, and both zeros are equal.
///
/// ```rust
/// use isobit_hal::F8E5M2;
///
/// let x = F8E5M2::from_f32(0.3);
/// assert_eq!((x.to_bits(), x.to_f32()), (0x35, 0.3125));
/// assert_eq!(F8E5M2::from_f32(61439.0), F8E5M2::MAX);
/// assert_eq!(F8E5M2::from_f32(61440.0), F8E5M2::INFINITY);
/// assert_eq!(F8E5M2::MAX.to_f32(), 57344.0);
/// ```
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct F8E5M2(u8);

impl F8E5M2 {
    /// The largest finite value, 57344.
    pub const MAX: Self = Self(0x7b);
    /// The smallest finite value, -57344.
    pub const MIN: Self = Self(0xfb);
    /// The smallest positive normal value, 2⁻¹⁴.
    pub const MIN_POSITIVE: Self = Self(0x04);
    /// The smallest positive subnormal value, 2⁻¹⁶.
    pub const MIN_POSITIVE_SUBNORMAL: Self = Self(0x01);
    /// The largest subnormal value, 3·2⁻¹⁶.
    pub const MAX_SUBNORMAL: Self = Self(0x03);
    /// The distance between 1 and the next larger value, 2⁻².
    pub const EPSILON: Self = Self(0x34);
    /// Infinity.
    pub const INFINITY: Self = Self(0x7c);
    /// Minus infinity.
    pub const NEG_INFINITY: Self = Self(0xfc);
    /// A NaN.
    pub const NAN: Self = Self(0x7e);
    /// 0.
    pub const ZERO: Self = Self(0x00);
    /// -0.
    pub const NEG_ZERO: Self = Self(0x80);
    /// 1.
    pub const ONE: Self = Self(0x3c);
    /// -1.
    pub const NEG_ONE: Self = Self(0xbc);
    /// The number of significant binary digits, including the implicit one.
    pub const MANTISSA_DIGITS: u32 = 3;

    /// Rounds to nearest, ties to even; from 61440 on to infinity. NaN gives a NaN.
    #[inline]
    pub const fn from_f32(value: f32) -> Self {
        let magnitude = value.to_bits() & 0x7fff_ffff;
        let sign = ((value.to_bits() >> 24) & 0x80) as u8;
        let rounded = if magnitude > 0x7f80_0000 {
            0x7e
        } else if magnitude >= 61440f32.to_bits() {
            0x7c
        } else if magnitude < 0x3880_0000 {
            // The unit of the subnormals, 2⁻¹⁶, is the unit in the last place of an f32 near 2⁷, so
            // the addition rounds.
            ((f32::from_bits(magnitude) + 128.0).to_bits() - 128f32.to_bits()) as u8
        } else {
            // Rounds away 21 fraction bits, with a carry into the exponent, and changes the bias
            // from 127 to 15.
            ((magnitude + 0xf_ffff + ((magnitude >> 21) & 1) - (112 << 23)) >> 21) as u8
        };
        Self(sign | rounded)
    }

    /// Converts the value exactly.
    #[inline]
    pub const fn to_f32(self) -> f32 {
        let magnitude = (self.0 & 0x7f) as u32;
        let bits = if magnitude > 0x7c {
            f32::NAN.to_bits()
        } else if magnitude == 0x7c {
            f32::INFINITY.to_bits()
        } else {
            // As for F8E4M3; the bias is 15.
            (f32::from_bits(magnitude << 21) * f32::from_bits((127 + 112) << 23)).to_bits()
        };
        f32::from_bits(((self.0 & 0x80) as u32) << 24 | bits)
    }

    /// Whether the value is a NaN.
    #[inline]
    pub const fn is_nan(self) -> bool {
        self.0 & 0x7f > 0x7c
    }

    /// Whether the value is infinite.
    #[inline]
    pub const fn is_infinite(self) -> bool {
        self.0 & 0x7f == 0x7c
    }

    /// Whether the value is neither a NaN nor infinite.
    #[inline]
    pub const fn is_finite(self) -> bool {
        self.0 & 0x7f < 0x7c
    }
}

/// Defines what does not depend on the division of the bits.
macro_rules! eight_bits {
    ($($ty:ident)*) => {$(
        impl $ty {
            /// Returns the value with these bits.
            #[inline]
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// Returns the bits of the value.
            #[inline]
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// Rounds as [`from_f32`](Self::from_f32) does, and only once.
            #[inline]
            pub const fn from_f64(value: f64) -> Self {
                Self::from_f32(round_to_odd(value))
            }

            /// Converts the value exactly.
            #[inline]
            pub const fn to_f64(self) -> f64 {
                self.to_f32() as f64
            }

            /// Whether the sign bit is set, including that of a zero or NaN.
            #[inline]
            pub const fn is_sign_negative(self) -> bool {
                self.0 & 0x80 != 0
            }

            /// Whether the sign bit is clear, including that of a zero or NaN.
            #[inline]
            pub const fn is_sign_positive(self) -> bool {
                !self.is_sign_negative()
            }

            /// Compares in the order of IEEE 754's totalOrder: negative NaN, numbers with -0 below
            /// 0, positive NaN.
            #[inline]
            pub fn total_cmp(&self, other: &Self) -> Ordering {
                let key = |x: u8| if x & 0x80 != 0 { !x } else { x | 0x80 };
                key(self.0).cmp(&key(other.0))
            }
        }

        impl PartialEq for $ty {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $ty {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl Neg for $ty {
            type Output = Self;

            #[inline]
            fn neg(self) -> Self {
                Self(self.0 ^ 0x80)
            }
        }

        impl From<$ty> for f32 {
            #[inline]
            fn from(value: $ty) -> Self {
                value.to_f32()
            }
        }

        impl From<$ty> for f64 {
            #[inline]
            fn from(value: $ty) -> Self {
                value.to_f64()
            }
        }

        impl fmt::Debug for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        impl FromStr for $ty {
            type Err = core::num::ParseFloatError;

            /// Parses what `f64` parses, then rounds as `from_f64` does.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                f64::from_str(text).map(Self::from_f64)
            }
        }
    )*};
}
eight_bits! { F8E4M3 F8E5M2 }
