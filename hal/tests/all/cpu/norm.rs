//! Compares softmax and the norms with a literal implementation of the recipes of
//! `docs/numerics/norm.md`, and with the true values in f64.

use super::reduce::by_the_rule;
use super::*;
use half::{bf16, f16};
use isobit_hal::cpu::internals::{f32 as single, f64 as double, narrow};
use isobit_hal::{
    BatchNorm, BinaryOp, ErrorKind, F8E4M3, GroupNorm, LayerNorm, LocalResponseNorm, Op, Reduce, ReduceOp, Src,
};

/// A dtype, with its conversions to and from its compute type.
trait Dtype: WithDType {
    type C: Copy + PartialOrd + Into<f64>;
    fn wide(self) -> Self::C;
    fn narrowed(c: Self::C) -> Self;
    fn exp(c: Self::C) -> Self::C;
}

macro_rules! dtypes {
    ($($ty:ident $c:ident $wide:expr, $narrowed:expr, $exp:expr;)*) => {$(
        impl Dtype for $ty {
            type C = $c;
            fn wide(self) -> $c { $wide(self) }
            fn narrowed(c: $c) -> Self { $narrowed(c) }
            fn exp(c: $c) -> $c { $exp(c) }
        }
    )*};
}
dtypes! {
    f32 f32 |x| x, |x| x, single::exp;
    f64 f64 |x| x, |x| x, double::exp;
    f16 f32 f16::to_f32, f16::from_f32, narrow_exp;
    bf16 f32 bf16::to_f32, bf16::from_f32, narrow_exp;
    F8E4M3 f32 F8E4M3::to_f32, F8E4M3::from_f32, narrow_exp;
}

/// The page's recipe of e^x for narrow floats. The last two products are one scaling by a power of
/// 2, in f64.
fn narrow_exp(x: f32) -> f32 {
    let x = if x < -104.0 { -104.0 } else { x };
    let n = (f64::from(x) * f64::from(0x00b8_aa3b) / f64::from(1 << 23)).round_ties_even() as f32;
    let r = n.mul_add(-f32::from_bits(0x3f31_7218), x);
    let c = [0x3c07_c488, 0x3d2b_99e3, 0x3e2a_b32e, 0x3eff_ff9a, 0x3f7f_ffe8, 0x3f80_0000].map(f32::from_bits);
    let p = c[1..].iter().fold(c[0], |p, &c| p.mul_add(r, c));
    (f64::from(p) * 2f64.powi(n as i32)) as f32
}

/// Implements the recipes of the page for one row, for a compute type.
macro_rules! rules {
    ($module:ident $c:ident $log:path) => {
        mod $module {
            use super::*;

            pub fn softmax<T: Dtype<C = $c>>(x: &[T], log: bool) -> Vec<T> {
                let x: Vec<$c> = x.iter().map(|x| x.wide()).collect();
                let mut largest = <$c>::NEG_INFINITY;
                for &x in &x {
                    largest = if x.is_nan() || x > largest { x } else { largest };
                }
                let e: Vec<$c> = x.iter().map(|x| T::exp(x - largest)).collect();
                let sum = by_the_rule(&e, &|a, b| a + b);
                let y = |i: usize| if log { (x[i] - largest) - $log(sum) } else { e[i] * (1.0 / sum) };
                (0..x.len()).map(|i| T::narrowed(y(i))).collect()
            }

            pub fn rms<T: Dtype<C = $c>>(x: &[T], w: &[T], eps: f64) -> Vec<T> {
                let squares: Vec<$c> = x.iter().map(|x| x.wide() * x.wide()).collect();
                let mean = by_the_rule(&squares, &|a, b| a + b) / x.len() as $c;
                let scale = 1.0 / (mean + eps as $c).sqrt();
                x.iter().zip(w).map(|(x, w)| T::narrowed((x.wide() * scale) * w.wide())).collect()
            }

            pub fn stats<T: Dtype<C = $c>>(x: &[T], eps: f64) -> Vec<$c> {
                let x: Vec<$c> = x.iter().map(|x| x.wide()).collect();
                let mean = by_the_rule(&x, &|a, b| a + b) / x.len() as $c;
                let squares: Vec<$c> = x.iter().map(|x| (x - mean) * (x - mean)).collect();
                let variance = by_the_rule(&squares, &|a, b| a + b) / x.len() as $c;
                vec![mean, 1.0 / (variance + eps as $c).sqrt()]
            }

            pub fn layer<T: Dtype<C = $c>>(x: &[T], w: &[T], b: &[T], eps: f64) -> Vec<T> {
                let x: Vec<$c> = x.iter().map(|x| x.wide()).collect();
                let mean = by_the_rule(&x, &|a, b| a + b) / x.len() as $c;
                let centred: Vec<$c> = x.iter().map(|x| x - mean).collect();
                let squares: Vec<$c> = centred.iter().map(|c| c * c).collect();
                let variance = by_the_rule(&squares, &|a, b| a + b) / x.len() as $c;
                let scale = 1.0 / (variance + eps as $c).sqrt();
                (0..x.len()).map(|i| T::narrowed((centred[i] * scale).mul_add(w[i].wide(), b[i].wide()))).collect()
            }
        }
    };
}
rules! { in_f32 f32 single::log }
rules! { in_f64 f64 double::log }

