//! Checks that numbers are normally distributed: their moments and the Kolmogorov-Smirnov distance.
//! The bounds fail by chance in one of a million runs.

/// Checks a sample against the standard normal distribution.
pub fn assert_standard_normal(what: &str, sample: &[f64]) {
    let n = sample.len() as f64;
    let moment = |power: i32| sample.iter().map(|x| x.powi(power)).sum::<f64>() / n;
    let mean = moment(1);
    let central = |power: i32| sample.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / n;
    let variance = central(2);
    // The variances of the estimates from n normal numbers are 1/n, 2/n, 6/n and 24/n. An estimate
    // exceeds five standard deviations by chance once in 1.7 million.
    let estimates = [
        ("mean", mean, 0.0, 1.0),
        ("variance", variance, 1.0, 2.0),
        ("skewness", central(3) / variance.powf(1.5), 0.0, 6.0),
        ("kurtosis", central(4) / variance.powi(2), 3.0, 24.0),
    ];
    for (name, found, expected, spread) in estimates {
        let bound = 5.0 * (spread / n).sqrt();
        assert!((found - expected).abs() <= bound, "{what}: {name} is {found}, not {expected} within {bound}");
    }
    // P(D sqrt(n) > 2.694) = 2 exp(-2 * 2.694^2), which is one in a million.
    let (distance, bound) = (distance(sample), 2.694 / n.sqrt());
    assert!(distance <= bound, "{what}: the distance from the normal distribution is {distance}, above {bound}");
}

/// Returns the largest difference between the distribution functions of the sample and the normal
/// distribution.
fn distance(sample: &[f64]) -> f64 {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let at = |(i, x): (usize, &f64)| {
        let normal = 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
        (normal - i as f64 / n).abs().max((normal - (i + 1) as f64 / n).abs())
    };
    sorted.iter().enumerate().map(at).fold(0.0, f64::max)
}

/// The quantiles of the normal distribution pass, and a distribution that is only nearly normal
/// fails. Without this test, a bound might be too wide to ever fail.
#[test]
fn the_checks_tell_normal_from_nearly_normal() {
    use std::panic::catch_unwind;
    let n = 200_000;
    // Sums of twelve uniform numbers: their mean, variance and skewness are those of the normal
    // distribution, but the kurtosis is 2.9.
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let sums: Vec<f64> = (0..n).map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0).collect();
    assert!(catch_unwind(|| assert_standard_normal("sums", &sums)).is_err());
    let normal: Vec<f64> =
        (0..n).map(|_| (-2.0 * (1.0 - uniform()).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()).collect();
    assert_standard_normal("normal", &normal);
    for (what, (shift, scale)) in [("shifted", (0.012, 1.0)), ("spread", (0.0, 1.01))] {
        let off: Vec<f64> = normal.iter().map(|x| x * scale + shift).collect();
        assert!(catch_unwind(|| assert_standard_normal(what, &off)).is_err(), "{what}");
    }
}
