//! Compares the random generator with its published vectors, the maps to numbers with exact
//! arithmetic, and the numbers with their distributions.

use super::vec;
use half::{bf16, f16};
use isobit_hal::cpu::internals::block;
use isobit_hal::*;

/// `kat_vectors` of Random123, the library of Philox's authors: counter, key, block.
const KNOWN: [([u32; 4], [u32; 2], [u32; 4]); 3] = [
    ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
    ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
    (
        [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
        [0xa409_3822, 0x299f_31d0],
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
    ),
];

#[test]
fn the_generator_gives_its_published_vectors() {
    for (counter, key, words) in KNOWN {
        assert_eq!(block(counter, key), words);
    }
}

fn draw<T: WithDType>(op: &Op, n: usize) -> Vec<T> {
    let mut dst = CpuDevice.zeros(&n.into(), T::DTYPE).unwrap();
    CpuStorage::apply_into(op, &[], &mut dst, &Layout::contiguous(n)).unwrap();
    vec(&dst)
}

fn uniform(lo: f64, up: f64, seed: u64, offset: u64) -> Op {
    Op::RandUniform(RandUniform::new(lo, up).at(seed, offset))
}

fn normal(mean: f64, std: f64, seed: u64, offset: u64) -> Op {
    Op::RandNormal(RandNormal::new(mean, std).at(seed, offset))
}

/// Returns the word of a seed's stream that a 32-bit number uses, or the two words of a 64-bit
/// number.
fn word(seed: u64, number: u64) -> u32 {
    let at = number / 4;
    block([at as u32, (at >> 32) as u32, 0, 0], [seed as u32, (seed >> 32) as u32])[(number % 4) as usize]
}

fn wide(seed: u64, number: u64) -> u64 {
    let at = number / 2;
    let words = block([at as u32, (at >> 32) as u32, 1, 0], [seed as u32, (seed >> 32) as u32]);
    let pair = 2 * (number % 2) as usize;
    u64::from(words[pair]) | u64::from(words[pair + 1]) << 32
}

const PLACES: [(u64, u64); 5] = [(0, 0), (7, 3), (u64::MAX, 1 << 20), (1 << 40, (1 << 34) - 5), (9, u64::MAX - 700)];

#[test]
fn units_are_the_leading_bits_of_their_words() {
    for (seed, offset) in PLACES {
        let narrow: Vec<f32> = draw(&uniform(0.0, 1.0, seed, offset), 1500);
        let long: Vec<f64> = draw(&uniform(0.0, 1.0, seed, offset), 1500);
        for i in 0..1500 {
            let number = offset.wrapping_add(i as u64);
            assert_eq!(f64::from(narrow[i]), f64::from(word(seed, number) >> 8) / 2f64.powi(24), "number {number}");
            assert_eq!(long[i], (wide(seed, number) >> 11) as f64 / 2f64.powi(53), "number {number}");
        }
    }
}

/// The cosine or sine of one word's angle times the radius of the other word, in f64 by the
/// system's math library.
fn box_muller(u: f64, quarter: f64, swap: bool, minus: bool, odd: bool) -> f64 {
    let radius = (-2.0 * u.ln()).sqrt();
    let angle = quarter * std::f64::consts::FRAC_PI_2;
    let value = if swap == odd { angle.cos() } else { angle.sin() } * radius;
    if minus { -value } else { value }
}

#[test]
fn normal_numbers_are_those_of_the_transform() {
    let mut worst = 0.0f64;
    for (seed, offset) in PLACES {
        let got: Vec<f32> = draw(&normal(0.0, 1.0, seed, offset), 20_000);
        for (i, &got) in got.iter().enumerate() {
            let number = offset.wrapping_add(i as u64);
            let (a, b) = (word(seed, number & !1), word(seed, number | 1));
            let u = f64::from((a | 1) as f32) / 2f64.powi(32);
            let quarter = f64::from(b & 0x7f_ffff) / 2f64.powi(23) - 0.5;
            let want = box_muller(u, quarter, b >> 30 & 1 == 1, b >> 31 == 1, number % 2 == 1);
            worst = worst.max((f64::from(got) - want).abs() / want.abs().max(1e-30));
        }
        let got: Vec<f64> = draw(&normal(0.0, 1.0, seed, offset), 20_000);
        for (i, &got) in got.iter().enumerate() {
            let number = offset.wrapping_add(i as u64);
            let (a, b) = (wide(seed, number & !1), wide(seed, number | 1));
            let u = ((a >> 11) + 1) as f64 / 2f64.powi(53);
            let quarter = (b & ((1 << 52) - 1)) as f64 / 2f64.powi(52) - 0.5;
            let want = box_muller(u, quarter, b >> 62 & 1 == 1, b >> 63 == 1, number % 2 == 1);
            assert!((got - want).abs() <= 6.0 * f64::EPSILON * want.abs(), "number {number}: {got} for {want}");
        }
    }
    // The bound that docs/numerics/random.md states.
    assert!(worst <= 4.0 * f64::from(f32::EPSILON), "{worst}");
}

#[test]
fn mean_and_deviation_are_one_fma_and_narrow_numbers_one_rounding() {
    let standard: Vec<f32> = draw(&normal(0.0, 1.0, 5, 2), 3000);
    let wide: Vec<f32> = draw(&normal(3.3, 0.7, 5, 2), 3000);
    let (halves, brains): (Vec<f16>, Vec<bf16>) =
        (draw(&normal(3.3, 0.7, 5, 2), 3000), draw(&normal(3.3, 0.7, 5, 2), 3000));
    for i in 0..3000 {
        let want = standard[i].mul_add(0.7, 3.3);
        assert_eq!(wide[i].to_bits(), want.to_bits());
        assert_eq!((halves[i], brains[i]), (f16::from_f32(want), bf16::from_f32(want)));
    }
    let still: Vec<f64> = draw(&normal(-2.5, 0.0, 1, 0), 100);
    assert!(still.iter().all(|&x| x == -2.5));
    let fine: Vec<f32> = draw(&uniform(-1.0, 2.0, 5, 2), 3000);
    let coarse: Vec<bf16> = draw(&uniform(-1.0, 2.0, 5, 2), 3000);
    for (fine, coarse) in fine.into_iter().zip(coarse) {
        assert_eq!(coarse, bf16::from_f32(fine.min(1.992_187_5)), "the largest below 2");
    }
}

#[test]
fn an_element_is_a_function_of_seed_and_place() {
    let all: Vec<f32> = draw(&normal(0.0, 1.0, 77, 0), 5000);
    for (offset, n) in [(1, 1), (1, 3000), (2, 1025), (3, 64), (4, 4096), (65, 66), (4999, 1), (17, 0)] {
        let part: Vec<f32> = draw(&normal(0.0, 1.0, 77, offset as u64), n);
        assert_eq!(part, all[offset..offset + n], "{n} from {offset} on");
    }
    // The numbers go row by row, whatever the strides.
    let layout = Layout::new([50, 100], &[1usize, 50][..], 7).unwrap();
    let mut dst = CpuDevice.zeros(&5010.into(), DType::F32).unwrap();
    CpuStorage::apply_into(&normal(0.0, 1.0, 77, 0), &[], &mut dst, &layout).unwrap();
    let scattered: Vec<f32> = vec(&dst);
    assert!((0..5000).all(|i| scattered[7 + i / 100 + i % 100 * 50] == all[i]));
    assert_eq!(scattered[..7], [0.0; 7]);
    // 64-bit numbers use a separate stream of words.
    let long: Vec<f64> = draw(&uniform(0.0, 1.0, 77, 0), 100);
    let short: Vec<f32> = draw(&uniform(0.0, 1.0, 77, 0), 400);
    assert!(long.iter().all(|x| short.iter().all(|y| (x - f64::from(*y)).abs() > 1e-7)));
}

fn bernoulli(p: f64, seed: u64, offset: u64) -> Op {
    Op::Bernoulli(Bernoulli::new(p).at(seed, offset))
}

#[test]
fn a_mark_is_a_word_below_the_threshold() {
    let step = 2f64.powi(-32);
    let ties = [(0.5, 0), (1.5, 2), (2.5, 2), (0.500_001, 1)];
    for (words, threshold) in ties {
        assert_eq!(Bernoulli::new(words * step).threshold(), threshold);
    }
    assert_eq!([5e-324, 1.0 - 2f64.powi(-53)].map(|p| Bernoulli::new(p).threshold()), [0, 1 << 32]);
    for (seed, offset) in PLACES {
        for p in [0.0, 0.1, 0.5, 0.875, 1.0] {
            let bytes: Vec<u8> = draw(&bernoulli(p, seed, offset), 1500);
            let of = |i: usize| f64::from(word(seed, offset.wrapping_add(i as u64))) < (p / step).round();
            assert!((0..1500).all(|i| (bytes[i] == 1) == of(i) && bytes[i] <= 1), "{p}");
            // Every dtype has the same ones.
            let [longs, wide] = [draw::<i64>, |op: &Op, n| draw::<f64>(op, n).into_iter().map(|x| x as i64).collect()]
                .map(|draw| draw(&bernoulli(p, seed, offset), 1500));
            let halves: Vec<f16> = draw(&bernoulli(p, seed, offset), 1500);
            for i in 0..1500 {
                let one = i64::from(bytes[i]);
                assert_eq!((longs[i], wide[i], halves[i].to_f32() as i64), (one, one, one));
            }
        }
        // A probability of few bits agrees with uniform numbers.
        let (marks, units): (Vec<f32>, Vec<f32>) =
            (draw(&bernoulli(0.625, seed, offset), 999), draw(&uniform(0.0, 1.0, seed, offset), 999));
        assert!((0..999).all(|i| (marks[i] == 1.0) == (units[i] < 0.625)));
    }
    let n = 1 << 20;
    let ones = draw::<u8>(&bernoulli(0.3, 299_792_458, 0), n).into_iter().map(f64::from).sum::<f64>();
    assert!((ones - 0.3 * n as f64).abs() < 6.0 * (0.21 * n as f64).sqrt(), "{ones}");
}

#[test]
fn dropout_scales_what_its_mask_keeps() {
    let dropped = |x: &[f32], op: Dropout| -> Vec<f32> {
        let storage = CpuStorage::F32(x.to_vec());
        vec(&CpuStorage::apply(&Op::Dropout(op), &[(&storage, &Layout::contiguous(x.len()))]).unwrap())
    };
    let x: Vec<f32> = (0..3000).map(|i| i as f32 - 1500.25).collect();
    for (seed, offset) in PLACES {
        let op = Dropout::new(0.3).at(seed, offset);
        let mask: Vec<u8> = draw(&Op::Bernoulli(op.mask()), x.len());
        let scale = (1.0 / (1.0 - 0.3)) as f32;
        let want: Vec<f32> = x.iter().zip(&mask).map(|(x, &m)| if m == 1 { x * scale } else { 0.0 }).collect();
        assert_eq!(dropped(&x, op), want);
        let mut inside = CpuStorage::F32(x.clone());
        let l = Layout::contiguous(x.len());
        CpuStorage::apply_into(&Op::Dropout(op), &[Src::InPlace], &mut inside, &l).unwrap();
        assert_eq!(vec::<f32>(&inside), want);
    }
    assert_eq!(dropped(&x, Dropout::new(0.0)), x);
    let odd = [f32::NAN, f32::INFINITY, -1.0, -0.0];
    assert!(dropped(&odd, Dropout::new(1.0)).iter().all(|y| y.to_bits() == 0), "dropped elements are +0");
}

fn in_interval<T: WithDType + Into<f64>>(lo: f64, up: f64) {
    let ends = RandUniform::new(lo, up).ends(T::DTYPE);
    let numbers: Vec<f64> = draw::<T>(&uniform(lo, up, 3, 0), 20_000).into_iter().map(Into::into).collect();
    let (least, most) = numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), &x| (l.min(x), m.max(x)));
    assert!(ends[0] <= least && most <= ends[1], "{} [{lo}, {up}): {least} to {most}", T::DTYPE);
    // bf16 is so coarse that the last value occurs among 20,000 numbers.
    if T::DTYPE == DType::BF16 {
        assert_eq!(most, ends[1], "[{lo}, {up})");
    }
}

