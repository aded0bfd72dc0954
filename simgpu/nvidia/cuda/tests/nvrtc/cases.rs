//! The kernels of `kernels.cu`, each with its expected result.

use super::{Card, config, draw, floats};
use cudarc::driver::{DeviceRepr, LaunchConfig, PushKernelArg};

type Case = (&'static str, fn(&Card));

/// All cases.
pub const ALL: &[Case] = &[
    ("saxpy", saxpy),
    ("sum", sum),
    ("matmul", matmul),
    ("histogram", histogram),
    ("halves", halves),
    ("transpose", transpose),
    ("scan", scan),
    ("compact", compact),
    ("functions", functions),
    ("doubles", doubles),
    ("calls", calls),
    ("groups", groups),
    ("integers", integers),
    ("locked", locked),
];

/// Launches a kernel with its arguments in order.
macro_rules! launch {
    ($card:expr, $name:literal, $config:expr, $($argument:expr),*) => {{
        let function = $card.kernel($name);
        // SAFETY: the arguments are those of the kernel, which stays within its buffers.
        unsafe { $card.stream.launch_builder(&function)$(.arg($argument))*.launch($config) }.unwrap();
    }};
}

fn saxpy(card: &Card) {
    for n in [1usize, 31, 1000, 100_003] {
        let (x, y) = (floats(n, 1), floats(n, 2));
        let (dx, mut dy) = (card.stream.clone_htod(&x).unwrap(), card.stream.clone_htod(&y).unwrap());
        launch!(card, "saxpy", config(7, 128, 0), &1.7f32, &dx, &mut dy, &(n as u32));
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 1.7f32.mul_add(*x, *y)).collect();
        assert_eq!(card.stream.clone_dtoh(&dy).unwrap(), expected);
    }
}

fn sum(card: &Card) {
    for n in [1usize, 255, 4096, 50_001] {
        let numbers: Vec<i32> = draw(n, 3).map(|x| x as i32 >> 12).collect();
        let (input, mut out) = (card.stream.clone_htod(&numbers).unwrap(), card.stream.alloc_zeros::<i32>(1).unwrap());
        launch!(card, "sum", config((n as u32).div_ceil(256), 256, 0), &input, &mut out, &(n as u32));
        assert_eq!(card.stream.clone_dtoh(&out).unwrap(), [numbers.iter().fold(0, |a: i32, b| a.wrapping_add(*b))]);
    }
}

fn matmul(card: &Card) {
    let n = 53usize;
    let (a, b) = (floats(n * n, 4), floats(n * n, 5));
    let (da, db) = (card.stream.clone_htod(&a).unwrap(), card.stream.clone_htod(&b).unwrap());
    let mut dc = card.stream.alloc_zeros::<f32>(n * n).unwrap();
    let config = LaunchConfig { grid_dim: (4, 4, 1), block_dim: (16, 16, 1), shared_mem_bytes: 0 };
    launch!(card, "matmul", config, &da, &db, &mut dc, &(n as u32));
    let element = |i: usize| (0..n).fold(0f32, |sum, k| a[i / n * n + k].mul_add(b[k * n + i % n], sum));
    assert_eq!(card.stream.clone_dtoh(&dc).unwrap(), (0..n * n).map(element).collect::<Vec<_>>());
}

fn histogram(card: &Card) {
    let bytes: Vec<u8> = draw(20_000, 6).map(|x| (x % 200) as u8).collect();
    let (input, mut bins) = (card.stream.clone_htod(&bytes).unwrap(), card.stream.alloc_zeros::<u32>(256).unwrap());
    launch!(card, "histogram", config(9, 192, 1024), &input, &mut bins, &(bytes.len() as u32));
    let mut expected = vec![0u32; 256];
    bytes.iter().for_each(|b| expected[usize::from(*b)] += 1);
    assert_eq!(card.stream.clone_dtoh(&bins).unwrap(), expected);
}