const EPS: f64 = 1e-5;

fn row<T: WithDType>(x: &[T]) -> (CpuStorage, Layout) {
    (storage(x), Layout::contiguous(x.len()))
}

fn softmax<T: WithDType>(x: &[T], log: bool) -> Vec<T> {
    let (s, l) = row(x);
    vec(&if log { s.log_softmax_last_dim(&l) } else { s.softmax_last_dim(&l) }.unwrap())
}

fn rms<T: WithDType>(x: &[T], w: &[T], eps: f64) -> Vec<T> {
    let ((s, l), (w, wl)) = (row(x), row(w));
    vec(&s.rms_norm(&l, &w, &wl, eps).unwrap())
}

fn layer<T: WithDType>(x: &[T], w: &[T], b: &[T], eps: f64) -> Vec<T> {
    let ((s, l), (w, wl), (b, bl)) = (row(x), row(w), row(b));
    vec(&s.layer_norm(&l, &w, &wl, &b, &bl, eps).unwrap())
}

/// The forms with a weight alone, a bias alone and neither, and the mean and the scale.
fn layer_forms<T: WithDType>(x: &[T], w: &[T], b: &[T], eps: f64) -> ([Vec<T>; 3], CpuStorage) {
    let ((s, l), (w, wl), (b, bl)) = (row(x), row(w), row(b));
    let of = |weight: bool, bias: bool| {
        let mut inputs = vec![(&s, &l)];
        inputs.extend(weight.then_some((&w, &wl)));
        inputs.extend(bias.then_some((&b, &bl)));
        vec(&CpuStorage::apply(&Op::LayerNorm(LayerNorm::new(eps).with_inputs(weight, bias)), &inputs).unwrap())
    };
    ([of(true, false), of(false, true), of(false, false)], s.layer_norm_stats(&l, eps).unwrap())
}

#[test]
fn a_safe_softmax_has_zeros_where_nothing_is_seen() {
    const HIDDEN: f32 = f32::NEG_INFINITY;
    let safe = |x: &[f32]| -> Vec<f32> {
        let (s, l) = row(x);
        vec(&s.safe_softmax_last_dim(&l).unwrap())
    };
    for n in [1, 2, 255, 257, 70_000] {
        assert!(safe(&vec![HIDDEN; n]).iter().all(|y| y.to_bits() == 0), "{n}");
        assert!(softmax(&vec![HIDDEN; n], false).iter().all(|y| y.is_nan()), "{n}");
    }
    for x in [[HIDDEN, -1.0, HIDDEN], [-1e38, -1.0, 5.0], [f32::MIN; 3]] {
        assert_same(&safe(&x), &softmax(&x, false));
    }
    for x in [[HIDDEN, f32::NAN], [f32::INFINITY, HIDDEN]] {
        assert!(safe(&x).iter().all(|y| y.is_nan()), "{x:?}");
    }
}

/// The inputs are those of the operation: x, skip, weight, bias and the bias of x.
fn skip_layer<T: WithDType>(inputs: [&[T]; 5], eps: f64) -> Vec<T> {
    let inputs = inputs.map(row);
    let inputs: Vec<_> = inputs.iter().map(|(s, l)| (s, l)).collect();
    vec(&CpuStorage::apply(&Op::SkipLayerNorm { eps }, &inputs).unwrap())
}

