//! Arithmetic in integers, rounded once in any direction.
//!
//! A result is an integer of up to 127 bits and an exponent. Where it has more bits the last one
//! stands for all that follow: it is set if any of them is. Sums keep at least 20 bits below the
//! last place of what they are rounded to, so that this is exact after a cancellation too: bits
//! fall off only where the operands are so far apart that one bit cancels at most.

use super::format::{Format, Ieee, Number};
use super::round::{Cut, Rounding};

/// `integer 2^exponent`, negative or not; a zero has a sign too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exact {
    /// Its sign.
    pub negative: bool,
    /// Its digits.
    pub integer: u128,
    /// The place of the last one.
    pub exponent: i32,
}

/// Shifted right; what falls off leaves a one in the last place.
fn jam(x: u128, by: u32) -> u128 {
    match by {
        0 => x,
        1..=127 => x >> by | u128::from(x & ((1 << by) - 1) != 0),
        _ => u128::from(x != 0),
    }
}

impl Exact {
    /// An integer.
    pub fn of_integer(value: i128) -> Self {
        Self { negative: value < 0, integer: value.unsigned_abs(), exponent: 0 }
    }

    /// Negated.
    pub fn negated(self) -> Self {
        Self { negative: !self.negative, ..self }
    }

    /// With its highest digit in place 125, so that two can be added.
    fn aligned(self) -> Self {
        let by = self.integer.leading_zeros() as i32 - 2;
        Self { integer: self.integer << by, exponent: self.exponent - by, ..self }
    }

    /// The sum. An exact zero is negative where both operands are, or where it is rounded down and
    /// one of them is.
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

    /// The product of two numbers of 64 bits.
    pub fn times(self, other: Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            integer: self.integer * other.integer,
            exponent: self.exponent + other.exponent,
        }
    }

    /// The quotient of two numbers of 64 bits, the second not zero.
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

    /// The square root of a number that is not negative.
    pub fn root(self) -> Self {
        if self.integer == 0 {
            return self;
        }
        let by = self.integer.leading_zeros() as i32;
        let by = by - ((self.exponent - by) & 1);
        let (square, exponent) = (self.integer << by, self.exponent - by);
        let root = square.isqrt();
        // The root is followed by another digit that stands for the rest.
        let integer = root << 1 | u128::from(root * root != square);
        Self { integer, exponent: exponent / 2 - 1, ..self }
    }

    /// The integer nearest to `self 2^-place`, in a direction, as magnitude.
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

    /// The bits of a format, and whether it was too large: then they are infinity (or what stands
    /// for it) or the greatest number.
    pub fn round(self, format: Format, rounding: Rounding) -> (u64, bool) {
        let sign = u64::from(self.negative) << format.sign();
        if self.integer == 0 {
            return (sign, false);
        }
        let length = 128 - self.integer.leading_zeros() as i32;
        // The last place: that of so many digits, or of the least numbers.
        let place = (self.exponent + length - format.precision as i32).max(format.least());
        let digits = self.integer_at(place, rounding) as u64;
        // The leading digit of a normal number counts one up in the field of the exponent, as does
        // a carry out of the digits.
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

    /// The value of a format.
    fn to<T: Ieee>(self, rounding: Rounding) -> T {
        T::from_word(self.round(T::FORMAT, rounding).0)
    }
}

/// The numbers of finite operands.
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

/// `a + b`; `near` is that rounded to nearest, which is right where an operand is not finite.
pub fn sum<T: Ieee>(a: T, b: T, near: T, rounding: Rounding) -> T {
    finite([a, b]).map_or(near, |[a, b]| a.plus(b, rounding).to(rounding))
}

/// `a - b`, as [`sum`].
pub fn difference<T: Ieee>(a: T, b: T, near: T, rounding: Rounding) -> T {
    finite([a, b]).map_or(near, |[a, b]| a.plus(b.negated(), rounding).to(rounding))
}

/// `a b`, as [`sum`].
pub fn product<T: Ieee>(a: T, b: T, near: T, rounding: Rounding) -> T {
    finite([a, b]).map_or(near, |[a, b]| a.times(b).to(rounding))
}

/// `a b + c`, as [`sum`].
pub fn fused<T: Ieee>(a: T, b: T, c: T, near: T, rounding: Rounding) -> T {
    finite([a, b, c]).map_or(near, |[a, b, c]| a.times(b).plus(c, rounding).to(rounding))
}

/// `a / b`, as [`sum`].
pub fn quotient<T: Ieee>(a: T, b: T, near: T, rounding: Rounding) -> T {
    match finite([a, b]) {
        Some([a, b]) if b.integer != 0 => a.over(b).to(rounding),
        _ => near,
    }
}

/// The square root, as [`sum`].
pub fn root<T: Ieee>(a: T, near: T, rounding: Rounding) -> T {
    match finite([a]) {
        Some([a]) if !a.negative => a.root().to(rounding),
        _ => near,
    }
}
