//! Uniform numbers from the generator's words.

use super::philox::Words;
use super::{Distribution, Real};

/// The uniform distribution from `lo` to `up`. Results are clamped to the smallest and the largest
/// value of the dtype in the interval.
#[derive(Clone, Copy)]
pub(super) struct Uniform<C> {
    lo: C,
    up: C,
    ends: [C; 2],
}

impl<C: Real> Uniform<C> {
    pub(super) fn new(lo: f64, up: f64, ends: [f64; 2]) -> Self {
        let finite = |x: f64| C::from_parameter(x.clamp(C::LOWEST, C::LARGEST));
        Self { lo: finite(lo), up: finite(up), ends: ends.map(C::from_parameter) }
    }
}

impl<C: Real> Distribution for Uniform<C> {
    type Number = C;
    const PER_BLOCK: u64 = C::PER_BLOCK;
    const STREAM: u32 = C::STREAM;

    #[inline(always)]
    fn numbers(self, words: &Words, lane: usize, out: &mut [C]) {
        for (i, x) in out.iter_mut().enumerate() {
            let u = C::unit(words, i, lane);
            // Two separate products, because `up - lo` may overflow.
            let between = u.affine(self.up, u.neg().affine(self.lo, self.lo));
            let [first, last] = self.ends;
            let from_first = if between < first { first } else { between };
            *x = if from_first > last { last } else { from_first };
        }
    }
}
