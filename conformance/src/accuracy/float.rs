//! Binary floating-point formats, rounding to them from higher precision, and distances in units in
//! the last place.
//!
//! Written only for this check: it shares no code with the conversions of the HAL.

use isobit_hal::{F8E4M3, F8E5M2, WithDType, bf16, f16};

/// A binary format with at most 24 bits of precision and with subnormals.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// The number of bits of an element.
    pub bits: u32,
    /// The number of significand bits, including the hidden one.
    pub precision: i32,
    /// The exponent of the smallest normal number.
    pub min_exponent: i32,
    /// The largest finite number.
    pub max: f64,
    /// Whether values beyond the largest number are rounded to it instead of to an infinity.
    pub saturates: bool,
}

/// A number known more precisely than an f64: `hi + lo`, within `hi * error` of the true value.
#[derive(Debug, Clone, Copy)]
pub struct Real {
    /// The leading part; NaN, an infinity or a signed zero if the value is one.
    pub hi: f64,
    /// The correction to add, less than half an ulp of `hi`; its sign alone may decide a tie.
    pub lo: f64,
    /// The relative error of `hi + lo`; 0 if the sum is exact, or so close that it rounds like the
    /// true value.
    pub error: f64,
}

impl Real {
    /// Creates an exact value.
    pub fn exact(hi: f64) -> Self {
        Self { hi, lo: 0.0, error: 0.0 }
    }

    /// Creates a value with a relative error.
    pub fn near(hi: f64, error: f64) -> Self {
        Self { hi, lo: 0.0, error }
    }

    /// Returns `hi + lo` rounded to odd in f64. Rounding that again to 51 bits or fewer is
    /// equivalent to rounding the sum once (Boldo and Melquiond, *Emulation of FMA and correctly
    /// rounded sums*, 2008).
    fn to_odd(self) -> f64 {
        if self.lo == 0.0 || self.hi.to_bits() & 1 == 1 {
            return self.hi;
        }
        if (self.lo > 0.0) == (self.hi > 0.0) {
            f64::from_bits(self.hi.to_bits() + 1)
        } else {
            f64::from_bits(self.hi.to_bits() - 1)
        }
    }
}

