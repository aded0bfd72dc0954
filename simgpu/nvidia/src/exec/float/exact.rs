//! Integer arithmetic with a single rounding in any direction.
//!
//! A result is an integer of up to 127 bits and an exponent. If it has more bits, the last bit
//! stands for all the dropped ones: it is set if any of them is. Sums keep at least 20 bits below
//! the last place of the rounded format. This is exact even after a cancellation: bits are dropped
//! only if the operands are so far apart that at most one bit cancels.

use super::format::{Format, Ieee, Number};
use super::round::{Cut, Rounding};

/// The number `integer 2^exponent`, with a sign; a zero has a sign too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exact {
    /// Its sign.
    pub negative: bool,
    /// Its digits.
    pub integer: u128,
    /// The exponent of the last digit.
    pub exponent: i32,
}

/// Shifts right; if any set bit is dropped, sets the last bit.
fn jam(x: u128, by: u32) -> u128 {
    match by {
        0 => x,
        1..=127 => x >> by | u128::from(x & ((1 << by) - 1) != 0),
        _ => u128::from(x != 0),
    }
}

impl Exact {
    /// Converts an integer.
    pub fn of_integer(value: i128) -> Self {
        Self { negative: value < 0, integer: value.unsigned_abs(), exponent: 0 }
    }

    /// Returns the negated number.
    pub fn negated(self) -> Self {
        Self { negative: !self.negative, ..self }
    }

    /// Returns the number with its highest digit at position 125, so that two such numbers can be
    /// added.
    fn aligned(self) -> Self {
        let by = self.integer.leading_zeros() as i32 - 2;
        Self { integer: self.integer << by, exponent: self.exponent - by, ..self }
    }

    /// Returns the sum. An exact zero is negative if both operands are negative, or if the rounding
    /// is down and one operand is negative.
    pub fn plus(self, other: Self, rounding: Rounding) -> Self {
        let zero = |a: Self, b: Self| {
            let differ = a.negative != b.negative;
            let negative = if differ { rounding == Rounding::Down } else { a.negative };
            Self { negative, integer: 0, exponent: 0 }
        };
        match (self.integer, other.integer) {
            (0, 0) => return zero(self, other),
            (0, _) => return other,
            (_, 0) => return self,
            _ => {}
        }
        let (a, b) = (self.aligned(), other.aligned());
        let (a, b) = if (a.exponent, a.integer) < (b.exponent, b.integer) { (b, a) } else { (a, b) };
        let less = jam(b.integer, (a.exponent - b.exponent) as u32);
        let integer = if a.negative == b.negative { a.integer + less } else { a.integer - less };
        if integer == 0 { zero(a, b) } else { Self { integer, ..a } }
    }

