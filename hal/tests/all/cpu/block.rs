//! Block products against a second implementation of their definition (`docs/numerics.md`, section
//! 9), in integers of 128 bits and one element at a time, and against the bound that it states.

use isobit_hal::*;

/// Digits of integers, and the threshold of wide segments, as a dtype has them.
fn digits(dtype: DType) -> (u32, i128) {
    if matches!(dtype, DType::BF16 | DType::F8E4M3) { (2, 16) } else { (3, 32) }
}

fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 20
}

/// `x` times 2^`n`, exact in f64.
pub fn scaled(x: f64, n: i32) -> f64 {
    x * 2f64.powi(n / 2) * 2f64.powi(n - n / 2)
}

/// The integers of a segment, their step, and what remains of each element in steps.
fn integers(x: &[f32], digits: u32) -> (Vec<i128>, i32, Vec<f32>) {
    let largest = x.iter().fold(0f32, |m, v| m.max(v.abs()));
    if largest == 0.0 {
        return (vec![0; x.len()], 0, vec![0.0; x.len()]);
    }
    let limit = if digits == 2 { 0x7f7f } else { 0x7f_7f7f };
    let step = (-200..200)
        .find(|&step| scaled(f64::from(largest), -step).round_ties_even() <= f64::from(limit))
        .expect("a step for every f32");
    let in_steps: Vec<f32> = x.iter().map(|&v| scaled(f64::from(v), -step) as f32).collect();
    let nearest: Vec<f32> = in_steps.iter().map(|v| v.round_ties_even()).collect();
    let rest = in_steps.iter().zip(&nearest).map(|(a, b)| a - b).collect();
    (nearest.into_iter().map(|v| v as i128).collect(), step, rest)
}

/// Two levels of integers of a segment; the second only of a wide one.
type Levels = [Option<(Vec<i128>, i32)>; 2];

fn levels(x: &[f32], dtype: DType) -> Levels {
    let (digits, small) = digits(dtype);
    let (first, step, rest) = integers(x, digits);
    let sum: i128 = first.iter().map(|v| v.abs()).sum();
    let count = x.iter().filter(|&&v| v != 0.0).count() as i128;
    let wide = sum * small < count << (8 * digits - 1);
    let second = wide.then(|| integers(&rest, digits)).map(|(v, second, _)| (v, step + second));
    [Some((first, step)), second]
}

/// The value of an exact sum.
pub fn value(sum: i128) -> f32 {
    let high = (sum + (1 << 23)) >> 24;
    let low = sum - (high << 24);
    (high as f32).mul_add(16_777_216.0, low as f32)
}

/// A result before it is rounded to the dtype. No element is infinite or a NaN.
fn product(a: &[f32], b: &[f32], dtype: DType) -> f32 {
    of_segments(&a.chunks(128).zip(b.chunks(128)).collect::<Vec<_>>(), dtype)
}

/// The same of segments of both lines.
pub fn of_segments(segments: &[(&[f32], &[f32])], dtype: DType) -> f32 {
    let mut result = 0f32;
    for pass in [[0, 0], [1, 0], [0, 1]] {
        for (a, b) in segments {
            let (a, b) = (levels(a, dtype), levels(b, dtype));
            let (Some((a, a_step)), Some((b, b_step))) = (&a[pass[0]], &b[pass[1]]) else { continue };
            let value = value(a.iter().zip(b).map(|(a, b)| a * b).sum());
            let exponent = (a_step + b_step).clamp(-252, 252);
            let near = exponent.clamp(-126, 126);
            let scale = |n: i32| 2f64.powi(n) as f32;
            result = (value * scale(exponent - near)).mul_add(scale(near), result);
        }
    }
    result + 0.0
}

pub fn rounded(values: &[f32], dtype: DType) -> CpuStorage {
    let layout = Layout::contiguous(values.len());
    CpuDevice.storage_from_slice(values).unwrap().to_dtype(&layout, dtype).unwrap()
}

pub fn widened(storage: &CpuStorage) -> Vec<f32> {
    let layout = Layout::contiguous(storage.len());
    storage.to_dtype(&layout, DType::F32).unwrap().to_vec().unwrap()
}