const SIZES: [usize; 12] = [1, 2, 3, 33, 255, 256, 257, 1025, 4096, 65_536, 65_537, 131_073];

#[test]
fn every_length_is_by_the_rule() {
    let mut rng = Rng(70);
    macro_rules! check {
        ($T:ty, $rules:ident, $from:expr, $n:expr) => {{
            let mut floats = |by: f32| -> Vec<$T> { rng.floats($n).into_iter().map(|v| $from(v * by)).collect() };
            let (x, w, b) = (floats(9.0), floats(2.0), floats(1.0));
            assert_same(&softmax(&x, false), &$rules::softmax(&x, false));
            assert_same(&softmax(&x, true), &$rules::softmax(&x, true));
            assert_same(&rms(&x, &w, EPS), &$rules::rms(&x, &w, EPS));
            assert_same(&layer(&x, &w, &b, EPS), &$rules::layer(&x, &w, &b, EPS));
            // What is absent is 1 or +0.
            let (ones, zeros) = (vec![<$T>::narrowed(1.0); $n], vec![<$T>::narrowed(0.0); $n]);
            let (forms, stats) = layer_forms(&x, &w, &b, EPS);
            for (got, [w, b]) in forms.iter().zip([[&w, &zeros], [&ones, &b], [&ones, &zeros]]) {
                assert_same(got, &$rules::layer(&x, w, b, EPS));
            }
            assert_same(&vec(&stats), &$rules::stats(&x, EPS));
        }};
    }
    for n in SIZES {
        check!(f32, in_f32, |v: f32| v, n);
        check!(f64, in_f64, |v: f32| f64::from(v) / 3.0, n);
        check!(f16, in_f32, f16::from_f32, n);
        check!(bf16, in_f32, bf16::from_f32, n);
        check!(F8E4M3, in_f32, F8E4M3::from_f32, n);
    }
}

/// Values that cover the whole range of e^x, and random bits.
#[test]
fn extremes_are_by_the_rule() {
    let mut rng = Rng(71);
    for by in [1e-40, 1e-3, 60.0, 110.0, 1e4, 3e38] {
        let x: Vec<f32> = rng.floats(300).into_iter().map(|v| v * by).collect();
        let narrow: Vec<bf16> = x.iter().map(|&v| bf16::from_f32(v)).collect();
        for log in [false, true] {
            assert_same(&softmax(&x, log), &in_f32::softmax(&x, log));
            assert_same(&softmax(&narrow, log), &in_f32::softmax(&narrow, log));
        }
        assert_same(&rms(&x, &x, EPS), &in_f32::rms(&x, &x, EPS));
        assert_same(&layer(&x, &x, &x, EPS), &in_f32::layer(&x, &x, &x, EPS));
    }
    for _ in 0..200 {
        let n = 1 + rng.below(4);
        let (x, wide): (Vec<f16>, Vec<f64>) = (rng.bits(n), rng.bits(n));
        for log in [false, true] {
            assert_same(&softmax(&x, log), &in_f32::softmax(&x, log));
            assert_same(&softmax(&wide, log), &in_f64::softmax(&wide, log));
        }
        assert_same(&layer(&x, &x, &x, EPS), &in_f32::layer(&x, &x, &x, EPS));
        assert_same(&rms(&wide, &wide, EPS), &in_f64::rms(&wide, &wide, EPS));
    }
}