fn halves(card: &Card) {
    // Includes ties, subnormals and overflows of half precision.
    let special =
        [0.0, -0.0, 65504.0, 65520.0, 1e-8, 5.9604645e-8, 6.1e-5, 1.0009766, 1.0004883, -3.0e5, f32::INFINITY];
    let values: Vec<f32> = special.into_iter().chain(floats(500, 7)).collect();
    let n = values.len();
    let input = card.stream.clone_htod(&values).unwrap();
    let (mut half, mut twice) =
        (card.stream.alloc_zeros::<u16>(n).unwrap(), card.stream.alloc_zeros::<u16>(n).unwrap());
    let mut back = card.stream.alloc_zeros::<f32>(n).unwrap();
    launch!(card, "halves", config(5, 128, 0), &input, &mut half, &mut twice, &mut back, &(n as u32));
    let expected: Vec<half::f16> = values.iter().map(|x| half::f16::from_f32(*x)).collect();
    let doubled: Vec<half::f16> = expected.iter().map(|h| half::f16::from_f32(2.0 * h.to_f32())).collect();
    let bits = |halves: &[half::f16]| halves.iter().map(|h| h.to_bits()).collect::<Vec<_>>();
    assert_eq!(card.stream.clone_dtoh(&half).unwrap(), bits(&expected));
    assert_eq!(card.stream.clone_dtoh(&twice).unwrap(), bits(&doubled));
    assert_eq!(card.stream.clone_dtoh(&back).unwrap(), doubled.iter().map(|h| h.to_f32()).collect::<Vec<_>>());
}

fn transpose(card: &Card) {
    let (rows, columns) = (75usize, 130usize);
    let values = floats(rows * columns, 8);
    let input = card.stream.clone_htod(&values).unwrap();
    let mut out = card.stream.alloc_zeros::<f32>(rows * columns).unwrap();
    let config = LaunchConfig { grid_dim: (5, 3, 1), block_dim: (32, 8, 1), shared_mem_bytes: 0 };
    launch!(card, "transpose", config, &input, &mut out, &(rows as u32), &(columns as u32));
    let expected: Vec<f32> = (0..rows * columns).map(|i| values[i % rows * columns + i / rows]).collect();
    assert_eq!(card.stream.clone_dtoh(&out).unwrap(), expected);
}