/// Computes a product of `m` x `k` and `k` x `n` values, the right operand transposed in memory.
fn block(a: &CpuStorage, b: &CpuStorage, [m, n, k]: [usize; 3]) -> Vec<f32> {
    let right = Layout::contiguous([n, k]).transpose(0, 1).unwrap();
    let op = Matmul::with_numerics(Numerics::Block);
    widened(&a.matmul(&Layout::contiguous([m, k]), b, &right, op).unwrap())
}

const DTYPES: [DType; 4] = [DType::F8E4M3, DType::BF16, DType::F16, DType::F32];

/// Elements whose exponents are below 2^`top` by up to `spread`.
fn values(seed: &mut u64, n: usize, top: i32, spread: u64) -> Vec<f32> {
    let one = |_| {
        let (bits, exponent) = (random(seed), top - (random(seed) % (spread + 1)) as i32);
        let sign = if bits & 1 == 0 { 1.0 } else { -1.0 };
        let zero = random(seed).is_multiple_of(9);
        if zero { 0.0 } else { (sign * scaled(1.0 + (bits >> 1 & 0x7f_ffff) as f64 / 8_388_608.0, exponent)) as f32 }
    };
    (0..n).map(one).collect()
}

#[test]
fn block_products_are_what_the_definition_says() {
    let mut seed = 1;
    for dtype in DTYPES {
        // Like sizes, wide segments, subnormals and overflow.
        for (top, spread) in [(0, 1), (0, 6), (3, 14), (6, 60), (-120, 30), (120, 4), (-140, 9), (126, 250)] {
            if matches!(dtype, DType::F8E4M3 | DType::F16) && !(-10..10).contains(&top) {
                continue;
            }
            for k in [1, 127, 128, 129, 300] {
                let sides @ [m, n, _] = [7, 9, k];
                let a = rounded(&values(&mut seed, m * k, top, spread), dtype);
                let b = rounded(&values(&mut seed, n * k, if top > 100 { -top } else { top }, spread), dtype);
                let (got, wide_a, wide_b) = (block(&a, &b, sides), widened(&a), widened(&b));
                let want: Vec<f32> =
                    (0..m * n).map(|i| product(&wide_a[i / n * k..][..k], &wide_b[i % n * k..][..k], dtype)).collect();
                let want = widened(&rounded(&want, dtype));
                for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                    let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                    assert!(same, "{dtype:?}, 2^{top} / 2^{spread}, k = {k}, {i}: {got:e}, not {want:e}");
                }
            }
        }
    }
}

/// At the threshold a segment is not wide, and its smallest element is lost; with one more small
/// element it is wide.
#[test]
fn a_segment_at_the_threshold_is_not_wide() {
    // A largest element of 1, `n` of 2^-`j` and one that is lost: (1 + n 2^-j) / (n + 2) is 1/16 or
    // 1/8 of it, which is itself half of the largest integer.
    for (dtype, n, j) in [(DType::F32, 28, 5), (DType::F16, 28, 5), (DType::BF16, 12, 4), (DType::F8E4M3, 12, 4)] {
        for (more, lost) in [(0, true), (1, false)] {
            let mut a = vec![2f32.powi(-j); n + more + 2];
            let last = a.len() - 1;
            (a[0], a[last]) = (1.0, 2f32.powi(-30));
            let scale = if dtype == DType::F32 || dtype == DType::BF16 { 1.0 } else { 128.0 };
            if scale != 1.0 {
                // The smallest subnormals of f8e4m3 and f16, below a step of the largest element.
                let tiny = if dtype == DType::F16 { 2f32.powi(-24) } else { 2f32.powi(-9) };
                a.iter_mut().for_each(|v| *v *= scale);
                a[last] = tiny;
            }
            let mut b = vec![0.0; a.len()];
            b[last] = 1.0;
            let got = block(&rounded(&a, dtype), &rounded(&b, dtype), [1, 1, a.len()]);
            assert_eq!(got[0] == 0.0, lost, "{dtype:?}, {more} more: {got:?}");
        }
    }
}

