//! Checks what a library drew. The library has its own numbers: each must be possible for the
//! distribution, and all together must follow it.
//!
//! The distance of their distribution function from the true one (Kolmogorov and Smirnov) must stay
//! below a bound that numbers of this distribution exceed only once in 10^9 (Dvoretzky, Kiefer and
//! Wolfowitz; Massart 1990: P(D > d) <= 2 exp(-2 n d^2)). With many numbers, the errors of mean and
//! variance must stay below such a bound too. Numbers that were rounded to a dtype count up to the
//! middle between neighbours.

use crate::case::{Format, format_of, power_of_two};
use crate::compare::{Comparison, Difference, bits_at, show};
use isobit_hal::{DType, Op};

/// The smallest count for which mean and variance are checked: sums of this many numbers are
/// normally distributed.
const MANY: usize = 1000;
/// The number of standard deviations that an estimate may be off: a larger error occurs once in
/// 10^9.
const DEVIATIONS: f64 = 6.2;
/// The logarithm of 2 * 10^9, for the bound on the distance.
const LOG: f64 = 21.416_413;

/// A distribution.
#[derive(Debug, Clone, Copy)]
enum Distribution {
    Uniform { lo: f64, up: f64, ends: [f64; 2] },
    Normal { mean: f64, std: f64 },
}

impl Distribution {
    fn of(op: &Op, dtype: DType) -> Self {
        match op {
            Op::RandUniform(op) => Self::Uniform { lo: op.lo, up: op.up, ends: op.ends(dtype) },
            Op::RandNormal(op) => Self::Normal { mean: op.mean, std: op.std },
            other => unreachable!("{other} draws no numbers"),
        }
    }

    /// Returns the probability of numbers up to `x`.
    fn up_to(self, x: f64) -> f64 {
        match self {
            Self::Uniform { lo, up, .. } if lo < up => ((x - lo) / (up - lo)).clamp(0.0, 1.0),
            Self::Uniform { lo, .. } => f64::from(u8::from(x >= lo)),
            Self::Normal { mean, std } if std > 0.0 => {
                0.5 * libm::erfc(-(x - mean) / std * std::f64::consts::FRAC_1_SQRT_2)
            }
            Self::Normal { mean, .. } => f64::from(u8::from(x >= mean)),
        }
    }

    /// Returns the mean, the variance, and the fourth central moment.
    fn moments(self) -> [f64; 3] {
        match self {
            Self::Uniform { lo, up, .. } => [0.5 * lo + 0.5 * up, (up - lo).powi(2) / 12.0, (up - lo).powi(4) / 80.0],
            Self::Normal { mean, std } => [mean, std * std, 3.0 * std.powi(4)],
        }
    }

    /// Whether the distribution contains the number.
    fn has(self, x: f64) -> bool {
        match self {
            Self::Uniform { ends: [first, last], .. } => first <= x && x <= last,
            Self::Normal { .. } => !x.is_nan(),
        }
    }

    /// Returns the largest magnitude of the numbers, for the error of computing them.
    fn size(self) -> f64 {
        match self {
            Self::Uniform { lo, up, .. } => lo.abs().max(up.abs()),
            Self::Normal { mean, std } => mean.abs() + 9.0 * std,
        }
    }
}

/// Checks numbers, with the elements in logical order, against the distribution of their operation.
pub(super) fn compare(op: &Op, dtype: DType, got: &[u8]) -> Comparison {
    let format = format_of(dtype).expect("random numbers are floats");
    let distribution = Distribution::of(op, dtype);
    let bits: Vec<u64> = (0..got.len() / dtype.size_in_bytes()).map(|i| bits_at(dtype, got, i)).collect();
    let numbers: Vec<f64> = bits.iter().map(|&b| format.to_f64(b)).collect();
    let mut found = Comparison::default();
    let mut fault = |index: usize, expected: String| {
        found.differing += 1;
        let got = show(dtype, bits[index]);
        found.first.get_or_insert(Difference { index, expected, got });
    };
    for (i, &x) in numbers.iter().enumerate() {
        if !distribution.has(x) {
            fault(i, format!("a number that {op} can return"));
        }
    }
    if numbers.iter().all(|&x| distribution.has(x)) {
        if let Some((index, why)) = off_distribution(distribution, dtype, &format, &numbers) {
            fault(index, why);
        } else if let Some(why) = off_moments(distribution, &format, &numbers) {
            fault(0, why);
        }
    }
    if found.differing > 0 {
        found.max_ulp = f64::INFINITY;
    }
    found
}

