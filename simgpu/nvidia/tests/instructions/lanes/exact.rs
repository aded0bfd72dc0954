//! Exact sums of products of floating-point numbers, in fixed point with thousands of bits, to
//! check roundings. This code shares nothing with the arithmetic under test.

use isobit_simgpu_nvidia::exec::Rounding;
use std::cmp::Ordering;

/// Number of base-2^32 digits; the lowest has the weight 2^-LOWEST. This is enough for products of
/// binary64.
const DIGITS: usize = 150;
const LOWEST: i32 = 2240;

/// A number.
#[derive(Clone)]
pub struct Exact([i64; DIGITS]);

impl Exact {
    /// Zero.
    pub const ZERO: Self = Self([0; DIGITS]);

    /// Adds `integer 2^exponent`.
    #[must_use]
    pub fn plus(mut self, integer: i128, exponent: i32) -> Self {
        let place = (exponent + LOWEST) as usize;
        let (mut digit, shift) = (place / 32, place % 32);
        // Processes 32 bits at a time, so that the shift loses nothing.
        let (mut rest, sign) = (integer.unsigned_abs(), integer.signum() as i64);
        while rest != 0 {
            let part = u64::from(rest as u32) << shift;
            self.0[digit] += sign * i64::from(part as u32);
            self.0[digit + 1] += sign * (part >> 32) as i64;
            rest >>= 32;
            digit += 1;
        }
        self.carry()
    }

    /// Normalises every digit except the highest.
    fn carry(mut self) -> Self {
        for at in 0..DIGITS - 1 {
            let over = self.0[at] >> 32;
            self.0[at] -= over << 32;
            self.0[at + 1] += over;
        }
        self
    }

    /// Adds or subtracts the product of two values.
    #[must_use]
    pub fn plus_product(self, a: Value, b: Value, sign: i128) -> Self {
        self.plus(sign * a.integer * b.integer, a.exponent + b.exponent)
    }

    /// Negated.
    #[must_use]
    pub fn negated(self) -> Self {
        Self(self.0.map(|digit| -digit)).carry()
    }

    /// Multiplies by `integer 2^exponent`; digits that are dropped below must be zero.
    #[must_use]
    pub fn times(&self, integer: i128, exponent: i32) -> Self {
        let (negative, digits) = self.magnitude();
        let mut product = Self::ZERO;
        for (at, digit) in digits.iter().enumerate().filter(|(_, digit)| **digit != 0) {
            let part = i128::from(*digit) * integer;
            product = product.plus(if negative { -part } else { part }, at as i32 * 32 - LOWEST + exponent);
        }
        product
    }

    /// Returns the sign, and the digits of the magnitude.
    fn magnitude(&self) -> (bool, [i64; DIGITS]) {
        let negative = self.sign().is_lt();
        (negative, if negative { self.clone().negated().0 } else { self.0 })
    }

    /// Compares the square of `integer 2^exponent` with this number.
    pub fn squared_against(&self, integer: i128, exponent: i32) -> Ordering {
        let (_, digits) = self.magnitude();
        let mut difference = Self::ZERO.plus(integer, exponent);
        for (at, digit) in digits.iter().enumerate().filter(|(_, digit)| **digit != 0) {
            difference = difference.plus_scaled(self, -*digit, at as i32 * 32 - LOWEST);
        }
        difference.sign()
    }

    /// Adds another number, multiplied by `digit 2^exponent`.
    fn plus_scaled(mut self, other: &Self, digit: i64, exponent: i32) -> Self {
        let (_, digits) = other.magnitude();
        for (at, other) in digits.iter().enumerate().filter(|(_, other)| **other != 0) {
            self = self.plus(i128::from(*other) * i128::from(digit), at as i32 * 32 - LOWEST + exponent);
        }
        self
    }

    /// Compares the number with zero.
    pub fn sign(&self) -> Ordering {
        let highest = self.0.iter().rev().find(|digit| **digit != 0);
        highest.map_or(Ordering::Equal, |digit| digit.cmp(&0))
    }
}

/// A finite number, `integer 2^exponent`.
#[derive(Debug, Clone, Copy)]
pub struct Value {
    /// Its digits, with a sign.
    pub integer: i128,
    /// Their place.
    pub exponent: i32,
}

impl Value {
    /// One.
    pub const ONE: Self = Self { integer: 1, exponent: 0 };

