//! Class vendor: checks a matrix product, summed by a library in any order, against the exact
//! product with a forward error bound.
//!
//! For one element, let `u` be the unit roundoff of the compute type (2^-24 for f8e4m3, f16, bf16
//! and f32, 2^-53 for f64). Any order of summation, with or without fma, stays within `gamma_k *
//! sum |a*b|`, `gamma_k = k u / (1 - k u)` (Higham, Accuracy and Stability of Numerical Algorithms,
//! 2nd ed., section 3.1), and underflow adds at most the smallest subnormal per step. One rounding
//! to nearest to the output's format follows, which adds half an ulp. TF32 (2^-11) exceeds this
//! bound.
//!
//! The exact product is summed in f64 if products of two inputs are exact there (all dtypes but
//! f64). For f64 it uses the compensated dot product Dot2 of Ogita, Rump and Oishi (SIAM J. Sci.
//! Comput. 26, 2005), which is as accurate as a sum in twice the precision. Its own error is added
//! to the bound.
//!
//! Infinities and NaNs: a NaN among the products, or infinities of both signs, must give a NaN;
//! infinities of one sign must give that infinity. A finite value may become an infinity (in
//! f8e4m3: 448) if the rounding may carry it past the largest number.

use super::Comparison;
use super::bounded::{Bounded, gamma};
use crate::case::{format_of, power_of_two};
use isobit_hal::DType;

/// The operands of a batch of products, as exact values in logical order.
#[derive(Debug)]
pub struct Product {
    /// The number of matrices in the batch.
    pub batch: usize,
    /// The number of rows of the result.
    pub m: usize,
    /// The inner size.
    pub k: usize,
    /// The number of columns of the result.
    pub n: usize,
    /// `[batch, m, k]`.
    pub lhs: Vec<f64>,
    /// `[batch, k, n]`.
    pub rhs: Vec<f64>,
    /// Whether the last product of each element, a bias, is added to the others when their sum is
    /// rounded to the dtype.
    pub added_last: bool,
}

/// An element of the exact product.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Exact {
    Nan,
    Infinite { negative: bool },
    Finite { value: f64, magnitudes: f64 },
}

/// The sum of two numbers and its exact error (Knuth's TwoSum).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

impl Product {
    fn element(&self, b: usize, i: usize, j: usize, compensated: bool) -> Exact {
        let (mut sum, mut low, mut magnitudes) = (0.0f64, 0.0f64, 0.0f64);
        let (mut nan, mut plus, mut minus) = (false, false, false);
        let row = &self.lhs[(b * self.m + i) * self.k..][..self.k];
        for (x, a) in row.iter().enumerate() {
            let c = self.rhs[(b * self.k + x) * self.n + j];
            let p = a * c;
            nan |= p.is_nan();
            plus |= p == f64::INFINITY;
            minus |= p == f64::NEG_INFINITY;
            magnitudes += p.abs();
            if compensated {
                let (s, e) = two_sum(sum, p);
                low += e + a.mul_add(c, -p);
                sum = s;
            } else {
                sum += p;
            }
        }
        match (nan || plus && minus, plus, minus) {
            (true, ..) => Exact::Nan,
            (_, true, _) | (_, _, true) => Exact::Infinite { negative: minus },
            _ => Exact::Finite { value: sum + low, magnitudes },
        }
    }

    /// Returns the last product of an element.
    fn last(&self, b: usize, i: usize, j: usize) -> f64 {
        self.lhs[(b * self.m + i + 1) * self.k - 1] * self.rhs[((b + 1) * self.k - 1) * self.n + j]
    }
}