/// Returns the number at which the numbers' distribution function is too far from the true one, and
/// the reason.
fn off_distribution(
    distribution: Distribution,
    dtype: DType,
    format: &Format,
    numbers: &[f64],
) -> Option<(usize, String)> {
    let compute = format_of(dtype.compute()).expect("the compute type of a float is one");
    // Computing a number may move it by a few ulps of the compute type, and thus past the middle
    // between two numbers of the dtype.
    let slack = 4.0 * compute.ulp_at(distribution.size());
    let n = numbers.len() as f64;
    let bound = (LOG / (2.0 * n)).sqrt();
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let most = format.to_f64(format.max_finite());
    for (i, &index) in order.iter().enumerate() {
        let x = numbers[index];
        let half = 0.5 * format.ulp_at(x);
        let is_end = |end: usize| matches!(distribution, Distribution::Uniform { ends, .. } if x == ends[end]);
        // The probability of values that are rounded to smaller numbers, and of those together with
        // the values that are rounded to this one.
        let less = match x {
            _ if is_end(0) || x == f64::NEG_INFINITY => [0.0; 2],
            f64::INFINITY => [distribution.up_to(most), distribution.up_to(most + format.ulp_at(most))],
            _ => [distribution.up_to(x - half - slack), distribution.up_to(x - 0.5 * half + slack)],
        };
        let up_to = match x {
            _ if is_end(1) || x == f64::INFINITY => [1.0; 2],
            f64::NEG_INFINITY => [distribution.up_to(-most - format.ulp_at(most)), distribution.up_to(-most)],
            _ => [distribution.up_to(x + 0.5 * half - slack), distribution.up_to(x + half + slack)],
        };
        let is_first = i == 0 || numbers[order[i - 1]] != x;
        let is_last = order.get(i + 1).is_none_or(|&next| numbers[next] != x);
        for (of, share, [low, high]) in [("below", i, less), ("up to", i + 1, up_to)] {
            let share = share as f64 / n;
            let counts = if of == "below" { is_first } else { is_last };
            if counts && (share < low - bound || share > high + bound) {
                let why =
                    format!("a share of {low} to {high}, ± {bound}, of the numbers {of} this one, instead of {share}");
                return Some((index, why));
            }
        }
    }
    None
}

