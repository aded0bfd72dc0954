//! Float formats as bit fields: one description for all six, so that values, comparison and
//! distance are implemented once.

use isobit_hal::DType;

/// A binary float format. The bits are in the low end of a `u64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// The width of the exponent field in bits.
    pub exponent: u32,
    /// The width of the significand field in bits.
    pub significand: u32,
    /// False for f8e4m3, whose largest exponent is used for numbers and one NaN of each sign.
    pub infinities: bool,
}

/// Returns the format of a float dtype; `None` for integers.
pub fn format_of(dtype: DType) -> Option<Format> {
    let ieee = |exponent, significand| Some(Format { exponent, significand, infinities: true });
    match dtype {
        DType::F8E4M3 => Some(Format { exponent: 4, significand: 3, infinities: false }),
        DType::F8E5M2 => ieee(5, 2),
        DType::F16 => ieee(5, 10),
        DType::BF16 => ieee(8, 7),
        DType::F32 => ieee(8, 23),
        DType::F64 => ieee(11, 52),
        _ => None,
    }
}

impl Format {
    /// Returns the sign bit.
    pub const fn sign(self) -> u64 {
        1 << (self.exponent + self.significand)
    }

    /// Returns all bits except the sign.
    pub const fn magnitude(self) -> u64 {
        self.sign() - 1
    }

    /// Returns all bits of the significand field.
    pub const fn significand_mask(self) -> u64 {
        (1 << self.significand) - 1
    }

    /// Returns the bits of +infinity, or of the NaN if the format has no infinity.
    pub const fn infinity(self) -> u64 {
        if self.infinities { self.magnitude() & !self.significand_mask() } else { self.magnitude() }
    }

    /// Returns the bits of the largest finite number.
    pub const fn max_finite(self) -> u64 {
        self.infinity() - 1
    }

    /// Returns the exponent bias.
    pub const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// Returns the smallest exponent of a normal number.
    pub const fn min_exponent(self) -> i32 {
        1 - self.bias()
    }

    /// Returns the exponent of the largest number.
    pub const fn max_exponent(self) -> i32 {
        if self.infinities { self.bias() } else { self.bias() + 1 }
    }

    /// Whether the bits are a NaN of any payload.
    pub const fn is_nan(self, bits: u64) -> bool {
        let magnitude = bits & self.magnitude();
        if self.infinities { magnitude > self.infinity() } else { magnitude == self.magnitude() }
    }

    /// Whether the bits are an infinity of either sign.
    pub const fn is_infinite(self, bits: u64) -> bool {
        self.infinities && bits & self.magnitude() == self.infinity()
    }

    /// Returns the canonical NaN.
    pub const fn canonical_nan(self) -> u64 {
        if self.infinities { self.infinity() | 1 << (self.significand - 1) } else { self.magnitude() }
    }

    /// Returns the number with the given exponent and significand field: subnormal below the
    /// exponent range, the largest finite number above it.
    pub fn compose(self, negative: bool, exponent: i32, significand: u64) -> u64 {
        let significand = significand & self.significand_mask();
        let magnitude = if exponent > self.max_exponent() {
            self.max_finite()
        } else if exponent >= self.min_exponent() {
            ((exponent + self.bias()) as u64) << self.significand | significand
        } else {
            let shift = (self.min_exponent() - exponent) as u32;
            (1 << self.significand | significand).checked_shr(shift).unwrap_or(0)
        };
        let magnitude = magnitude.min(self.max_finite());
        if negative { magnitude | self.sign() } else { magnitude }
    }

    /// Returns the number nearest to a finite value (of two, the even one); truncates to
    /// subnormals, and clamps to the largest number.
    pub fn near(self, x: f64) -> u64 {
        let (bits, dropped) = (x.to_bits(), 52 - self.significand);
        if x == 0.0 || dropped == 0 {
            return if dropped == 0 { bits } else { bits >> 63 << (self.exponent + self.significand) };
        }
        let exponent = exponent_of(x.abs());
        let fraction = bits & ((1 << 52) - 1);
        // A carry out of the significand is one more for the exponent.
        let rounded = (fraction + (1 << (dropped - 1)) - 1 + (fraction >> dropped & 1)) >> dropped;
        let carry = (rounded >> self.significand) as i32;
        self.compose(bits >> 63 != 0, exponent + carry, rounded)
    }

    /// Returns the exact value; every value of every format is an `f64`.
    pub fn to_f64(self, bits: u64) -> f64 {
        if self.significand == 52 {
            return f64::from_bits(bits);
        }
        let magnitude = bits & self.magnitude();
        let value = if self.is_nan(bits) {
            f64::NAN
        } else if self.is_infinite(bits) {
            f64::INFINITY
        } else {
            let (field, significand) = (magnitude >> self.significand, magnitude & self.significand_mask());
            let (exponent, significand) = match field {
                0 => (self.min_exponent(), significand),
                _ => (field as i32 - self.bias(), significand | 1 << self.significand),
            };
            significand as f64 * power_of_two(exponent - self.significand as i32)
        };
        if bits & self.sign() != 0 { -value } else { value }
    }