#[test]
fn edges() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    // An element masked with -infinity gives exactly 0, and a row that is fully masked gives NaN.
    assert_same(&softmax(&[0.0, -inf, 0.0], false), &[0.5, 0.0, 0.5]);
    assert_same(&softmax(&[-inf, -inf], false), &[nan, nan]);
    assert_same(&softmax(&[inf, 0.0], false), &[nan, nan]);
    assert_same(&softmax(&[1.0, nan], false), &[nan, nan]);
    assert_same(&softmax(&[-7.5f32], false), &[1.0]);
    assert_same(&softmax(&[-0.0f32], true), &[0.0]);
    assert_same(&softmax(&[3.0, -inf], true), &[0.0, -inf]);
    assert_same(&softmax(&[3.0, nan], true), &[nan, nan]);
    let half: Vec<bf16> = [0.0, -inf, -200.0].map(bf16::from_f32).into();
    assert_same(&softmax(&half, false), &[1.0, 0.0, 0.0].map(bf16::from_f32));
    // f8e4m3 has no infinities: -448 and 448 are its extremes, and log_softmax saturates there.
    let eight: Vec<F8E4M3> = [448.0, -448.0].map(F8E4M3::from_f32).into();
    assert_same(&softmax(&eight, true), &[0.0, -448.0].map(F8E4M3::from_f32));
    // The result is 0 / 0, unless eps keeps the root from being 0.
    assert_same(&rms(&[0.0f32, 0.0], &[1.0, 1.0], 0.0), &[nan, nan]);
    assert_same(&rms(&[0.0f32, -0.0], &[1.0, 1.0], 1e-5), &[0.0, -0.0]);
    assert_same(&rms(&[inf, 1.0], &[1.0, 1.0], 1e-5), &[nan, 0.0]);
    assert_same(&layer(&[5.0f32], &[2.0], &[3.0], 1e-5), &[3.0]);
    assert_same(&layer(&[5.0f32], &[2.0], &[3.0], 0.0), &[nan]);
    assert_same(&layer(&[inf, 1.0], &[1.0, 1.0], &[0.0, 0.0], 1e-5), &[nan, nan]);
    // The sum under the root is negative.
    assert_same(&rms(&[1.0f32, 1.0], &[1.0, 1.0], -2.0), &[nan, nan]);
}

#[test]
fn rows_of_any_layout() {
    let mut rng = Rng(72);
    let (rows, n) = (7, 300);
    let x = rng.floats(rows * n);
    let w = rng.floats(2 * n);
    let every_other = Layout::new(n, &[2][..], 1).unwrap();
    let weight: Vec<f32> = (0..n).map(|i| w[2 * i + 1]).collect();
    // Element [r, i] is at i * rows + r; then one row is broadcast.
    for (layout, at) in [
        (Layout::new((rows, n), &[1, rows][..], 0).unwrap(), &(|r, i| i * rows + r) as &dyn Fn(usize, usize) -> usize),
        (Layout::new((rows, n), &[0, 1][..], 5).unwrap(), &|_, i| 5 + i),
        (Layout::new((rows, n), &[n, 0][..], 0).unwrap(), &|r, _| r * n),
    ] {
        let source = storage(&x);
        let soft = vec::<f32>(&source.softmax_last_dim(&layout).unwrap());
        let norm = vec::<f32>(&source.rms_norm(&layout, &storage(&w), &every_other, EPS).unwrap());
        for r in 0..rows {
            let row: Vec<f32> = (0..n).map(|i| x[at(r, i)]).collect();
            assert_same(&soft[r * n..(r + 1) * n], &in_f32::softmax(&row, false));
            assert_same(&norm[r * n..(r + 1) * n], &in_f32::rms(&row, &weight, EPS));
        }
    }
    // The destination is transposed, and nothing may be written into its gaps.
    let mut dst = storage(&vec![9.0f32; 2 * rows * n]);
    let into = Layout::new((rows, n), &[2, 2 * rows][..], 1).unwrap();
    let (source, from) = (storage(&x), Layout::contiguous((rows, n)));
    CpuStorage::apply_into(&Op::LogSoftmax, &[Src::Storage(&source, &from)], &mut dst, &into).unwrap();
    let got = vec::<f32>(&dst);
    assert!(got.iter().step_by(2).all(|&v| v == 9.0));
    for r in 0..rows {
        let written: Vec<f32> = (0..n).map(|i| got[1 + 2 * r + 2 * rows * i]).collect();
        assert_same(&written, &in_f32::softmax(&x[r * n..(r + 1) * n], true));
    }
    // Zero rows, and rows of zero elements.
    for shape in [(0, 5), (5, 0)] {
        let empty = storage::<f32>(&[]).softmax_last_dim(&Layout::contiguous(shape)).unwrap();
        assert_eq!(empty.len(), 0);
    }
}

