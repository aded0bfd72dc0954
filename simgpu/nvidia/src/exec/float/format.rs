//! The binary formats, with their parameters, and the types of register values.

use super::exact::Exact;
use crate::exec::half;

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Bits of the significand, including the leading one.
    pub precision: u32,
    /// Bits of the exponent.
    pub exponent: u32,
    /// The format has no infinities, and only one NaN per sign: all bits are ones.
    pub finite: bool,
}

/// binary32
pub const F32: Format = Format { precision: 24, exponent: 8, finite: false };
/// binary64
pub const F64: Format = Format { precision: 53, exponent: 11, finite: false };
/// binary16
pub const F16: Format = Format { precision: 11, exponent: 5, finite: false };
/// bfloat16
pub const BF16: Format = Format { precision: 8, exponent: 8, finite: false };
/// TensorFloat-32, stored in the upper bits of a word.
pub const TF32: Format = Format { precision: 11, exponent: 8, finite: false };
/// E4M3, whose greatest number is 448.
pub const E4M3: Format = Format { precision: 4, exponent: 4, finite: true };
/// E5M2
pub const E5M2: Format = Format { precision: 3, exponent: 5, finite: false };

impl Format {
    /// Returns the exponent of the last place of the smallest numbers.
    pub const fn least(self) -> i32 {
        3 - (1 << (self.exponent - 1)) - self.precision as i32
    }

    /// Returns the bits of infinity, or the first bit pattern above all numbers.
    pub const fn infinity(self) -> u64 {
        let special = ((1 << self.exponent) - 1) << (self.precision - 1);
        if self.finite { special | ((1 << (self.precision - 1)) - 1) } else { special }
    }

    /// Returns the bits of the greatest number.
    pub const fn greatest(self) -> u64 {
        self.infinity() - 1
    }

    /// Returns the position of the sign bit.
    pub const fn sign(self) -> u32 {
        self.exponent + self.precision - 1
    }

    /// Decodes bits.
    pub fn take_apart(self, bits: u64) -> Number {
        let negative = bits >> self.sign() & 1 != 0;
        let magnitude = bits & ((1 << self.sign()) - 1);
        if magnitude > self.infinity() || self.finite && magnitude == self.infinity() {
            return Number::Nan;
        }
        if magnitude == self.infinity() {
            return Number::Infinity { negative };
        }
        let field = (magnitude >> (self.precision - 1)) as i32;
        let fraction = u128::from(magnitude & ((1 << (self.precision - 1)) - 1));
        let implicit = if field == 0 { 0 } else { 1 << (self.precision - 1) };
        Number::Finite(Exact { negative, integer: fraction | implicit, exponent: self.least() + field.max(1) - 1 })
    }
}

/// A decoded value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// Not a number.
    Nan,
    /// Infinity.
    Infinity {
        /// Negative infinity.
        negative: bool,
    },
    /// A finite number.
    Finite(Exact),
}

/// A register type that holds values of a format.
pub trait Ieee: Copy {
    /// The format.
    const FORMAT: Format;
    /// Returns the bits of a value.
    fn to_word(self) -> u64;
    /// Returns the value with these bits.
    fn from_word(bits: u64) -> Self;
}

macro_rules! ieee {
    ($($type:ty, $format:expr, |$x:ident| $to:expr, |$y:ident| $from:expr;)*) => {$(
        impl Ieee for $type {
            const FORMAT: Format = $format;
            #[inline(always)]
            fn to_word(self) -> u64 {
                let $x = self;
                $to.into()
            }
            #[inline(always)]
            fn from_word($y: u64) -> Self {
                $from
            }
        }
    )*};
}

ieee! {
    f32, F32, |x| x.to_bits(), |bits| Self::from_bits(bits as u32);
    f64, F64, |x| x.to_bits(), |bits| Self::from_bits(bits);
    half::F16, F16, |x| x.0, |bits| Self(bits as u16);
    half::BF16, BF16, |x| x.0, |bits| Self(bits as u16);
}