    /// Returns the product of two 64-bit numbers.
    pub fn times(self, other: Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            integer: self.integer * other.integer,
            exponent: self.exponent + other.exponent,
        }
    }

    /// Returns the quotient of two 64-bit numbers; the divisor is not zero.
    pub fn over(self, other: Self) -> Self {
        let negative = self.negative != other.negative;
        if self.integer == 0 {
            return Self { negative, ..self };
        }
        let by = self.integer.leading_zeros();
        let (dividend, divisor) = (self.integer << by, other.integer);
        let integer = (dividend / divisor) | u128::from(dividend % divisor != 0);
        Self { negative, integer, exponent: self.exponent - by as i32 - other.exponent }
    }

    /// Returns the square root of a number that is not negative.
    pub fn root(self) -> Self {
        if self.integer == 0 {
            return self;
        }
        let by = self.integer.leading_zeros() as i32;
        let by = by - ((self.exponent - by) & 1);
        let (square, exponent) = (self.integer << by, self.exponent - by);
        let root = square.isqrt();
        // One more digit after the root stands for the remainder.
        let integer = root << 1 | u128::from(root * root != square);
        Self { integer, exponent: exponent / 2 - 1, ..self }
    }

    /// Rounds the magnitude of `self 2^-place` to an integer in a direction.
    pub fn integer_at(self, place: i32, rounding: Rounding) -> u128 {
        let by = place - self.exponent;
        if by <= 0 {
            return if by > -128 { self.integer << -by } else { 0 };
        }
        let (kept, cut) = if by > 127 {
            (0, if self.integer == 0 { Cut::Nothing } else { Cut::Less })
        } else {
            let (rest, half) = (self.integer & ((1 << by) - 1), 1 << (by - 1));
            let cut = match rest {
                0 => Cut::Nothing,
                _ if rest < half => Cut::Less,
                _ if rest == half => Cut::Half,
                _ => Cut::More,
            };
            (self.integer >> by, cut)
        };
        kept + u128::from(rounding.increments(self.negative, kept & 1 != 0, cut))
    }

    /// Rounds to a format and returns the bits, and whether the number was too large. In that case
    /// the bits are infinity (or its substitute) or the greatest number.
    pub fn round(self, format: Format, rounding: Rounding) -> (u64, bool) {
        let sign = u64::from(self.negative) << format.sign();
        if self.integer == 0 {
            return (sign, false);
        }
        let length = 128 - self.integer.leading_zeros() as i32;
        // The last place: given by the precision, or by that of the smallest numbers.
        let place = (self.exponent + length - format.precision as i32).max(format.least());
        let digits = self.integer_at(place, rounding) as u64;
        // The leading digit of a normal number adds one to the exponent field, and so does a carry
        // out of the digits.
        let field = (place - format.least()) as u64;
        let bits = (field << (format.precision - 1)) + digits;
        if bits < format.infinity() {
            return (sign | bits, false);
        }
        let to_infinity = match rounding {
            Rounding::Nearest | Rounding::Away => true,
            Rounding::Zero => false,
            Rounding::Down => self.negative,
            Rounding::Up => !self.negative,
        };
        (sign | if to_infinity { format.infinity() } else { format.greatest() }, true)
    }

    /// Rounds to a type.
    fn to<T: Ieee>(self, rounding: Rounding) -> T {
        T::from_word(self.round(T::FORMAT, rounding).0)
    }
}

/// Decodes operands that are all finite.
fn finite<T: Ieee, const N: usize>(values: [T; N]) -> Option<[Exact; N]> {
    let mut numbers = [Exact::of_integer(0); N];
    for (number, value) in numbers.iter_mut().zip(values) {
        match T::FORMAT.take_apart(value.to_word()) {
            Number::Finite(exact) => *number = exact,
            _ => return None,
        }
    }
    Some(numbers)
}

/// Returns `a + b`; `near` is the sum rounded to nearest, which is correct if an operand is not
/// finite.
pub fn sum<T: Ieee>(a: T, b: T, near: T, rounding: Rounding) -> T {
    finite([a, b]).map_or(near, |[a, b]| a.plus(b, rounding).to(rounding))
}

/// Returns `a - b`; see [`sum`].
pub fn difference<T: Ieee>(a: T, b: T, near: T, rounding: Rounding) -> T {
    finite([a, b]).map_or(near, |[a, b]| a.plus(b.negated(), rounding).to(rounding))
}

/// Returns `a b`; see [`sum`].
pub fn product<T: Ieee>(a: T, b: T, near: T, rounding: Rounding) -> T {
    finite([a, b]).map_or(near, |[a, b]| a.times(b).to(rounding))
}

/// Returns `a b + c`; see [`sum`].
pub fn fused<T: Ieee>(a: T, b: T, c: T, near: T, rounding: Rounding) -> T {
    finite([a, b, c]).map_or(near, |[a, b, c]| a.times(b).plus(c, rounding).to(rounding))
}

/// Returns `a / b`; see [`sum`].
pub fn quotient<T: Ieee>(a: T, b: T, near: T, rounding: Rounding) -> T {
    match finite([a, b]) {
        Some([a, b]) if b.integer != 0 => a.over(b).to(rounding),
        _ => near,
    }
}

/// Returns the square root; see [`sum`].
pub fn root<T: Ieee>(a: T, near: T, rounding: Rounding) -> T {
    match finite([a]) {
        Some([a]) if !a.negative => a.root().to(rounding),
        _ => near,
    }
}