/// The bits are those of the three operations for any layout.
#[test]
fn skip_layer_norm_is_add_add_and_layer_norm() {
    let mut rng = Rng(74);
    let rows = 5;
    macro_rules! check {
        ($T:ty, $from:expr, $by:expr, $n:expr, $src:expr, $skip:expr) => {{
            let mut floats = |len: usize, by: f32| -> CpuStorage {
                storage(&rng.floats(len).into_iter().map(|v| $from(v * by)).collect::<Vec<$T>>())
            };
            let n = $n;
            let (x, skip) = (floats(2 * rows * n, $by), floats(2 * rows * n, $by));
            let [w, b, x_bias] = [2.0, 1.0, $by].map(|by| floats(3 * n, by));
            let [dense, row] = [Layout::contiguous((rows, n)), Layout::contiguous(n)];
            let [bl, xl] = [2, 3].map(|step| Layout::new(n, &[step][..], 1).unwrap());
            let inputs = [(&x, $src), (&skip, $skip), (&w, &row), (&b, &bl), (&x_bias, &xl)];
            let got = CpuStorage::apply(&Op::SkipLayerNorm { eps: EPS }, &inputs).unwrap();
            let repeated = xl.broadcast_as((rows, n)).unwrap();
            let sum = x.binary($src, &x_bias, &repeated, BinaryOp::Add).unwrap();
            let sum = sum.binary(&dense, &skip, $skip, BinaryOp::Add).unwrap();
            assert_same(&vec::<$T>(&got), &vec(&sum.layer_norm(&dense, &w, &row, &b, &bl, EPS).unwrap()));
        }};
    }
    for n in [1, 33, 300, 1025] {
        let [dense, transposed, padded, one_row, one_column] =
            [[n, 1], [1, rows], [2 * n - 1, 1], [0, 1], [1, 0]].map(|s| Layout::new((rows, n), &s[..], 0).unwrap());
        for (src, skip) in [
            (&dense, &dense),
            (&dense, &transposed),
            (&transposed, &padded),
            (&padded, &one_row),
            (&one_row, &dense),
            (&transposed, &one_column),
        ] {
            check!(f32, |v: f32| v, 9.0, n, src, skip);
            check!(f64, |v: f32| f64::from(v) / 3.0, 9.0, n, src, skip);
            check!(f16, f16::from_f32, 9.0, n, src, skip);
            check!(bf16, bf16::from_f32, 9.0, n, src, skip);
            // Some sums saturate.
            check!(F8E4M3, F8E4M3::from_f32, 300.0, n, src, skip);
        }
    }
}

/// In any other order, and if the first sum is not rounded, the first element of the sum is 1.
#[test]
fn sums_of_skip_layer_norm_are_rounded_in_order() {
    /// `large + 1` lies half-way between two floats, of which `large` is even.
    fn check<T: WithDType>(from: fn(f32) -> T, large: f32) {
        // The sum is 0 and 4. Its variance of 4 and an eps of 12 make the root 4.
        let inputs = [[1.0, 1.0], [-large, 1.0], [2.0, 4.0], [9.0, 12.0], [large, 2.0]].map(|v| v.map(from));
        assert_same(&skip_layer(inputs.each_ref().map(|v| &v[..]), 12.0), &[8.0, 14.0].map(from));
    }
    check(F8E4M3::from_f32, 16.0);
    check(bf16::from_f32, 256.0);
    check(f16::from_f32, 2048.0);
    check(|v| v, 2f32.powi(24));
    check(f64::from, 2f32.powi(53));
}

#[test]
fn edges_of_skip_layer_norm() {
    fn check<T: WithDType>(from: fn(f32) -> T, [x, skip, x_bias]: [[f32; 2]; 3], want: [f32; 2]) {
        let inputs = [x, skip, [1.0; 2], [1.0; 2], x_bias].map(|v| v.map(from));
        assert_same(&skip_layer(inputs.each_ref().map(|v| &v[..]), 12.0), &want.map(from));
    }
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    // A sum of f8e4m3 saturates, so that of the three is 0; one of f16 overflows to infinity.
    check(F8E4M3::from_f32, [[448.0, 1.0], [-448.0, 1.0], [448.0, 2.0]], [0.5, 1.5]);
    check(f16::from_f32, [[65504.0, 1.0], [-65504.0, 1.0], [65504.0, 2.0]], [nan, nan]);
    check(|v| v, [[1.0, 2.0], [inf, 0.0], [0.0, 0.0]], [nan, nan]);
    check(f64::from, [[1.0, 2.0], [0.0, 0.0], [nan, 0.0]], [nan, nan]);
    assert_same(&skip_layer([&[5.0f32], &[2.0], &[2.0], &[3.0], &[1.0]], 1e-5), &[3.0]);
    // Zero rows, and rows of zero elements.
    for (rows, n) in [(0, 5), (5, 0)] {
        let (x, parameter) = (storage::<f32>(&[]), storage(&vec![1.0f32; n]));
        let (l, row) = (Layout::contiguous((rows, n)), Layout::contiguous(n));
        let inputs = [(&x, &l), (&x, &l), (&parameter, &row), (&parameter, &row), (&parameter, &row)];
        assert_eq!(CpuStorage::apply(&Op::SkipLayerNorm { eps: EPS }, &inputs).unwrap().len(), 0);
    }
}

