//! Compares elements with exact values, each within a bound on its error.

use super::{Comparison, Difference, bits_at, show};
use crate::case::{Format, format_of};
use isobit_hal::DType;

/// Returns `gamma_n = n u / (1 - n u)` for a unit roundoff `u` (Higham, Accuracy and Stability of
/// Numerical Algorithms, 2nd ed., section 3.1).
pub(crate) fn gamma(n: usize, u: f64) -> f64 {
    let nu = n as f64 * u;
    nu / (1.0 - nu)
}

/// The comparison of a result whose elements come one after the other, in logical order.
pub(crate) struct Bounded<'a> {
    got: &'a [u8],
    dtype: DType,
    format: Format,
    /// The largest number, and from where on a magnitude is rounded to an infinity.
    max: f64,
    overflow: f64,
    index: usize,
    found: Comparison,
}

impl<'a> Bounded<'a> {
    /// Compares a result of a float dtype.
    pub fn new(dtype: DType, got: &'a [u8]) -> Self {
        let format = format_of(dtype).expect("bounds are on the errors of floats");
        let max = format.to_f64(format.max_finite());
        let overflow = max + 0.5 * format.ulp_at(max);
        Self { got, dtype, format, max, overflow, index: 0, found: Comparison::default() }
    }

    /// Compares the next element with a value that it must be: a NaN, an infinity or a zero with
    /// its sign.
    pub fn is(&mut self, want: f64) {
        let (bits, x) = self.next();
        let agrees = x.is_nan() && want.is_nan() || x == want && x.is_sign_negative() == want.is_sign_negative();
        self.add(bits, agrees, if agrees { 0.0 } else { f64::INFINITY }, format!("{want}"));
    }

    /// Compares the next element with a finite value from which it may be off by a bound, and then
    /// by half an ulp if it `rounds` to the dtype. It may become an infinity (in f8e4m3: 448) if
    /// the rounding may carry it past the largest number.
    pub fn near(&mut self, value: f64, bound: f64, rounds: bool) {
        let (bits, x) = self.next();
        let (format, max) = (self.format, self.max);
        let (low, high) = (value - bound, value + bound);
        let rounding = if rounds { 0.5 * format.ulp_at(low.abs().max(high.abs())) } else { 0.0 };
        let agrees = if x == f64::INFINITY {
            high >= self.overflow
        } else if x == f64::NEG_INFINITY {
            low <= -self.overflow
        } else if format.infinities {
            x >= low - rounding && x <= high + rounding
        } else {
            x >= low.min(max) - rounding && x <= high.max(-max) + rounding
        };
        let nearest = if format.infinities { value } else { value.clamp(-max, max) };
        let ulp = match x.is_finite() {
            true => (x - nearest).abs() / format.ulp_at(value),
            false if agrees => 0.0,
            false => f64::INFINITY,
        };
        self.add(bits, agrees, ulp, format!("{value:?} within {:?}", bound + rounding));
    }

    /// Returns what was found.
    pub fn finish(self) -> Comparison {
        self.found
    }

    fn next(&self) -> (u64, f64) {
        let bits = bits_at(self.dtype, self.got, self.index);
        (bits, self.format.to_f64(bits))
    }

    fn add(&mut self, bits: u64, agrees: bool, ulp: f64, expected: String) {
        let found = &mut self.found;
        if !agrees || ulp > found.max_ulp {
            let difference = Difference { index: self.index, expected, got: show(self.dtype, bits) };
            if !agrees {
                found.differing += 1;
                found.first.get_or_insert_with(|| difference.clone());
            }
            if ulp >= found.max_ulp {
                found.max_ulp = ulp;
                found.worst = Some(difference);
            }
        }
        self.index += 1;
    }
}