    /// Returns the distance between neighbouring numbers at a magnitude. At and below the smallest
    /// normal number it is that of the subnormals; above the largest number it is that of the last
    /// binade.
    pub fn ulp_at(self, x: f64) -> f64 {
        let exponent = if x == 0.0 { i32::MIN } else { exponent_of(x.abs()) };
        power_of_two(exponent.clamp(self.min_exponent(), self.max_exponent()) - self.significand as i32)
    }

    /// Maps numbers to integers in order: neighbours differ by one, and -0 is one below +0.
    pub fn ordinal(self, bits: u64) -> i128 {
        let magnitude = i128::from(bits & self.magnitude());
        if bits & self.sign() != 0 { -1 - magnitude } else { magnitude }
    }
}

/// Returns `2^e`, exact over the whole range of `f64`, including subnormals.
pub fn power_of_two(e: i32) -> f64 {
    match e {
        ..=-1075 => 0.0,
        -1074..=-1023 => f64::from_bits(1 << (e + 1074)),
        -1022..=1023 => f64::from_bits(((e + 1023) as u64) << 52),
        _ => f64::INFINITY,
    }
}

/// Returns `floor(log2 x)` of a positive finite number.
fn exponent_of(x: f64) -> i32 {
    let field = (x.to_bits() >> 52 & 0x7ff) as i32;
    if field == 0 { -1011 - x.to_bits().leading_zeros() as i32 } else { field - 1023 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn values_are_those_of_the_half_crate_and_of_rust() {
        let (h, b, s) = (format_of(DType::F16), format_of(DType::BF16), format_of(DType::F32));
        for bits in 0..=u16::MAX {
            let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            assert!(same(h.unwrap().to_f64(bits.into()), f16::from_bits(bits).to_f64()), "{bits:#x}");
            assert!(same(b.unwrap().to_f64(bits.into()), bf16::from_bits(bits).to_f64()), "{bits:#x}");
            let wide = u32::from(bits) << 16 | u32::from(bits);
            assert!(same(s.unwrap().to_f64(wide.into()), f64::from(f32::from_bits(wide))), "{wide:#x}");
        }
    }

    #[test]
    fn the_nearest_number_is_that_of_the_half_crate_and_of_rust() {
        let (h, s) = (format_of(DType::F16).unwrap(), format_of(DType::F32).unwrap());
        for i in 0..20_000u64 {
            let x = (i as f64 * 0.731 - 7000.0) * 1.000_000_7 + 0.000_488_281_25;
            // From f64, the crate rounds to f32 first where the processor does.
            let narrow = x as f32;
            assert_eq!(h.near(narrow.into()), u64::from(f16::from_f32(narrow).to_bits()), "{x}");
            assert_eq!(s.near(x), u64::from((x as f32).to_bits()), "{x}");
        }
        for (x, nearest) in [(2049.0, 2048.0), (2051.0, 2052.0), (-4094.0 - 1.0, -4096.0), (0.0, 0.0)] {
            assert_eq!(h.near(x), u64::from(f16::from_f64(nearest).to_bits()), "{x}");
        }
        assert_eq!(h.near(1e9), h.max_finite());
        assert_eq!(format_of(DType::F64).unwrap().near(-0.1), (-0.1f64).to_bits());
    }

    /// The table of the OCP 8-bit floating point specification, revision 1.0.
    #[test]
    fn f8e4m3_is_ocps() {
        let f = format_of(DType::F8E4M3).unwrap();
        assert_eq!(f.to_f64(0x7e), 448.0);
        assert_eq!(f.max_finite(), 0x7e);
        assert!(f.is_nan(0x7f) && f.is_nan(0xff) && !f.is_nan(0x7e) && !f.is_infinite(0x7f));
        assert_eq!((f.to_f64(0x01), f.to_f64(0x08)), (2f64.powi(-9), 2f64.powi(-6)));
        assert_eq!(f.compose(true, 8, 6), 0xfe);
    }

    #[test]
    fn an_ulp_is_the_distance_to_the_next_number() {
        let f = format_of(DType::F32).unwrap();
        for x in [1.0f32, 1.5, 2.0, 3.9, f32::MIN_POSITIVE, 1e-40, 1e30] {
            let next = f32::from_bits(x.to_bits() + 1);
            assert_eq!(f.ulp_at(x.into()), f64::from(next) - f64::from(x), "{x}");
        }
        let d = format_of(DType::F64).unwrap();
        assert_eq!(d.ulp_at(f64::MAX), f64::MAX - f64::from_bits(f64::MAX.to_bits() - 1));
        assert_eq!(d.ulp_at(5e-324), 5e-324);
    }

    #[test]
    fn ordinals_count_numbers() {
        let f = format_of(DType::F32).unwrap();
        let at = |x: f32| f.ordinal(x.to_bits().into());
        assert_eq!(at(1.0f32.next_up()) - at(1.0), 1);
        assert_eq!(at(0.0) - at(-0.0), 1);
        assert_eq!(at(-1.0) - at((-1.0f32).next_down()), 1);
    }
}