fn scan(card: &Card) {
    let numbers: Vec<u32> = draw(3 * 512, 9).map(|x| x as u32 >> 8).collect();
    let (input, mut out) =
        (card.stream.clone_htod(&numbers).unwrap(), card.stream.alloc_zeros::<u32>(3 * 512).unwrap());
    launch!(card, "scan", config(3, 512, 0), &input, &mut out);
    let running = |part: &[u32]| {
        let mut sum = 0u32;
        part.iter()
            .map(|x| {
                sum = sum.wrapping_add(*x);
                sum
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(card.stream.clone_dtoh(&out).unwrap(), numbers.chunks(512).flat_map(running).collect::<Vec<_>>());
}

fn compact(card: &Card) {
    let numbers: Vec<u32> = draw(5000, 10).map(|x| x as u32).collect();
    let input = card.stream.clone_htod(&numbers).unwrap();
    let (mut out, mut count) =
        (card.stream.alloc_zeros::<u32>(5000).unwrap(), card.stream.alloc_zeros::<u32>(1).unwrap());
    launch!(card, "compact", config(20, 256, 0), &input, &mut out, &mut count, &5000u32);
    let mut expected: Vec<u32> = numbers.into_iter().filter(|x| x % 2 == 1).collect();
    assert_eq!(card.stream.clone_dtoh(&count).unwrap(), [expected.len() as u32]);
    let mut kept = card.stream.clone_dtoh(&out).unwrap()[..expected.len()].to_vec();
    kept.sort_unstable();
    expected.sort_unstable();
    assert_eq!(kept, expected);
}

/// The bounds are those of CUDA's programming guide for these functions, in units in the last
/// place, plus one for the freedom of the approximate instructions.
fn functions(card: &Card) {
    let values = floats(2000, 11);
    let n = values.len();
    let (input, mut out) = (card.stream.clone_htod(&values).unwrap(), card.stream.alloc_zeros::<f32>(8 * n).unwrap());
    launch!(card, "functions", config(8, 256, 0), &input, &mut out, &(n as u32));
    let got = card.stream.clone_dtoh(&out).unwrap();
    type Function = fn(f32) -> f64;
    let expected: [(&str, f64, Function); 8] = [
        ("exp", 3.0, |x| f64::from(x).exp()),
        ("sin", 3.0, |x| f64::from(1e6f32 * x).sin()),
        ("log", 2.0, |x| f64::from(x.abs() + 0.25).ln()),
        ("pow", 9.0, |x| f64::from(x.abs() + 0.25).powf(f64::from(1.7f32))),
        ("tanh", 3.0, |x| f64::from(x).tanh()),
        ("div and sqrt", 0.5, |x| f64::from(x / 3.0 + x.abs().sqrt())),
        ("rsqrt", 3.0, |x| 1.0 / f64::from(x.abs() + 1.0).sqrt()),
        ("erf", 3.0, erf),
    ];
    for (part, (name, bound, function)) in got.chunks(n).zip(expected) {
        for (x, y) in values.iter().zip(part) {
            let exact = function(*x);
            let ulp = f64::from(f32::from_bits((exact.abs() as f32).max(f32::MIN_POSITIVE).to_bits() & 0x7f80_0000))
                * f64::from(f32::EPSILON);
            assert!((f64::from(*y) - exact).abs() <= bound * ulp, "{name}({x}) = {y}, not {exact}");
        }
    }
}

/// The series converges everywhere and is accurate enough below 4.
fn erf(x: f32) -> f64 {
    let x = f64::from(x);
    let (mut sum, mut term) = (0.0, x);
    for k in 0..200 {
        sum += term / f64::from(2 * k + 1);
        term *= -x * x / f64::from(k + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

fn doubles(card: &Card) {
    let values: Vec<f64> = draw(3000, 12).map(|x| (x >> 20) as f64 / (1u64 << 40) as f64).collect();
    let n = values.len();
    let (input, mut out) = (card.stream.clone_htod(&values).unwrap(), card.stream.alloc_zeros::<f64>(2 * n).unwrap());
    let mut total = card.stream.alloc_zeros::<f64>(1).unwrap();
    launch!(card, "doubles", config(12, 256, 0), &input, &mut out, &mut total, &(n as u32));
    let got = card.stream.clone_dtoh(&out).unwrap();
    for (i, x) in values.iter().enumerate() {
        assert_eq!(got[i], x.sqrt() / (x + 1.0));
        assert!((got[n + i] / (-x).exp() - 1.0).abs() <= 2.0 * f64::EPSILON, "exp(-{x}) = {}", got[n + i]);
    }
    // Sums of integers, exact in every order.
    assert_eq!(card.stream.clone_dtoh(&total).unwrap(), [values.iter().map(|x| x.floor()).sum::<f64>()]);
}

/// The structure that `calls` takes.
#[derive(Clone, Copy)]
#[repr(C)]
struct Range {
    low: i32,
    high: i32,
    step: f64,
}

// SAFETY: plain numbers in C's layout, as in the kernel's source.
unsafe impl DeviceRepr for Range {}

fn calls(card: &Card) {
    let numbers: Vec<i32> = draw(1000, 13).map(|x| x as i32).collect();
    let (input, mut out) = (card.stream.clone_htod(&numbers).unwrap(), card.stream.alloc_zeros::<i32>(1000).unwrap());
    let range = Range { low: -10, high: 25, step: 2.5 };
    launch!(card, "calls", config(4, 256, 0), &input, &mut out, &range, &1000u32);
    let chosen = |(i, &x): (usize, &i32)| {
        let y = match i % 11 {
            0 => x.wrapping_add(1),
            1 => x.wrapping_mul(3),
            2 => x.wrapping_sub(7),
            3 => x.wrapping_neg(),
            4 => x / 5,
            5 => x % 5,
            6 => x << 3,
            7 => x >> 2,
            8 => x ^ 0x55,
            _ => 0,
        };
        y.wrapping_add(14)
    };
    assert_eq!(card.stream.clone_dtoh(&out).unwrap(), numbers.iter().enumerate().map(chosen).collect::<Vec<_>>());
}

fn groups(card: &Card) {
    // All values of the third warp are equal.
    let numbers: Vec<u32> =
        draw(128, 14).enumerate().map(|(i, x)| if i / 32 == 2 { 6 } else { (x % 9) as u32 }).collect();
    let (input, mut out) = (card.stream.clone_htod(&numbers).unwrap(), card.stream.alloc_zeros::<u32>(512).unwrap());
    launch!(card, "groups", config(2, 64, 0), &input, &mut out);
    let expected = |warp: &[u32]| {
        let answer = |x: &u32| {
            let same = warp.iter().filter(|y| *y == x).count() as u32;
            let first = warp.iter().position(|y| y == x).unwrap() as u32;
            [same, first, u32::from(same == 32), *warp.iter().max().unwrap()]
        };
        warp.iter().flat_map(answer).collect::<Vec<_>>()
    };
    assert_eq!(card.stream.clone_dtoh(&out).unwrap(), numbers.chunks(32).flat_map(expected).collect::<Vec<_>>());
}

fn integers(card: &Card) {
    let numbers: Vec<u64> = draw(700, 15).collect();
    let (input, mut out) = (card.stream.clone_htod(&numbers).unwrap(), card.stream.alloc_zeros::<u64>(700).unwrap());
    launch!(card, "integers", config(3, 256, 0), &input, &mut out, &700u32);
    let expected = |(i, &x): (usize, &u64)| {
        let (i, bytes, word) = (i as u64, x.to_le_bytes(), x as u32);
        // The selector 0x3607, from the low digit: bytes 7, 0, 6, 3.
        let permuted = u32::from_le_bytes([bytes[7], bytes[0], bytes[6], bytes[3]]);
        let funnel = ((x << (i % 32)) >> 32) as u32;
        let parts = [
            x / (i + 3),
            x % (i + 3),
            u64::from(x.leading_zeros()) | u64::from(word.reverse_bits()) << 32,
            u64::from(permuted),
            ((u128::from(x) * 0x9e37_79b9_7f4a_7c15) >> 64) as u64,
            u64::from(funnel) + [2, 3, 5, 7][i as usize % 4] * 11,
        ];
        (0..6).fold(0u64, |mixed, k| mixed.wrapping_mul(31).wrapping_add(parts[(i as usize + k) % 6]))
    };
    assert_eq!(card.stream.clone_dtoh(&out).unwrap(), numbers.iter().enumerate().map(expected).collect::<Vec<_>>());
}

fn locked(card: &Card) {
    let (mut lock, mut total) =
        (card.stream.alloc_zeros::<u32>(1).unwrap(), card.stream.alloc_zeros::<u32>(1).unwrap());
    launch!(card, "locked", config(3, 96, 0), &mut lock, &mut total);
    assert_eq!(card.stream.clone_dtoh(&total).unwrap(), [3 * 96 * 97 / 2]);
}

/// Launches a kernel with an element count that is one too large.
pub fn past_the_end(card: &Card) {
    let (x, mut y) = (card.stream.clone_htod(&[1f32; 100]).unwrap(), card.stream.alloc_zeros::<f32>(100).unwrap());
    launch!(card, "saxpy", config(1, 128, 0), &1f32, &x, &mut y, &101u32);
    card.stream.synchronize().unwrap();
}

/// Loads that NVRTC widens past the end of a buffer of 28 bytes, which has no more than the values.
pub fn last_three(card: &Card) {
    let seven = card.stream.clone_htod(&[0f32, 1.0, 2.0, 5.0, 3.0, 4.0, 97.0]).unwrap();
    let mut out = card.stream.alloc_zeros::<f32>(3).unwrap();
    launch!(card, "last_three", config(1, 1, 0), &seven, &mut out);
    assert_eq!(card.stream.clone_dtoh(&out).unwrap(), [3.0, 4.0, 97.0]);
    let mut out = card.stream.alloc_zeros::<f32>(3).unwrap();
    launch!(card, "last_three_shared", config(1, 32, 0), &seven, &mut out);
    assert_eq!(card.stream.clone_dtoh(&out).unwrap(), [3.0, 4.0, 97.0]);
}