/// Returns 2^e for -1022 <= e <= 1023.
fn exp2i(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

impl Format {
    /// Returns the exponent of the last place of the floats around a finite, nonzero value.
    pub(crate) fn last_place(&self, v: f64) -> i32 {
        let exponent = (v.to_bits() >> 52 & 0x7ff) as i32 - 1023;
        exponent.max(self.min_exponent) - (self.precision - 1)
    }

    /// Returns the nearest float, ties to even.
    pub fn round(&self, v: f64) -> f64 {
        if v.is_nan() || v == 0.0 {
            return v;
        }
        let beyond = if self.saturates { self.max } else { f64::INFINITY };
        if v.is_infinite() {
            return beyond.copysign(v);
        }
        let e = self.last_place(v);
        let rounded = (v * exp2i(-e)).round_ties_even() * exp2i(e);
        (if rounded.abs() > self.max { beyond.copysign(v) } else { rounded }).copysign(v)
    }

    /// Returns the float nearest to a real, ties to even; `None` if the real's error leaves it
    /// undecided.
    pub fn round_real(&self, real: Real) -> Option<f64> {
        if real.error == 0.0 {
            return Some(self.round(real.to_odd()));
        }
        let (low, high) = (self.round(real.hi * (1.0 - real.error)), self.round(real.hi * (1.0 + real.error)));
        (low.to_bits() == high.to_bits() || low.is_nan() && high.is_nan()).then_some(low)
    }

    /// Returns the distance of a result from a real, in units in the last place around the real.
    /// `None` if a number cannot express it: a NaN on one side only, a zero of the wrong sign, or
    /// an infinity or a saturated result far from the end of the range.
    pub fn ulps(&self, got: f64, real: Real) -> Option<f64> {
        if real.hi.is_nan() || got.is_nan() {
            return (real.hi.is_nan() && got.is_nan()).then_some(0.0);
        }
        if real.hi == 0.0 || got == 0.0 && got.is_sign_negative() != real.hi.is_sign_negative() {
            return (got.to_bits() == real.hi.to_bits()).then_some(0.0);
        }
        // A value beyond the range counts as the first float outside it, so an infinity instead of
        // a value just below the end is about half an ulp off. A saturating format ends at its
        // largest number.
        let end = if self.saturates { self.max } else { self.max + exp2i(self.last_place(self.max)) };
        let (clipped, got) = (real.hi.clamp(-end, end), got.clamp(-end, end));
        let lo = if clipped == real.hi { real.lo } else { 0.0 };
        let e = if clipped.abs() == end { self.last_place(self.max) } else { self.last_place(clipped) };
        Some(((got - clipped - lo) * exp2i(-e)).abs())
    }
}

/// A float type whose true values are computed in f64.
pub trait Float: WithDType {
    /// Its format.
    const FORMAT: Format;
    /// Creates a value from its bits.
    fn from_bits(bits: u32) -> Self;
    /// Returns its bits.
    fn bits(self) -> u32;
    /// Returns its exact value.
    fn value(self) -> f64;
    /// Converts an exact or rounded value.
    fn nearest(v: f64) -> Self;
}

impl Float for F8E4M3 {
    const FORMAT: Format = Format { bits: 8, precision: 4, min_exponent: -6, max: 448.0, saturates: true };

    fn from_bits(bits: u32) -> Self {
        F8E4M3::from_bits(bits as u8)
    }

    fn bits(self) -> u32 {
        self.to_bits().into()
    }

    fn value(self) -> f64 {
        self.to_f32().into()
    }

    fn nearest(v: f64) -> Self {
        let v = Self::FORMAT.round(v);
        if v.is_nan() {
            return F8E4M3::from_bits(0x7f);
        }
        let place = Self::FORMAT.last_place(v);
        // The hidden bit of the significand carries into the exponent.
        let magnitude = ((place + 9) << 3) as u8 + (v.abs() * exp2i(-place)) as u8;
        F8E4M3::from_bits(magnitude | u8::from(v.is_sign_negative()) << 7)
    }
}

impl Float for F8E5M2 {
    const FORMAT: Format = Format { bits: 8, precision: 3, min_exponent: -14, max: 57344.0, saturates: false };

    fn from_bits(bits: u32) -> Self {
        F8E5M2::from_bits(bits as u8)
    }

    fn bits(self) -> u32 {
        self.to_bits().into()
    }

    fn value(self) -> f64 {
        self.to_f32().into()
    }

    fn nearest(v: f64) -> Self {
        // A number of the format is one of f16 whose lower half is 0.
        F8E5M2::from_bits((f16::from_f64(Self::FORMAT.round(v)).to_bits() >> 8) as u8)
    }
}

/// Implements `Float` for a 16-bit float of the half crate. The conversion from an f64 that is one
/// of the type's values is exact.
macro_rules! half_float {
    ($ty:ty, $format:expr) => {
        impl Float for $ty {
            const FORMAT: Format = $format;

            fn from_bits(bits: u32) -> Self {
                <$ty>::from_bits(bits as u16)
            }

            fn bits(self) -> u32 {
                self.to_bits().into()
            }

            fn value(self) -> f64 {
                self.to_f64()
            }

            fn nearest(v: f64) -> Self {
                <$ty>::from_f64(Self::FORMAT.round(v))
            }
        }
    };
}
half_float!(f16, Format { bits: 16, precision: 11, min_exponent: -14, max: 65504.0, saturates: false });
half_float!(bf16, Format { bits: 16, precision: 8, min_exponent: -126, max: 3.3895313892515355e38, saturates: false });

impl Float for f32 {
    const FORMAT: Format =
        Format { bits: 32, precision: 24, min_exponent: -126, max: f32::MAX as f64, saturates: false };

    fn from_bits(bits: u32) -> Self {
        f32::from_bits(bits)
    }

    fn bits(self) -> u32 {
        self.to_bits()
    }

    fn value(self) -> f64 {
        self.into()
    }

    fn nearest(v: f64) -> Self {
        v as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_float_rounds_to_itself_and_its_neighbourhood_to_it() {
        fn check<T: Float>() {
            let f = T::FORMAT;
            let finite = (0..1u32 << (f.bits - 1)).map(|b| T::from_bits(b).value()).filter(|v| v.is_finite());
            let values: Vec<f64> = finite.collect();
            assert_eq!(*values.last().expect("some"), f.max);
            for w in values.windows(2) {
                let (low, high) = (w[0], w[1]);
                let middle = (low + high) / 2.0;
                let nudge = middle * 2f64.powi(-50);
                let even = if (low / exp2i(f.last_place(middle))) % 2.0 == 0.0 { low } else { high };
                assert_eq!([low, middle - nudge, middle, middle + nudge].map(|v| f.round(v)), [low, low, even, high]);
                assert_eq!(f.round(-middle).to_bits(), (-even).to_bits());
                // A remainder too small for f64 decides the tie.
                let tie = |lo| f.round_real(Real { hi: middle, lo, error: 0.0 }).expect("decided");
                assert_eq!([tie(-1e-300), tie(1e-300)], [low, high]);
                assert_eq!(f.round_real(Real::near(middle, 2f64.powi(-50))), None);
                let ulp = high - low;
                assert_eq!(f.ulps(high, Real::exact(middle + ulp / 8.0)), Some(0.375));
            }
        }
        check::<F8E4M3>();
        check::<F8E5M2>();
        check::<f16>();
        check::<bf16>();
    }

    #[test]
    fn every_number_of_8_bits_is_nearest_to_itself() {
        for bits in (0..=255).filter(|bits| bits & 0x7f != 0x7f) {
            let of = |bits: u8| F8E4M3::from_bits(bits);
            assert_eq!(<F8E4M3 as Float>::nearest(of(bits).value()).to_bits(), bits);
        }
        assert_eq!([500.0, -1e300].map(|v| <F8E4M3 as Float>::nearest(v).to_bits()), [0x7e, 0xfe]);
        assert!(<F8E4M3 as Float>::nearest(f64::NAN).value().is_nan());
        for bits in (0..=255).filter(|&bits| !F8E5M2::from_bits(bits).is_nan()) {
            assert_eq!(<F8E5M2 as Float>::nearest(F8E5M2::from_bits(bits).value()).to_bits(), bits);
        }
        assert_eq!([61439.0, -61440.0].map(|v| <F8E5M2 as Float>::nearest(v).to_bits()), [0x7b, 0xfc]);
    }

    #[test]
    fn f32_rounds_as_the_language_does() {
        let mut bits = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Exponents that f32 can represent, and some just outside.
            let v = f64::from_bits(bits & 0x800f_ffff_ffff_ffff | (860 + (bits >> 52) % 300) << 52);
            assert_eq!(f32::FORMAT.round(v).to_bits(), f64::from(v as f32).to_bits(), "{v:e}");
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        let f = f16::FORMAT;
        assert_eq!([65519.9, 65520.0, -1e300].map(|v| f.round(v)), [65504.0, f64::INFINITY, f64::NEG_INFINITY]);
        assert_eq!(F8E4M3::FORMAT.round(f64::NEG_INFINITY), -448.0);
        assert_eq!(f.round(-1e-300).to_bits(), (-0.0f64).to_bits());
        assert_eq!(f.ulps(f64::INFINITY, Real::exact(1e9)), Some(0.0));
        assert_eq!(f.ulps(f64::INFINITY, Real::exact(65504.0)), Some(1.0));
        assert_eq!(f.ulps(65504.0, Real::exact(1e9)), Some(1.0));
        assert_eq!(F8E4M3::FORMAT.ulps(448.0, Real::exact(1e9)), Some(0.0));
        assert_eq!(f.ulps(f64::NAN, Real::exact(1.0)), None);
        assert_eq!(f.ulps(0.0, Real::exact(-0.0)), None);
        assert_eq!(f.ulps(0.0, Real::exact(-1e-300)), None);
        assert_eq!(f.ulps(-0.0, Real::exact(-2f64.powi(-26))), Some(0.25));
    }
}
