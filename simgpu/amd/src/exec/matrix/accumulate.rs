//! The numbers of matrix instructions, and how a product is added to a sum.
//!
//! Sums of f64 and f32 are chains of IEEE fused multiply-adds in ascending order of the common
//! dimension, starting from the addend, without flushing of subnormals. AMD does not document this;
//! it was measured on CDNA 2 and CDNA 3 (MMA-Sim, microsoft/MMA-Sim, arXiv 2511.10909). Sums of
//! integers are exact modulo 2^32.

use crate::exec::row::Row;
use crate::exec::value::Value;

/// A number of the result, which is also the type in which factors are multiplied.
pub(super) trait Sum: Value + Default {
    /// The number of consecutive rows of the result whose elements a lane holds in consecutive
    /// registers.
    const TOGETHER: usize;
    /// Reads the factor number `at` of each lane from the first and the last register of an
    /// operand, which has one or two.
    fn factors(registers: [&Row; 2], at: usize, into: &mut [Self; 64]);
    /// Adds a product.
    fn add(self, a: Self, b: Self) -> Self;
}

impl Sum for f32 {
    const TOGETHER: usize = 4;
    #[inline(always)]
    fn factors([register, _]: [&Row; 2], _: usize, into: &mut [Self; 64]) {
        for (factor, word) in into.iter_mut().zip(&register.0) {
            *factor = Self::from_bits(*word);
        }
    }
    #[inline(always)]
    fn add(self, a: Self, b: Self) -> Self {
        a.mul_add(b, self)
    }
}

impl Sum for f64 {
    const TOGETHER: usize = 1;
    #[inline(always)]
    fn factors([low, high]: [&Row; 2], _: usize, into: &mut [Self; 64]) {
        for ((factor, low), high) in into.iter_mut().zip(&low.0).zip(&high.0) {
            *factor = Self::from_words(*low, *high);
        }
    }
    #[inline(always)]
    fn add(self, a: Self, b: Self) -> Self {
        a.mul_add(b, self)
    }
}

/// The factors are signed bytes, four in a register.
impl Sum for i32 {
    const TOGETHER: usize = 4;
    #[inline(always)]
    fn factors(registers: [&Row; 2], at: usize, into: &mut [Self; 64]) {
        for (factor, word) in into.iter_mut().zip(&registers[at / 4].0) {
            *factor = ((word >> (8 * (at % 4))) as i8).into();
        }
    }
    #[inline(always)]
    fn add(self, a: Self, b: Self) -> Self {
        self.wrapping_add(a.wrapping_mul(b))
    }
}
