//! Compares variances with a literal merge of triples, and with f64 within the stated bound.

use super::reduce::{SIZES, by_the_rule};
use super::*;
use half::f16;
use isobit_hal::{Reduce, ReduceOp};

fn spread<T: WithDType>(op: ReduceOp, correction: u32, x: &[T]) -> T {
    let op = Reduce::new(op, &[0]).with_correction(correction);
    vec::<T>(&storage(x).reduce(&Layout::contiguous(x.len()), &op).unwrap())[0]
}

/// The sum of squared deviations, by the merge of section 8.
fn squares(x: &[f32]) -> f32 {
    let triples: Vec<[f32; 3]> = x.iter().map(|v| [1.0, v - x[0], 0.0]).collect();
    let [_, d, m] = by_the_rule(&triples, &|[n, d, m], [n2, d2, m2]| {
        let s = n + n2;
        let (w, a) = (n2 / s, d2 - d);
        [s, a.mul_add(w, d), (a * a).mul_add(n * w, m + m2)]
    });
    // A mean that is infinite or NaN decides.
    if d.is_finite() { m } else { f32::NAN }
}

#[test]
fn variances_keep_the_order() {
    let mut rng = Rng(60);
    for n in SIZES {
        let x: Vec<f32> = rng.floats(n).iter().map(|v| v * 3.0 + 10.0).collect();
        let m = squares(&x);
        assert_same(&[spread(ReduceOp::Var, 0, &x)], &[m / n as f32]);
        assert_same(&[spread(ReduceOp::Var, 1, &x)], &[m / (n - 1) as f32]);
        assert_same(&[spread(ReduceOp::Std, 5, &x)], &[(m / n.saturating_sub(5) as f32).sqrt()]);
        let half: Vec<f16> = x.iter().map(|&v| f16::from_f32(v)).collect();
        let wide: Vec<f32> = half.iter().map(|v| v.to_f32()).collect();
        let want = f16::from_f32((squares(&wide) / n as f32).sqrt());
        assert_same(&[spread(ReduceOp::Std, 0, &half)], &[want]);
    }
}

/// Returns the error of an f32 variance relative to f64, in units of 2^-24, and the bound of
/// section 8 in the same unit.
fn error_and_bound(x: &[f32]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
    let want = x.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n;
    let got = f64::from(spread(ReduceOp::Var, 0, x));
    let h = (x.len().min(65_536).div_ceil(256) + 7 + if x.len() > 65_536 { 8 } else { 0 }) as f64;
    let kappa = (1.0 + (mean - f64::from(x[0])).powi(2) / want).sqrt();
    ((got - want).abs() / want * 2f64.powi(24), kappa * (4.0 * h + 8.0))
}

#[test]
fn a_large_mean_costs_no_accuracy() {
    let mut rng = Rng(61);
    for mean in [0.0, 1.0, 1e3, 1e6, 1e9] {
        for n in [10, 1000, 65_536, 300_000] {
            // A deviation of one, in steps that f32 has at this mean.
            let step = (mean * 2f32.powi(-23)).max(2f32.powi(-20));
            let x: Vec<f32> = rng.floats(n).iter().map(|v| mean + (v * 1.7 / step).round() * step).collect();
            if x.iter().all(|&v| v == x[0]) {
                continue;
            }
            let (error, bound) = error_and_bound(&x);
            assert!(error <= 16.0 && error <= bound, "mean {mean}, {n}: {error} of 2^-24, bound {bound}");
        }
    }
    // One outlier at the start is the worst first element: it is sqrt(n) deviations away.
    let mut x: Vec<f32> = rng.floats(10_000);
    x[0] = 1000.0;
    let (error, bound) = error_and_bound(&x);
    assert!(error <= bound, "{error} of 2^-24, bound {bound}");
}

/// As torch.var and torch.std give them.
#[test]
fn corrections_infinities_and_equal_elements() {
    let var = |correction, x: &[f32]| spread(ReduceOp::Var, correction, x);
    assert_eq!(var(0, &[7.0]), 0.0);
    assert!(var(1, &[7.0]).is_nan() && var(3, &[2.0, 2.0]).is_nan());
    assert_eq!(var(2, &[1.0, 2.0]), f32::INFINITY);
    assert_eq!(var(5, &[1.0, 2.0]), f32::INFINITY);
    assert_eq!(var(1, &[5.0; 1000]).to_bits(), 0);
    assert_eq!(spread(ReduceOp::Std, 0, &[1.0f64, 3.0]), 1.0);
    let inf = f32::INFINITY;
    for x in [[inf, 1.0, 2.0], [1.0, inf, 2.0], [1.0, 2.0, -inf], [1.0, f32::NAN, 2.0], [inf; 3]] {
        assert!(var(0, &x).is_nan(), "{x:?}");
    }
    // Squares beyond f32: the mean is finite, and the variance is not.
    assert_eq!(var(0, &[-1e30, 1e30]), inf);
    assert_eq!(var(0, &[0.0, 1e25]), inf);
}
