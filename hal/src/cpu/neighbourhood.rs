//! What sampling at a grid and resizing have in common: weighted sums over the elements around a
//! position, one dimension after the other.

use super::compute::FloatCompute;
use smallvec::SmallVec;

/// The largest magnitude of a position.
pub(super) const FAR: f64 = (1u64 << 62) as f64;

/// An element of a neighbourhood along one dimension: its offset, unless it takes no part, and its
/// weight.
#[derive(Clone, Copy)]
pub(super) struct Tap<C> {
    pub at: Option<usize>,
    pub weight: C,
}

pub(super) type Taps<C> = SmallVec<[Tap<C>; 4]>;

/// The polynomials of the kernel of Keys with a parameter, up to a distance of 1 and from there to
/// 2.
#[derive(Clone, Copy)]
pub(super) struct Keys<C> {
    near: [C; 2],
    far: [C; 4],
}

impl<C: FloatCompute> Keys<C> {
    pub fn new(a: f64) -> Self {
        let c = C::from_parameter;
        Self { near: [c(a + 2.0), c(-(a + 3.0))], far: [c(a), c(-5.0 * a), c(8.0 * a), c(-4.0 * a)] }
    }

    pub fn near(&self, x: C) -> C {
        let [cube, square] = self.near;
        cube.fma(x, square).mul(x).fma(x, C::ONE)
    }

    pub fn far(&self, x: C) -> C {
        let [a, b, c, d] = self.far;
        a.fma(x, b).fma(x, c).fma(x, d)
    }

    /// Returns the weights of the four elements around a position, `rest` after the second.
    pub fn weights(&self, rest: C) -> [C; 4] {
        let two = C::ONE.add(C::ONE);
        [self.far(rest.add(C::ONE)), self.near(rest), self.near(C::ONE.sub(rest)), self.far(two.sub(rest))]
    }
}

/// Returns the weighted sum of the elements around a position: over the taps of the first
/// dimension, of the sums over the others.
pub(super) fn sum<C: FloatCompute>(image: &[C], at: usize, taps: &[Taps<C>]) -> C {
    let Some((first, others)) = taps.split_first() else { return image[at] };
    let value = |tap: &Tap<C>| tap.at.map_or(C::ZERO, |step| sum(image, at + step, others));
    let mut taps = first.iter();
    let start = taps.next().map_or(C::ZERO, |tap| value(tap).mul(tap.weight));
    taps.fold(start, |sum, tap| value(tap).fma(tap.weight, sum))
}