#[test]
fn lines_with_an_infinity_or_a_nan_are_chains() {
    let [m, n, k] = [5, 6, 300];
    let mut seed = 5;
    for dtype in DTYPES {
        let (mut a, mut b) = (values(&mut seed, m * k, 0, 3), values(&mut seed, n * k, 0, 3));
        let infinity = if dtype == DType::F8E4M3 { f32::NAN } else { f32::INFINITY };
        (a[k + 200], a[3 * k], b[2 * k + 7], b[7]) = (infinity, f32::NAN, -infinity, 0.0);
        let (a, b) = (rounded(&a, dtype), rounded(&b, dtype));
        let got = block(&a, &b, [m, n, k]);
        let right = Layout::contiguous([n, k]).transpose(0, 1).unwrap();
        let left = Layout::contiguous([m, k]);
        let chain = a.matmul(&left, &b, &right, Matmul::with_numerics(Numerics::Portable)).unwrap();
        for (i, (got, chain)) in got.iter().zip(widened(&chain)).enumerate() {
            let special = i / n == 1 || i / n == 3 || i % n == 2;
            assert_eq!(special, !got.is_finite(), "{dtype:?}, {i}: {got}");
            assert!(!special || got.is_nan() && chain.is_nan() || *got == chain, "{dtype:?}, {i}: {got}, not {chain}");
        }
    }
}

/// A sum of nothing is +0, also of negative zeros, of products that are too small, and of no
/// products.
#[test]
fn zeros_are_positive() {
    for dtype in DTYPES {
        for (k, value) in [(0, 1.0), (3, -0.0), (200, -0.0)] {
            let a = rounded(&vec![value; 2 * k], dtype);
            let b = rounded(&vec![1.0; 2 * k], dtype);
            assert!(block(&a, &b, [2, 2, k]).iter().all(|v| v.to_bits() == 0), "{dtype:?}, {k}, {value}");
        }
    }
    let tiny = rounded(&[-f32::MIN_POSITIVE; 4], DType::F32);
    let positive = rounded(&[f32::MIN_POSITIVE; 4], DType::F32);
    assert_eq!(block(&tiny, &positive, [2, 2, 2])[0].to_bits(), 0);
}

/// What has no block product is as with portable numerics.
#[test]
fn products_of_f64_are_chains() {
    let a: Vec<f64> = (0..600).map(|i| f64::from(i).sin()).collect();
    let a = CpuDevice.storage_from_slice(&a).unwrap();
    let (left, right) = (Layout::contiguous([2, 300]), Layout::contiguous([300, 2]));
    let results =
        [Numerics::Block, Numerics::Portable].map(|n| a.matmul(&left, &a, &right, Matmul::with_numerics(n)).unwrap());
    assert_eq!(results[0].as_bytes(), results[1].as_bytes());
}

/// Each result is within the bound of section 9 of the exact sum.
#[test]
fn results_are_within_the_bound() {
    let mut seed = 9;
    for (dtype, spread) in [(DType::F32, 2), (DType::F32, 40), (DType::BF16, 2), (DType::BF16, 14)] {
        let [m, n, k] = [4, 4, 1000];
        let a = rounded(&values(&mut seed, m * k, 0, spread), dtype);
        let b = rounded(&values(&mut seed, n * k, 0, spread), dtype);
        let (got, a, b) = (block(&a, &b, [m, n, k]), widened(&a), widened(&b));
        for (i, got) in got.iter().enumerate() {
            let (a, b) = (&a[i / n * k..][..k], &b[i % n * k..][..k]);
            let exact: f64 = a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            let norm = |x: &[f32]| x.iter().map(|&v| f64::from(v.abs())).sum::<f64>();
            let mut bound = 0.0;
            for (a, b) in a.chunks(128).zip(b.chunks(128)) {
                let [qa, qb] = [a, b].map(|x| {
                    let [first, second] = levels(x, dtype);
                    second.or(first).map_or(0.0, |(_, step)| scaled(1.0, step))
                });
                bound += (qa * norm(b) + qb * norm(a)) / 2.0 + 2.0 * 128.0 * qa.max(qb) * qa.max(qb);
                // Products of two second levels are left out.
                let [ra, rb] = [a, b].map(|x| levels(x, dtype)[0].as_ref().map_or(0.0, |(_, s)| scaled(1.0, *s)));
                bound += 128.0 * ra * rb / 4.0;
            }
            let size: f64 = a.iter().zip(b).map(|(&a, &b)| f64::from(a * b).abs()).sum();
            bound += 32.0 * size * f64::from(f32::EPSILON);
            let ulp = if dtype == DType::BF16 { exact.abs() / 256.0 } else { exact.abs() * f64::from(f32::EPSILON) };
            let error = (f64::from(*got) - exact).abs();
            assert!(error <= bound + ulp, "{dtype:?}, {spread}, {i}: {error:e} above {bound:e}");
        }
    }
}