/// Returns the reason if mean or variance do not match the distribution.
fn off_moments(distribution: Distribution, format: &Format, numbers: &[f64]) -> Option<String> {
    let n = numbers.len() as f64;
    let [mean, variance, fourth] = distribution.moments();
    // Rounding moves values near a boundary, and cuts off values beyond a range.
    let size = distribution.size();
    let rounding = format.ulp_at(size);
    let largest = format.to_f64(format.max_finite());
    if numbers.len() < MANY || size > 0.9 * largest || variance.sqrt() < 16.0 * rounding || !fourth.is_finite() {
        return None;
    }
    let found = numbers.iter().sum::<f64>() / n;
    let allowed = DEVIATIONS * (variance / n).sqrt() + rounding;
    if (found - mean).abs() > allowed {
        return Some(format!("a mean of {mean} ± {allowed}, instead of {found}"));
    }
    let spread = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    // Rounding adds the variance of the rounding error, which may correlate with the number.
    let allowed = DEVIATIONS * ((fourth - variance * variance) / n).sqrt() + 2.0 * rounding * variance.sqrt();
    if (spread - variance).abs() > allowed.max(power_of_two(-1000)) {
        return Some(format!("a variance of {variance} ± {allowed}, instead of {spread}"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;
    use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, RandNormal, RandUniform};

    fn drawn(op: &Op, dtype: DType, n: usize) -> CpuStorage {
        let mut dst = CpuDevice.zeros(&n.into(), dtype).unwrap();
        CpuStorage::apply_into(op, &[], &mut dst, &Layout::contiguous(n)).unwrap();
        dst
    }

    fn passes(op: &Op, dtype: DType, bytes: &[u8]) -> bool {
        compare(op, dtype, bytes).differing == 0
    }

    fn f32s(op: &Op, numbers: &[f32]) -> bool {
        passes(op, DType::F32, bytemuck::cast_slice(numbers))
    }

    #[test]
    fn numbers_of_the_distribution_pass() {
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            for seed in 0..20 {
                for (lo, up) in [(0.0, 1.0), (-3.0, 5.5), (1.0, 1.001), (2.0, 2.0), (1.0001, 1.0002), (-1e5, 1e5)] {
                    let op = Op::RandUniform(RandUniform::new(lo, up).at(seed, 0));
                    let found = compare(&op, dtype, drawn(&op, dtype, 4000).as_bytes());
                    assert_eq!(found.differing, 0, "{dtype} [{lo}, {up}): {:?}", found.first);
                }
                for (mean, std) in [(0.0, 1.0), (50.0, 3.0), (-2.0, 0.0), (0.0, 3e4), (1.0, 1e-9)] {
                    let op = Op::RandNormal(RandNormal::new(mean, std).at(seed, 0));
                    let found = compare(&op, dtype, drawn(&op, dtype, 4000).as_bytes());
                    assert_eq!(found.differing, 0, "{dtype} {mean} {std}: {:?}", found.first);
                }
            }
        }
    }

    #[test]
    fn what_is_not_distributed_so_is_caught() {
        let uniform = Op::RandUniform(RandUniform::new(0.0, 1.0));
        let numbers = drawn(&uniform, DType::F32, 10_000).to_vec::<f32>().unwrap();
        assert!(f32s(&uniform, &numbers));
        let mapped = |f: fn(f32) -> f32| numbers.iter().map(|&x| f(x)).collect::<Vec<_>>();
        assert!(!f32s(&uniform, &mapped(|x| 1.0 - x * x)), "another distribution");
        assert!(!f32s(&uniform, &mapped(|x| x * 0.9)), "a part of the interval");
        assert!(!f32s(&uniform, &mapped(|x| 0.5 + (x - 0.5) * 0.95)), "too narrow");
        assert!(!f32s(&uniform, &[0.25; 100]), "always the same");
        // A single wrong element: the end of the interval, a number beyond it, a NaN, and one that
        // was not written.
        for wrong in [1.0, -1e-30, f32::NAN, f32::INFINITY] {
            let mut numbers = numbers.clone();
            numbers[77] = wrong;
            let found = compare(&uniform, DType::F32, bytemuck::cast_slice(&numbers));
            assert_eq!((found.differing, found.first.map(|f| f.index)), (1, Some(77)), "{wrong}");
        }
        let normal = Op::RandNormal(RandNormal::new(1.0, 2.0));
        let numbers = drawn(&normal, DType::F32, 10_000).to_vec::<f32>().unwrap();
        assert!(f32s(&normal, &numbers));
        let mapped = |f: fn(f32) -> f32| numbers.iter().map(|&x| f(x)).collect::<Vec<_>>();
        assert!(!f32s(&normal, &mapped(|x| x + 0.15)), "another mean");
        assert!(!f32s(&normal, &mapped(|x| 1.0 + (x - 1.0) * 1.06)), "another variance");
        assert!(!f32s(&normal, &mapped(|x| 1.0 + (x - 1.0).abs())), "one side");
        assert!(!f32s(&normal, &mapped(|x| if x > 4.0 { f32::NAN } else { x })));
        let still = Op::RandNormal(RandNormal::new(3.0, 0.0));
        assert!(f32s(&still, &[3.0; 50]) && !f32s(&still, &[3.1; 50]));
    }

    #[test]
    fn a_narrow_dtype_is_held_to_its_own_steps() {
        let op = Op::RandUniform(RandUniform::new(0.0, 1.0));
        let fine = drawn(&op, DType::F32, 40_000).to_vec::<f32>().unwrap();
        let bytes = |f: fn(f32) -> bf16| bytemuck::cast_slice(&fine.iter().map(|&x| f(x)).collect::<Vec<_>>()).to_vec();
        let below = bf16::from_f32(0.996);
        assert!(passes(&op, DType::BF16, drawn(&op, DType::BF16, 40_000).as_bytes()));
        assert!(!passes(&op, DType::BF16, &bytes(bf16::from_f32)), "the end of the interval is reached");
        assert_eq!(below.to_f32(), 0.996_093_75);
        // Tenths instead of the dtype's steps.
        assert!(!passes(&op, DType::BF16, &bytes(|x| bf16::from_f32((x * 10.0).floor() / 10.0))));
    }
}