/// Compares a result, with the elements in logical order, with the exact product. Sums may be of
/// fewer `bits` than those of the compute type.
pub fn compare_product(product: &Product, dtype: DType, bits: Option<i32>, got: &[u8]) -> Comparison {
    let compute = format_of(dtype.compute()).expect("the compute type of a float is one");
    let format = format_of(dtype).expect("products are of floats");
    let k = product.k as f64;
    let gamma = gamma(product.k, power_of_two(-bits.unwrap_or(compute.significand as i32 + 1)));
    // The exact product's own error: k roundings in f64; for Dot2 gamma_k^2 and one ulp of its
    // result.
    let own = if compute.significand == 52 { 2.0 * gamma * gamma } else { k * power_of_two(-52) };
    let smallest = power_of_two(compute.min_exponent() - compute.significand as i32);
    let mut compared = Bounded::new(dtype, got);
    for b in 0..product.batch {
        for (i, j) in (0..product.m).flat_map(|i| (0..product.n).map(move |j| (i, j))) {
            match product.element(b, i, j, compute.significand == 52) {
                Exact::Nan => compared.is(f64::NAN),
                Exact::Infinite { negative } => compared.is(if negative { f64::NEG_INFINITY } else { f64::INFINITY }),
                Exact::Finite { value, magnitudes } => {
                    let bound = (gamma + own) * magnitudes + k * smallest + value.abs() * power_of_two(-52);
                    // Half an ulp of the sum of the others.
                    let bound = match product.added_last && dtype != dtype.compute() {
                        true => bound + 0.5 * format.ulp_at((value - product.last(b, i, j)).abs() + bound),
                        false => bound,
                    };
                    compared.near(value, bound, dtype != dtype.compute());
                }
            }
        }
    }
    compared.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn product(lhs: &[f64], rhs: &[f64]) -> Product {
        Product { batch: 1, m: 1, k: lhs.len(), n: 1, lhs: lhs.into(), rhs: rhs.into(), added_last: false }
    }

    fn agrees_f32(p: &Product, x: f32) -> bool {
        compare_product(p, DType::F32, None, &x.to_ne_bytes()).differing == 0
    }

    /// 1000 products of ordinary numbers.
    fn ordinary() -> (Vec<f32>, Vec<f32>) {
        let x = |i: u32| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 2f32.powi(23) - 1.0;
        ((0..1000).map(x).collect(), (1000..2000).map(x).collect())
    }

    fn widen(v: &[f32]) -> Vec<f64> {
        v.iter().map(|&x| x.into()).collect()
    }

    #[test]
    fn sums_in_f32_fit_in_any_order_and_tf32_does_not() {
        let (a, b) = ordinary();
        let p = product(&widen(&a), &widen(&b));
        let forward: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
        let backward = a.iter().zip(&b).rev().fold(0f32, |s, (x, y)| x.mul_add(*y, s));
        assert!(agrees_f32(&p, forward) && agrees_f32(&p, backward));
        // Ten significand bits, as in TF32, and products of the same sign, so that the loss shows.
        let cut = |x: f32| f32::from_bits(x.to_bits() & !0x1fff);
        let squares = product(&widen(&a), &widen(&a));
        assert!(agrees_f32(&squares, a.iter().map(|x| x * x).sum()));
        assert!(!agrees_f32(&squares, a.iter().map(|&x| cut(x) * cut(x)).sum()));
        // A dropped term, and accumulation in f16.
        assert!(!agrees_f32(&squares, a[1..].iter().map(|x| x * x).sum()));
        let half = a.iter().fold(f16::ZERO, |s, &x| f16::from_f32(x.mul_add(x, s.to_f32())));
        assert!(!agrees_f32(&squares, half.to_f32()));
    }

    /// 1 + 2^-11 rounds to 1 in f16, and a bias of -1 leaves what was rounded away.
    #[test]
    fn a_bias_that_is_added_last_may_meet_a_rounded_sum() {
        let exact = [1.0 + power_of_two(-11), -1.0];
        let check = |added_last: bool, x: f64| {
            let p = Product { added_last, ..product(&exact, &[1.0, 1.0]) };
            compare_product(&p, DType::F16, None, &f16::from_f64(x).to_ne_bytes()).differing == 0
        };
        assert!(check(true, 0.0) && check(true, power_of_two(-11)) && check(true, power_of_two(-10)));
        assert!(!check(false, 0.0) && check(false, power_of_two(-11)) && !check(false, power_of_two(-10)));
        assert!(!check(true, power_of_two(-9)));
    }

    /// One product has one rounding, so the bound is half an ulp of f32 and not an ulp.
    #[test]
    fn a_single_product_is_held_to_half_an_ulp() {
        let p = product(&[1.0], &[1.0]);
        assert!(agrees_f32(&p, 1.0) && agrees_f32(&p, 1.0 - f32::EPSILON / 2.0));
        assert!(!agrees_f32(&p, 1.0 + f32::EPSILON) && !agrees_f32(&p, 1.0 - f32::EPSILON));
    }

    #[test]
    fn f64_is_held_to_more_than_f64() {
        // 1e16 + 1 - 1e16 is 1. Naive summation gives 0, which is within gamma_3 of the magnitudes,
        // but 3 is not.
        let p = product(&[1e16, 1.0, -1e16], &[1.0; 3]);
        assert_eq!(p.element(0, 0, 0, true), Exact::Finite { value: 1.0, magnitudes: 2e16 });
        let check = |x: f64| compare_product(&p, DType::F64, None, &x.to_ne_bytes()).differing == 0;
        assert!(check(1.0) && check(0.0) && !check(20.0));
        let q = product(&[0.1; 10], &[0.1; 10]);
        let sum = (0..10).fold(0.0, |s, _| s + 0.1 * 0.1);
        let check = |x: f64| compare_product(&q, DType::F64, None, &x.to_ne_bytes()).differing == 0;
        assert!(check(sum) && !check(sum * (1.0 + 3e-15)) && !check(f64::from(sum as f32)));
    }

    #[test]
    fn infinities_and_nans_follow_the_rules_and_hide_nothing() {
        let inf = f64::INFINITY;
        let is = |lhs: &[f64], rhs: &[f64], x: f32| agrees_f32(&product(lhs, rhs), x);
        assert!(is(&[inf, 1.0], &[1.0, 1.0], f32::INFINITY));
        assert!(!is(&[inf, 1.0], &[1.0, 1.0], f32::NAN) && !is(&[inf, 1.0], &[1.0, 1.0], f32::MAX));
        assert!(is(&[inf, -inf], &[1.0, 1.0], f32::NAN) && is(&[inf], &[0.0], f32::NAN));
        assert!(!is(&[f64::NAN, 1.0], &[1.0, 1.0], 1.0) && !is(&[1.0], &[1.0], f32::NAN));
        // One equal infinity does not excuse the element after it.
        let p = Product { batch: 1, m: 2, k: 1, n: 1, lhs: vec![inf, 1.0], rhs: vec![1.0], added_last: false };
        let got: Vec<u8> = [f32::INFINITY, 123.0].iter().flat_map(|x| x.to_ne_bytes()).collect();
        let c = compare_product(&p, DType::F32, None, &got);
        assert_eq!((c.differing, c.first.unwrap().index), (1, 1));
    }

    #[test]
    fn outputs_round_once_and_overflow_where_their_format_does() {
        let f16_ok =
            |v: f64, x: f16| compare_product(&product(&[v], &[1.0]), DType::F16, None, &x.to_ne_bytes()).differing == 0;
        assert!(f16_ok(1.0, f16::ONE) && !f16_ok(1.0, f16::from_bits(f16::ONE.to_bits() + 1)));
        assert!(f16_ok(65519.0, f16::MAX) && !f16_ok(65519.0, f16::INFINITY));
        assert!(f16_ok(65521.0, f16::INFINITY) && !f16_ok(65521.0, f16::MAX));
        let f8_ok =
            |v: f64, bits: u8| compare_product(&product(&[v], &[1.0]), DType::F8E4M3, None, &[bits]).differing == 0;
        assert!(f8_ok(1e6, 0x7e) && f8_ok(-1e6, 0xfe) && !f8_ok(1e6, 0x7f) && !f8_ok(1e6, 0x7d));
        assert!(f8_ok(0.0, 0) && !f8_ok(0.0, 1));
    }

    #[test]
    fn an_empty_sum_is_zero() {
        assert!(agrees_f32(&product(&[], &[]), 0.0) && !agrees_f32(&product(&[], &[]), 1e-45));
    }
}