/// Checks the bounds of the page against f64.
#[test]
fn within_the_bounds() {
    let mut rng = Rng(73);
    for n in [1, 10, 1000, 70_000] {
        let x: Vec<f32> = rng.floats(n).into_iter().map(|v| v * 20.0).collect();
        let wide: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
        let largest = wide.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = wide.iter().map(|v| (v - largest).exp()).sum();
        let u = 2f64.powi(-24);
        for ((&y, &l), v) in softmax(&x, false).iter().zip(&softmax(&x, true)).zip(&wide) {
            let (d, want) = (v - largest, (v - largest).exp() / sum);
            assert!((f64::from(y) - want).abs() <= want * u * (2.0 * d.abs() + 2.0 * 64.0 + 280.0), "{y} {want}");
            let log = d - sum.ln();
            assert!((f64::from(l) - log).abs() <= u * (2.0 * d.abs() + 400.0 + 3.0 * log.abs()), "{l} {log}");
        }
    }
}

/// Checks e^x itself. Its domain has 1.1 * 10^9 f32 arguments; this takes every 997th.
#[test]
fn the_narrow_exponential() {
    let (mut worst, mut bits) = (0f64, 0x8000_0000u32);
    assert_eq!([-0.0, -104.0, f32::NEG_INFINITY].map(narrow::exp_down), [1.0, 0.0, 0.0]);
    assert!(narrow::exp_down(f32::NAN).is_nan());
    while bits < 0xc2ae_0000 {
        let x = f32::from_bits(bits);
        let truth = f64::from(x).exp();
        worst = worst.max(((f64::from(narrow::exp_down(x)) - truth) / truth).abs());
        assert_eq!(narrow::exp_down(x).to_bits(), narrow_exp(x).to_bits(), "{x}");
        bits += 997;
    }
    assert!(worst < 2f64.powi(-19), "{worst:e}");
}

/// The inputs of a norm of `[2, 6, 3, 5]`: x, and a weight and a bias for each channel.
fn of_channels(seed: u64) -> [Vec<f32>; 3] {
    let mut rng = Rng(seed);
    let mut some = |n: usize| (0..n).map(|_| (rng.next() >> 40) as f32 / (1 << 22) as f32 - 2.0).collect();
    [some(180), some(6), some(6)]
}

#[test]
fn groups_are_rows_with_parameters_by_channel() {
    let [x, w, b] = of_channels(80);
    let (s, l) = (storage(&x), Layout::contiguous([2, 6, 3, 5]));
    let ((ws, c), bs) = (row(&w), storage(&b));
    for groups in [1, 2, 3, 6] {
        let n = 180 / (2 * groups);
        let rows = Layout::contiguous([2 * groups, n]);
        let of_elements = |values: &[f32]| -> Vec<f32> { (0..90).map(|i| values[i / 15]).collect() };
        let (wide_w, wide_b) = (of_elements(&w), of_elements(&b));
        let mut want = Vec::new();
        for (i, x) in x.chunks(n).enumerate() {
            let at = i % groups * n;
            want.extend(layer(x, &wide_w[at..at + n], &wide_b[at..at + n], 1e-5));
        }
        let both = [Some((&ws, &c)), Some((&bs, &c))];
        assert_same(&vec::<f32>(&s.group_norm(&l, both, groups, 1e-5).unwrap()), &want);
        let plain: Vec<f32> =
            vec(&CpuStorage::apply(&Op::LayerNorm(LayerNorm::new(1e-5).with_inputs(false, false)), &[(&s, &rows)])
                .unwrap());
        assert_same(&vec::<f32>(&s.group_norm(&l, [None, None], groups, 1e-5).unwrap()), &plain);
        let (ones, zeros) = (storage(&[1f32; 6]), storage(&[0f32; 6]));
        for (form, whole) in [
            ([Some((&ws, &c)), None], [Some((&ws, &c)), Some((&zeros, &c))]),
            ([None, Some((&bs, &c))], [Some((&ones, &c)), Some((&bs, &c))]),
        ] {
            let [form, whole] = [form, whole].map(|p| vec::<f32>(&s.group_norm(&l, p, groups, 1e-5).unwrap()));
            assert_same(&form, &whole);
        }
        // Any layout: the channels last.
        let last: Vec<f32> = (0..180).map(|i| x[i / 90 * 90 + i % 6 * 15 + i / 6 % 15]).collect();
        let strided = Layout::new([2, 6, 3, 5], &[90, 1, 30, 6][..], 0).unwrap();
        assert_same(&vec::<f32>(&storage(&last).group_norm(&strided, both, groups, 1e-5).unwrap()), &want);
    }
    let instances = s.instance_norm(&l, [None, None], 1e-5).unwrap();
    assert_same(&vec::<f32>(&instances), &vec::<f32>(&s.group_norm(&l, [None, None], 6, 1e-5).unwrap()));
    let empty = Op::GroupNorm(GroupNorm::new(2, 0.0).with_inputs(false, false));
    assert_eq!(CpuStorage::apply(&empty, &[(&s, &Layout::contiguous([2, 4, 0]))]).unwrap().len(), 0);
}

