//! The bounds of `docs/numerics.md` section 9 on the error of a product, before it is rounded to
//! the dtype.

use crate::compare;
use isobit_hal::{Matmul, Numerics};

/// The unit roundoff of f32.
const U: f64 = 1.0 / (1 << 24) as f64;
/// Elements of k per segment of a block product, and of a chain.
const SEGMENT: usize = 128;
const CHAIN: usize = 256;

fn gamma(n: usize) -> f64 {
    compare::gamma(n, U)
}

/// What the bound of block products takes from a segment of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Segment {
    /// The sum of magnitudes.
    norm: f64,
    /// The size of the first level's step, and of the last one's.
    first: f64,
    last: f64,
    wide: bool,
}

/// Returns the integers of the segment in steps, with the size of a step.
fn integers(x: &[f64], digits: usize) -> (Vec<f64>, f64) {
    let largest = x.iter().fold(0f64, |m, v| m.max(v.abs()));
    if largest == 0.0 {
        return (vec![0.0; x.len()], 0.0);
    }
    let limit = if digits == 2 { f64::from(0x7f7f) } else { f64::from(0x7f_7f7f) };
    let bits = 8 * digits as i32 - 1;
    // From below the least step upwards.
    let mut step = libm::ilogb(largest) - bits;
    while libm::scalbn(largest, -step).round_ties_even() > limit {
        step += 1;
    }
    (x.iter().map(|&v| libm::scalbn(v, -step).round_ties_even()).collect(), libm::scalbn(1.0, step))
}

impl Segment {
    fn of(x: &[f64], digits: usize) -> Self {
        let (first, step) = integers(x, digits);
        let sum: f64 = first.iter().map(|v| v.abs()).sum();
        let nonzero = x.iter().filter(|&&v| v != 0.0).count() as f64;
        let share = if digits == 2 { 16.0 } else { 32.0 };
        let wide = sum * share < libm::scalbn(nonzero, 8 * digits as i32 - 1);
        let last = if wide {
            let rests: Vec<f64> = x.iter().zip(&first).map(|(x, i)| x - i * step).collect();
            integers(&rests, digits).1
        } else {
            step
        };
        Self { norm: x.iter().map(|v| v.abs()).sum(), first: step, last, wide }
    }
}

/// The segments of a line along k.
#[derive(Debug)]
pub(super) struct Segments(Vec<Segment>);

impl Segments {
    /// `digits`: those of [`Matmul::block_digits`].
    pub fn of(line: &[f64], digits: usize) -> Self {
        Self(line.chunks(SEGMENT).map(|x| Segment::of(x, digits)).collect())
    }

    /// Returns how many are wide, and how many there are.
    pub fn wide(&self) -> [usize; 2] {
        [self.0.iter().filter(|s| s.wide).count(), self.0.len()]
    }
}

/// A result: the segments of its row and column, and the sum of the magnitudes of its products.
pub(super) struct Sum<'a> {
    pub row: &'a Segments,
    pub column: &'a Segments,
    pub k: usize,
    pub magnitude: f64,
}

impl Sum<'_> {
    /// Returns the bound on the error with some numerics.
    pub fn bound(&self, numerics: Numerics) -> f64 {
        match numerics {
            Numerics::Portable => gamma(self.k.min(CHAIN) + self.k.div_ceil(CHAIN) - 1) * self.magnitude,
            Numerics::Vendor => gamma(self.k + 1) * self.magnitude,
            Numerics::Block => {
                let quantized = self.row.0.iter().zip(&self.column.0).map(|(a, b)| {
                    let both = if a.wide && b.wide { 32.0 * a.first * b.first } else { 0.0 };
                    (a.last * b.norm + b.last * a.norm) / 2.0 + 256.0 * a.last.max(b.last).powi(2) + both
                });
                quantized.sum::<f64>() + gamma(3 * self.k.div_ceil(SEGMENT) + 2) * self.magnitude
            }
        }
    }
}

/// Returns the digits of a dtype that has block products.
pub(super) fn digits(dtype: isobit_hal::DType) -> usize {
    Matmul::block_digits(dtype).expect("the measured dtypes have block products")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segments_step_is_of_its_largest_element() {
        // 1 is 2^14 steps at two digits and 2^22 at three, because 2^15 and 2^23 are above the
        // limits.
        for (digits, step) in [(2, -14), (3, -22)] {
            let of = |x: &[f64]| Segment::of(x, digits);
            let one = libm::scalbn(1.0, step);
            assert_eq!(of(&[1.0, -0.25, 0.0]), Segment { norm: 1.25, first: one, last: one, wide: false });
            // The largest integer is the limit, and one more needs the next step.
            let limit = f64::from((0x7f_7f7f_u32) >> (24 - 8 * digits as u32));
            assert_eq!([limit, limit + 0.4, limit + 0.6].map(|x| of(&[x]).first), [1.0, 1.0, 2.0]);
            assert_eq!(of(&[0.0; 3]), Segment::default());
        }
    }

    #[test]
    fn a_wide_segment_has_the_step_of_its_rests() {
        // Many small elements: their rests are at most half a step.
        let mut x = vec![1.0 / 3.0 / 1024.0; SEGMENT];
        x[5] = 1.0;
        for digits in [2, 3] {
            let segment = Segment::of(&x, digits);
            assert!(segment.wide && segment.last <= segment.first * libm::scalbn(1.0, 1 - 8 * digits as i32));
            assert_eq!(Segments::of(&[x.clone(), vec![1.0; 100]].concat(), digits).wide(), [1, 2]);
        }
    }

    #[test]
    fn sums_of_chains_are_bounded_by_their_length() {
        let none = Segments(Vec::new());
        let sum = |k| Sum { row: &none, column: &none, k, magnitude: 1.0 };
        for (k, additions) in [(1, 1), (256, 256), (257, 257), (4096, 271)] {
            assert_eq!(sum(k).bound(Numerics::Portable), gamma(additions));
        }
        assert_eq!(sum(4096).bound(Numerics::Vendor), gamma(4097));
    }
}