#[test]
fn no_number_leaves_its_interval() {
    for (lo, up) in [
        (0.0, 1.0),
        (-1.0, 1.0),
        (1.0, 1.01),
        (-0.3, -0.1),
        (5.0, 5.0),
        (1.0001, 1.0002),
        (-3e38, 3e38),
        (1e300, 2e300),
    ] {
        in_interval::<f16>(lo, up);
        in_interval::<bf16>(lo, up);
        in_interval::<f32>(lo, up);
        in_interval::<f64>(lo, up);
    }
}

/// Returns the largest distance between the empirical distribution function of the numbers and a
/// true one.
fn kolmogorov_smirnov(mut numbers: Vec<f64>, up_to: impl Fn(f64) -> f64) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let n = numbers.len() as f64;
    let distance = |(i, &x): (usize, &f64)| ((i + 1) as f64 / n - up_to(x)).abs().max((i as f64 / n - up_to(x)).abs());
    numbers.iter().enumerate().map(distance).fold(0.0, f64::max)
}

/// One in 10^9 samples of a million numbers exceeds this distance.
const FAR: f64 = 0.003_3;

/// The standard normal distribution function: a series near 0, a continued fraction in the tails
/// (Abramowitz and Stegun 26.2.10, 26.2.14).
fn normal_up_to(x: f64) -> f64 {
    let density = (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    if x.abs() < 4.0 {
        let (mut term, mut sum) = (x, x);
        for k in 1..100 {
            term *= x * x / f64::from(2 * k + 1);
            sum += term;
        }
        return 0.5 + density * sum;
    }
    let tail = density / (1..60).rev().fold(x.abs(), |rest, k| x.abs() + f64::from(k) / rest);
    if x < 0.0 { tail } else { 1.0 - tail }
}

#[test]
fn numbers_have_their_distributions() {
    const N: usize = 1 << 20;
    let n = N as f64;
    let uniform: Vec<f64> = draw::<f32>(&uniform(0.0, 1.0, 299_792_458, 0), N).into_iter().map(f64::from).collect();
    let normal: Vec<f64> = draw::<f32>(&normal(0.0, 1.0, 299_792_458, 0), N).into_iter().map(f64::from).collect();
    assert!(kolmogorov_smirnov(uniform.clone(), |x| x) < FAR);
    assert!(kolmogorov_smirnov(normal.clone(), normal_up_to) < FAR);
    // Moments, within six standard deviations of their estimates.
    let moment = |numbers: &[f64], k: i32| numbers.iter().map(|x| x.powi(k)).sum::<f64>() / n;
    for (k, want, variance) in [(1, 0.5, 1.0 / 12.0), (2, 1.0 / 3.0, 4.0 / 45.0), (3, 0.25, 1.0 / 7.0 - 1.0 / 16.0)] {
        let got = moment(&uniform, k);
        assert!((got - want).abs() < 6.0 * (variance / n).sqrt(), "uniform, moment {k}: {got}");
    }
    for (k, want, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
        let got = moment(&normal, k);
        assert!((got - want).abs() < 6.0 * (variance / n).sqrt(), "normal, moment {k}: {got}");
    }
    // Neighbours, the two numbers of a pair, and the numbers of one block are uncorrelated.
    for lag in [1, 2, 3, 4, 8, 64] {
        let product = |numbers: &[f64], mean: f64| {
            numbers.iter().zip(&numbers[lag..]).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>() / n
        };
        let (u, z) = (product(&uniform, 0.5) * 12.0, product(&normal, 0.0));
        assert!(u.abs() < 6.0 / n.sqrt() && z.abs() < 6.0 / n.sqrt(), "lag {lag}: {u} {z}");
    }
    // The squares of a pair's numbers would reveal a wrong radius or angle.
    let squares = normal.chunks(2).map(|p| (p[0] * p[0] - 1.0) * (p[1] * p[1] - 1.0)).sum::<f64>() / (n / 2.0);
    assert!(squares.abs() < 6.0 * 2.0 / (n / 2.0).sqrt(), "{squares}");
    // The number of values in the tails, within six standard deviations of the count.
    for at in [2.0, 3.0, 4.0, 4.5] {
        let want = n * 2.0 * normal_up_to(-at);
        let got = normal.iter().filter(|x| x.abs() > at).count() as f64;
        assert!((got - want).abs() < 6.0 * want.sqrt() + 1.0, "beyond {at}: {got} of {want}");
    }
    assert!(normal.iter().all(|x| x.abs() < 6.67));
}

/// The only test that uses the device's own sequence, because the process has only one.
#[test]
fn a_device_goes_on_in_its_sequence() {
    CpuDevice.set_seed(1234).unwrap();
    assert_eq!(CpuDevice.get_current_seed().unwrap(), 1234);
    let next = |n: usize| vec::<f32>(&CpuDevice.rand_uniform(&n.into(), DType::F32, 0.0, 1.0).unwrap());
    let (first, second) = (next(6), next(4));
    let all: Vec<f32> = draw(&uniform(0.0, 1.0, 1234, 0), 12);
    // The second draw starts at the next multiple of four.
    assert_eq!((&first[..], &second[..]), (&all[..6], &all[8..]));
    let normals = vec::<f64>(&CpuDevice.rand_normal(&3.into(), DType::F64, 1.0, 2.0).unwrap());
    assert_eq!(normals, draw::<f64>(&normal(1.0, 2.0, 1234, 12), 3));
    let marks = vec::<u8>(&CpuDevice.bernoulli(&5.into(), DType::U8, 0.5).unwrap());
    assert_eq!(marks, draw::<u8>(&bernoulli(0.5, 1234, 16), 5));
    let ones = CpuStorage::F32(vec![1.0; 9]);
    let kept = vec::<f32>(&ones.dropout(&Layout::contiguous(9), 0.5).unwrap());
    assert_eq!(kept, draw::<f32>(&bernoulli(0.5, 1234, 24), 9).iter().map(|m| 2.0 * m).collect::<Vec<_>>());
    CpuDevice.set_seed(1234).unwrap();
    assert_eq!(next(6), first, "setting the seed restarts the sequence");
    assert!(CpuDevice.rand_uniform(&3.into(), DType::F32, 1.0, 0.0).is_err());
    assert!(CpuDevice.rand_uniform(&3.into(), DType::F32, 0.0, f64::INFINITY).is_err());
    assert!(CpuDevice.rand_normal(&3.into(), DType::F32, 0.0, -1.0).is_err());
    assert!(CpuDevice.rand_normal(&3.into(), DType::F32, f64::NAN, 1.0).is_err());
    assert!(CpuDevice.rand_uniform(&3.into(), DType::I64, 0.0, 1.0).is_err());
}