#[test]
fn batch_norm_is_by_the_rule() {
    let [x, w, b] = of_channels(81);
    let [mean, variance] = [[0.5f32, -1.0, 0.0, 2.0, f32::NAN, 1.0], [1.0, 4.0, 0.25, 0.0, 1.0, -1.0]];
    let (s, l, (ws, c), bs) = (storage(&x), Layout::contiguous([2, 6, 3, 5]), row(&w), storage(&b));
    let statistics = [mean, variance].map(|values| storage(&values));
    let [means, variances] = [0, 1].map(|i| (&statistics[i], &c));
    for (has_weight, has_bias) in [(true, true), (true, false), (false, true), (false, false)] {
        let parameters = [has_weight.then_some((&ws, &c)), has_bias.then_some((&bs, &c))];
        let got: Vec<f32> = vec(&s.batch_norm(&l, [means, variances], parameters, 1e-3).unwrap());
        let want = x.iter().enumerate().map(|(i, x)| {
            let channel = i / 15 % 6;
            let scale = 1.0 / (variance[channel] + 1e-3).sqrt();
            let weight = if has_weight { w[channel] } else { 1.0 };
            ((x - mean[channel]) * scale).mul_add(weight, if has_bias { b[channel] } else { 0.0 })
        });
        assert_same(&got, &want.collect::<Vec<_>>());
    }
    // Statistics of a narrow dtype are f32.
    let halves: Vec<f16> = x.iter().map(|&x| f16::from_f32(x)).collect();
    let op = Op::BatchNorm(BatchNorm::new(1e-3).with_inputs(false, false));
    let got: Vec<f16> = vec(&CpuStorage::apply(&op, &[(&storage(&halves), &l), means, variances]).unwrap());
    let widened: Vec<f32> = halves.iter().map(|x| x.to_f32()).collect();
    let want: Vec<f32> = vec(&CpuStorage::apply(&op, &[(&storage(&widened), &l), means, variances]).unwrap());
    assert_same(&got, &want.iter().map(|&y| f16::from_f32(y)).collect::<Vec<_>>());
}