    /// Converts to an exact number.
    pub fn exact(self) -> Exact {
        Exact::ZERO.plus(self.integer, self.exponent)
    }
}

/// Returns the value of bits in a format with these fields; `None` for infinities and NaNs.
pub fn value_of(bits: u64, exponent: u32, fraction: u32) -> Option<Value> {
    let field = (bits >> fraction) as i32 & ((1 << exponent) - 1);
    (field != (1 << exponent) - 1).then(|| magnitude_of(bits, exponent, fraction))
}

/// Like [`value_of`], but infinity becomes the number that would follow the greatest one.
fn magnitude_of(bits: u64, exponent: u32, fraction: u32) -> Value {
    let field = (bits >> fraction) as i32 & ((1 << exponent) - 1);
    let digits = (bits & ((1 << fraction) - 1)) as i128 + if field == 0 { 0 } else { 1 << fraction };
    let bias = (1 << (exponent - 1)) - 1;
    let integer = if bits >> (exponent + fraction) & 1 == 1 { -digits } else { digits };
    Value { integer, exponent: field.max(1) - bias - fraction as i32 }
}

/// Returns the direction that a modifier names.
pub fn rounding_of(name: &str) -> Rounding {
    match name {
        "rz" => Rounding::Zero,
        "rm" => Rounding::Down,
        "rp" => Rounding::Up,
        "rna" => Rounding::Away,
        _ => Rounding::Nearest,
    }
}

/// Checks that bits are the correct rounding of an exact value in a direction. The value is given
/// by its comparison with numbers of the format, and with sums of two of them, which are twice the
/// midpoint: `compare(number, times)` compares `times` the value with the number. `zero` is the
/// required sign of a zero.
#[track_caller]
pub fn check_rounded(
    got: u64,
    (exponent, fraction): (u32, u32),
    rounding: Rounding,
    zero: bool,
    compare: impl Fn(&Exact, i128) -> Ordering,
    what: &dyn std::fmt::Debug,
) {
    let infinity = ((1u64 << exponent) - 1) << fraction;
    let sign = 1 << (exponent + fraction);
    let size = got & !sign;
    assert!(size <= infinity, "{what:x?}: {got:#x} is a NaN");
    let of = |size: u64, negative: bool| magnitude_of(size | if negative { sign } else { 0 }, exponent, fraction);
    let exact = compare(&Exact::ZERO, 1);
    let negative = match exact {
        Ordering::Less => true,
        Ordering::Greater => false,
        Ordering::Equal => zero,
    };
    assert_eq!(got & sign != 0, negative, "{what:x?}: the sign of {got:#x}");
    // The code below compares magnitudes: it reverses comparisons if the value is negative.
    let turned = |order: Ordering| if negative { order.reverse() } else { order };
    let against = |a: u64, b: u64| {
        let (a, b) = (of(a, negative), of(b, negative));
        turned(compare(&Exact::ZERO.plus(a.integer, a.exponent).plus(b.integer, b.exponent), 2))
    };
    let here = against(size, size);
    // Whether the magnitude may be above the value, and whether it may be below it.
    let nearest = matches!(rounding, Rounding::Nearest | Rounding::Away);
    let toward_zero = match rounding {
        Rounding::Zero => true,
        Rounding::Down => !negative,
        Rounding::Up => negative,
        _ => false,
    };
    match here {
        Ordering::Equal => assert!(size != infinity || exact.is_eq() || !toward_zero, "{what:x?}: {got:#x}"),
        Ordering::Greater if size == infinity => {}
        Ordering::Greater => {
            // The value is beyond it: the next number must be too far.
            let ok = if nearest {
                let middle = against(size, size + 1);
                middle.is_lt() || middle.is_eq() && rounding == Rounding::Nearest && size & 1 == 0
            } else {
                toward_zero && (against(size + 1, size + 1).is_lt() || size + 1 == infinity)
            };
            assert!(ok, "{what:x?}: {got:#x} is too small, {rounding:?}");
        }
        Ordering::Less => {
            let ok = if nearest {
                let middle = against(size, size - 1);
                middle.is_gt() || middle.is_eq() && (rounding == Rounding::Away || size & 1 == 0)
            } else {
                !toward_zero && against(size - 1, size - 1).is_gt()
            };
            assert!(ok, "{what:x?}: {got:#x} is too large, {rounding:?}");
        }
    }
}
