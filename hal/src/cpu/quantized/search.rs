//! The searches for the scale (and the minimum) of a sub-block with the least error, exactly as
//! `docs/numerics/quantized.md` section 3 defines them. Every sum runs in ascending order, and
//! nothing is contracted to an fma.

use super::rounding::{even, extremes, top};

/// Largest number of elements per sub-block.
const MOST: usize = 32;

/// A sub-block whose magnitudes are all below this counts as zeros.
pub(super) const NOTHING: f32 = 1e-15;

/// Parameters of the search for a scale with a minimum.
pub(super) struct Tries {
    /// The largest integer.
    pub last: i32,
    pub from: f32,
    pub step: f32,
    pub tries: i32,
    /// Whether errors are squared instead of taken by magnitude.
    pub squared: bool,
}

#[inline(always)]
fn sum(n: usize, term: impl Fn(usize) -> f32) -> f32 {
    (0..n).fold(0.0, |sum, i| sum + term(i))
}

impl Tries {
    #[inline(always)]
    fn error(&self, scale: f32, minimum: f32, q: &[i8], x: &[f32], weights: &[f32]) -> f32 {
        sum(x.len(), |i| {
            let off = scale * f32::from(q[i]) + minimum - x[i];
            weights[i] * if self.squared { off * off } else { off.abs() }
        })
    }

    /// Returns the integers, their scale, and the minimum to subtract.
    #[inline(always)]
    pub fn search(&self, x: &[f32], weights: &[f32], q: &mut [i8]) -> (f32, f32) {
        let n = x.len();
        let (mut lo, hi) = extremes(x);
        lo = if lo > 0.0 { 0.0 } else { lo };
        let (sum_w, sum_x) = (sum(n, |i| weights[i]), sum(n, |i| weights[i] * x[i]));
        if hi == lo {
            q.fill(0);
            return (0.0, -lo);
        }
        let last = self.last as f32;
        let quantize = |q: &mut [i8], inverse: f32, lo: f32| {
            q.iter_mut().zip(x).for_each(|(q, v)| *q = even(inverse * (v - lo), 0, self.last) as i8);
        };
        let inverse = last / (hi - lo);
        let mut scale = 1.0 / inverse;
        quantize(q, inverse, lo);
        let mut best = self.error(scale, lo, q, x, weights);
        let mut tried = [0; MOST];
        let tried = &mut tried[..n];
        for t in 0..=self.tries {
            quantize(tried, (self.from + self.step * t as f32 + last) / (hi - lo), lo);
            let level = |i: usize| f32::from(tried[i]);
            let sum_l = sum(n, |i| weights[i] * level(i));
            let sum_l2 = sum(n, |i| weights[i] * level(i) * level(i));
            let sum_xl = sum(n, |i| weights[i] * level(i) * x[i]);
            let determinant = sum_w * sum_l2 - sum_l * sum_l;
            if determinant > 0.0 {
                let mut a = (sum_w * sum_xl - sum_x * sum_l) / determinant;
                let mut b = (sum_l2 * sum_x - sum_l * sum_xl) / determinant;
                if b > 0.0 {
                    (a, b) = (sum_xl / sum_l2, 0.0);
                }
                let error = self.error(a, b, tried, x, weights);
                if error < best {
                    q.copy_from_slice(tried);
                    (best, scale, lo) = (error, a, b);
                }
            }
        }
        (scale, -lo)
    }
}

/// Returns the sums of `x * x * x * q` and of `x * x * q * q`. Their quotient is the best scale for
/// the given integers.
#[inline(always)]
fn weighted(x: &[f32], q: &[i8]) -> (f32, f32) {
    let level = |i: usize| f32::from(q[i]);
    (sum(x.len(), |i| x[i] * x[i] * x[i] * level(i)), sum(x.len(), |i| x[i] * x[i] * level(i) * level(i)))
}

#[inline(always)]
fn around_zero(x: &[f32], inverse: f32, reach: i32, q: &mut [i8]) {
    q.iter_mut().zip(x).for_each(|(q, v)| *q = even(inverse * v, -reach, reach - 1) as i8);
}

/// Returns the integers (-32 to 31) of a sub-block, and their scale.
#[inline(always)]
pub(super) fn search_scale(x: &[f32], q: &mut [i8]) -> f32 {
    const REACH: i32 = 32;
    let top = top(x);
    if top.abs() < NOTHING {
        q.fill(-REACH as i8);
        return 0.0;
    }
    around_zero(x, -REACH as f32 / top, REACH, q);
    let (lx, l2) = weighted(x, q);
    let mut scale = if l2 == 0.0 { 0.0 } else { lx / l2 };
    let mut best = scale * lx;
    let mut tried = [0; MOST];
    let tried = &mut tried[..x.len()];
    for t in (-9..=9).filter(|&t| t != 0) {
        around_zero(x, -(REACH as f32 + 0.1 * t as f32) / top, REACH, tried);
        let (lx, l2) = weighted(x, tried);
        if l2 > 0.0 && lx * lx > best * l2 {
            q.copy_from_slice(tried);
            scale = lx / l2;
            best = scale * lx;
        }
    }
    scale
}

/// Returns the integers (-4 to 3) of a sub-block, and their scale. The integers are changed one at
/// a time as long as the best scale for them fits better.
#[inline(always)]
pub(super) fn search_q3(x: &[f32], q: &mut [i8]) -> f32 {
    const REACH: i32 = 4;
    let top = top(x);
    if top.abs() < NOTHING {
        q.fill(-REACH as i8);
        return 0.0;
    }
    around_zero(x, -REACH as f32 / top, REACH, q);
    let (mut lx, mut l2) = weighted(x, q);
    for _ in 0..5 {
        let mut changed = false;
        for (q, &v) in q.iter_mut().zip(x) {
            let (w, level) = (v * v, f32::from(*q));
            let mut new_lx = lx - w * v * level;
            if new_lx > 0.0 {
                let mut new_l2 = l2 - w * level * level;
                let new = even(v * new_l2 / new_lx, -REACH, REACH - 1) as i8;
                if new != *q {
                    let level = f32::from(new);
                    new_lx += w * v * level;
                    new_l2 += w * level * level;
                    if new_l2 > 0.0 && new_lx * new_lx * l2 > lx * lx * new_l2 {
                        (*q, lx, l2) = (new, new_lx, new_l2);
                        changed = true;
                    }
                }
            }
        }
        if !changed {
            break;
        }
    }
    if l2 > 0.0 { lx / l2 } else { 0.0 }
}