#[test]
fn training_has_the_statistics_of_the_batch() {
    let [x, w, b] = of_channels(82);
    let (l, c, momentum) = (Layout::contiguous([2, 6, 3, 5]), Layout::contiguous(6), 0.25);
    let halves: Vec<f16> = x.iter().map(|&x| f16::from_f32(x)).collect();
    let widened: Vec<f32> = halves.iter().map(|x| x.to_f32()).collect();
    for (s, wide) in [(storage(&x), &x), (storage(&halves), &widened)] {
        let [ws, bs] = [&w, &b].map(|p| storage(p).to_dtype(&c, s.dtype()).unwrap());
        let mut running = [storage(&[1f32; 6]), storage(&[2f32; 6])];
        let [running_mean, running_variance] = &mut running;
        let parameters = [Some((&ws, &c)), Some((&bs, &c))];
        let kept = Some([running_mean, running_variance]);
        let [y, mean, variance] = s.batch_norm_train(&l, parameters, kept, momentum, 1e-5).unwrap();
        let of = |op| storage(wide).reduce(&l, &Reduce::new(op, &[0, 2, 3]).with_correction(0)).unwrap();
        let (want_mean, want_variance) = (of(ReduceOp::Mean), of(ReduceOp::Var));
        assert_same(&vec::<f32>(&mean), &vec::<f32>(&want_mean));
        assert_same(&vec::<f32>(&variance), &vec::<f32>(&want_variance));
        let want = s.batch_norm(&l, [(&mean, &c), (&variance, &c)], parameters, 1e-5).unwrap();
        assert_eq!(y.as_bytes(), want.as_bytes());
        for ((got, new), (old, factor)) in running.iter().zip([&mean, &variance]).zip([(1.0, 1.0), (2.0, 30.0 / 29.0)])
        {
            for (got, new) in vec::<f32>(got).into_iter().zip(vec::<f32>(new)) {
                let want = old * (1.0 - momentum) + f64::from(new) * momentum * factor;
                assert!((f64::from(got) - want).abs() <= want.abs() * 1e-6, "{got} {want}");
            }
        }
    }
    let s = storage(&x);
    for dims in [&[1usize, 6][..], &[0, 6, 4]] {
        let error = s.batch_norm_train(&Layout::contiguous(dims), [None, None], None, 0.1, 0.0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    let error = s.batch_norm_train(&Layout::contiguous(6), [None, None], None, 0.1, 0.0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShapeMismatch);
}

#[test]
fn responses_are_of_channels_nearby() {
    let [x, ..] = of_channels(83);
    let (s, l) = (storage(&x), Layout::contiguous([2, 6, 3, 5]));
    for (before, after) in [(0, 0), (2, 2), (1, 0), (0, 3), (100, usize::MAX)] {
        let op = LocalResponseNorm::new(1, 0.5, 0.75, 2.0).with_window(before, after);
        let got: Vec<f32> = vec(&s.local_response_norm(&l, op).unwrap());
        let factor = (0.5 / op.size() as f64) as f32;
        let want = x.iter().enumerate().map(|(i, value)| {
            let (channel, first) = (i / 15 % 6, i / 90 * 90 + i % 15);
            let mut sum = 0f32;
            for other in channel.saturating_sub(before)..=channel.saturating_add(after).min(5) {
                sum += x[first + other * 15] * x[first + other * 15];
            }
            value * single::pow(sum.mul_add(factor, 2.0), -0.75)
        });
        assert_same(&got, &want.collect::<Vec<_>>());
    }
    assert_eq!(LocalResponseNorm::new(4, 1.0, 1.0, 1.0), LocalResponseNorm::new(1, 1.0, 1.0, 1.0).with_window(2, 1));
}

/// `torch.nn.functional.batch_norm(x, mean, variance, None, None, True, 0.25, 1e-5)` of PyTorch
/// 2.15.
#[test]
fn training_updates_running_statistics_as_pytorch() {
    let x = storage(&[1.0, 2.0, 4.0, 8.0, -1.0, 3.0, 0.5, 2.5, -3.0, 6.0, 7.0, 5.0]);
    let mut running = [storage(&[1.0, -1.0]), storage(&[2.0, 3.0])];
    let [mean, variance] = &mut running;
    let l = Layout::contiguous([2, 2, 3]);
    let [y, ..] = x.batch_norm_train(&l, [None, None], Some([mean, variance]), 0.25, 1e-5).unwrap();
    let want = [
        [-0.0766964176768084, 0.38348208838404185, 1.3038391005057424],
        [1.1180333598563068, -1.9006567117557218, -0.5590166799281535],
        [-0.3067856707072335, 0.613571341414467, -1.9174104419202094],
        [0.44721334394252266, 0.7826233518994148, 0.11180333598563058],
    ];
    let near = |got: &CpuStorage, want: &[f64]| {
        let got: Vec<f64> = vec(got);
        assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-13), "{got:?} {want:?}");
    };
    near(&y, want.as_flattened());
    near(&running[0], &[1.0416666666666667, 0.41666666666666674]);
    near(&running[1], &[2.916666666666667, 4.916666666666667]);
}
