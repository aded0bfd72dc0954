//! Compares norms, logsumexp, any and all with section 8 of `docs/numerics.md`, and with f64.

use super::reduce::{SIZES, by_the_rule, reduce};
use super::*;
use half::{bf16, f16};
use isobit_hal::{F8E4M3, Reduce, ReduceOp};

#[test]
fn norms_and_logsumexp_keep_the_order() {
    let mut rng = Rng(50);
    for n in SIZES {
        let l = Layout::contiguous(n);
        let x = rng.floats(n);
        let magnitudes: Vec<f32> = x.iter().map(|v| v.abs()).collect();
        let sum = by_the_rule(&magnitudes, &|a, b| a + b);
        assert_same(&reduce::<f32, f32>(ReduceOp::L1Norm, &x, &l, &[0]), &[sum]);
        let squares: Vec<f32> = x.iter().map(|v| v * v).collect();
        let root = by_the_rule(&squares, &|a, b| a + b).sqrt();
        assert_same(&reduce::<f32, f32>(ReduceOp::L2Norm, &x, &l, &[0]), &[root]);
        let largest = magnitudes.iter().copied().fold(0.0, f32::max);
        assert_same(&reduce::<f32, f32>(ReduceOp::MaxNorm, &x, &l, &[0]), &[largest]);

        let m = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f32> = x.iter().map(|v| isobit_hal::cpu::internals::f32::exp(v - m)).collect();
        let sum = by_the_rule(&powers, &|a, b| a + b);
        let want = m + isobit_hal::cpu::internals::f32::log(sum);
        assert_same(&reduce::<f32, f32>(ReduceOp::LogSumExp, &x, &l, &[0]), &[want]);

        // Narrow floats are computed in f32 and rounded at the end.
        let half: Vec<f16> = x.iter().map(|&v| f16::from_f32(v * 10.0)).collect();
        let squares: Vec<f32> = half.iter().map(|v| v.to_f32() * v.to_f32()).collect();
        let root = by_the_rule(&squares, &|a, b| a + b).sqrt();
        assert_same(&reduce::<f16, f16>(ReduceOp::L2Norm, &half, &l, &[0]), &[f16::from_f32(root)]);
        let ints: Vec<i16> = rng.bits(n);
        let wrapped = ints.iter().map(|&v| i128::from(v).abs()).sum::<i128>() as i16;
        assert_same(&reduce::<i16, i16>(ReduceOp::L1Norm, &ints, &l, &[0]), &[wrapped]);
        let largest = ints.iter().map(|v| v.wrapping_abs()).max().unwrap();
        assert_same(&reduce::<i16, i16>(ReduceOp::MaxNorm, &ints, &l, &[0]), &[largest]);
    }
}

/// The bound of section 8, with f64 sums as the true value.
#[test]
fn logsumexp_is_within_its_bound() {
    let mut rng = Rng(51);
    for (n, scale) in [(3, 1.0), (100, 8.0), (1000, 50.0), (70_000, 1.0), (70_000, 200.0)] {
        let x: Vec<f32> = rng.floats(n).iter().map(|v| v * scale + 300.0).collect();
        let m = f64::from(x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let powers = || x.iter().map(|&v| (f64::from(v) - m).exp());
        let sum: f64 = powers().sum();
        let want = m + sum.ln();
        let spread: f64 = x.iter().zip(powers()).map(|(&v, e)| (m - f64::from(v)) * e / sum).sum();
        let u = 2f64.powi(-24);
        let bound = u * (spread + 2.0 + 527.0 + 4.0 * sum.ln() + want.abs());
        let got = f64::from(reduce::<f32, f32>(ReduceOp::LogSumExp, &x, &Layout::contiguous(n), &[0])[0]);
        assert!((got - want).abs() <= bound, "{n}, {scale}: {got}, not {want}");
    }
}

#[test]
fn logsumexp_of_infinities_and_one_element() {
    let inf = f32::INFINITY;
    let of = |x: &[f32]| reduce::<f32, f32>(ReduceOp::LogSumExp, x, &Layout::contiguous(x.len()), &[0])[0];
    // As torch.logsumexp gives them.
    assert_eq!(of(&[-inf, -inf]), -inf);
    assert_eq!(of(&[inf, 1.0, -inf]), inf);
    assert_eq!(of(&[inf, inf]), inf);
    assert_eq!(of(&[-inf, 2.5]), 2.5);
    assert!(of(&[f32::NAN, inf]).is_nan() && of(&[1.0, f32::NAN]).is_nan());
    assert_eq!(of(&[1000.0]), 1000.0);
    assert_eq!(of(&[-0.0]).to_bits(), 0);
    // log 2 is 0.693147180559945..., whose nearest f32 is this.
    assert_eq!(of(&[0.0, -0.0]).to_bits(), 0x3f31_7218);
    let eighths = [F8E4M3::from_f32(448.0); 300];
    let got = reduce::<F8E4M3, F8E4M3>(ReduceOp::LogSumExp, &eighths, &Layout::contiguous(300), &[0]);
    assert_same(&got, &[F8E4M3::from_f32(448.0)]);
}

#[test]
fn norms_of_special_values() {
    let l = Layout::contiguous(3);
    let of = |op, x: [f32; 3]| reduce::<f32, f32>(op, &x, &l, &[0])[0];
    assert_eq!(of(ReduceOp::L1Norm, [-0.0; 3]).to_bits(), 0);
    assert_eq!(of(ReduceOp::L2Norm, [-0.0; 3]).to_bits(), 0);
    assert_eq!(of(ReduceOp::MaxNorm, [-0.0; 3]).to_bits(), 0);
    assert_eq!(of(ReduceOp::MaxNorm, [1.0, -7.0, 2.0]), 7.0);
    assert!(of(ReduceOp::MaxNorm, [1.0, f32::NAN, f32::INFINITY]).is_nan());
    assert_eq!(of(ReduceOp::L2Norm, [3.0, -4.0, 0.0]), 5.0);
    // 2e20 squared is beyond f32's 3.4e38, and 1e-30 squared below its least subnormal.
    assert_eq!(of(ReduceOp::L2Norm, [2e20, 0.0, 0.0]), f32::INFINITY);
    assert_eq!(of(ReduceOp::L2Norm, [1e-30, 0.0, 0.0]), 0.0);
    let ints = |op| reduce::<i8, i8>(op, &[i8::MIN, 5, -3], &l, &[0])[0];
    // abs(-128) wraps to -128: 128 + 5 + 3 is 136, which is -120 modulo 256.
    assert_eq!((ints(ReduceOp::L1Norm), ints(ReduceOp::MaxNorm)), (-120, 5));
    assert_eq!(reduce::<i8, i8>(ReduceOp::MaxNorm, &[i8::MIN], &Layout::contiguous(1), &[0]), [i8::MIN]);
    assert_eq!(reduce::<u32, u32>(ReduceOp::MaxNorm, &[7, u32::MAX, 1], &l, &[0]), [u32::MAX]);
}

#[test]
fn any_and_all_find_one_element() {
    let mut rng = Rng(52);
    for n in SIZES {
        let (l, at) = (Layout::contiguous(n), rng.below(n));
        let mut x = vec![-0.0f32; n];
        let of = |op, x: &[f32]| reduce::<f32, u8>(op, x, &l, &[0])[0];
        assert_eq!((of(ReduceOp::Any, &x), of(ReduceOp::All, &x)), (0, 0));
        for one in [f32::NAN, f32::from_bits(1), -3.0, f32::INFINITY] {
            x[at] = one;
            assert_eq!((of(ReduceOp::Any, &x), of(ReduceOp::All, &x)), (1, u8::from(n == 1)), "{one}");
        }
        let mut y = vec![i64::MIN; n];
        let of = |op, y: &[i64]| reduce::<i64, u8>(op, y, &l, &[0])[0];
        assert_eq!((of(ReduceOp::Any, &y), of(ReduceOp::All, &y)), (1, 1));
        y[at] = 0;
        assert_eq!((of(ReduceOp::Any, &y), of(ReduceOp::All, &y)), (u8::from(n > 1), 0));
    }
}

#[test]
fn results_of_no_elements() {
    let none = Layout::contiguous([2, 0]);
    let of = |op| reduce::<f32, f32>(op, &[], &none, &[1])[0];
    assert_eq!([ReduceOp::L1Norm, ReduceOp::L2Norm, ReduceOp::MaxNorm].map(|op| of(op).to_bits()), [0; 3]);
    assert_eq!(of(ReduceOp::LogSumExp), f32::NEG_INFINITY);
    assert_eq!(reduce::<f64, u8>(ReduceOp::Any, &[], &none, &[1]), [0, 0]);
    assert_eq!(reduce::<u8, u8>(ReduceOp::All, &[], &none, &[1]), [1, 1]);
    assert!(of(ReduceOp::Var).is_nan() && of(ReduceOp::Std).is_nan());
    let least = F8E4M3::from_f32(-448.0);
    assert_same(&reduce::<F8E4M3, F8E4M3>(ReduceOp::LogSumExp, &[], &none, &[1]), &[least, least]);

    fn extremes<T: WithDType>() -> [T; 2] {
        let x = storage::<T>(&[]);
        [ReduceOp::Min, ReduceOp::Max].map(|op| {
            let op = Reduce::new(op, &[1]).with_empty_extremes();
            vec::<T>(&x.reduce(&Layout::contiguous([1, 0]), &op).unwrap())[0]
        })
    }
    assert_eq!(extremes::<u8>(), [u8::MAX, 0]);
    assert_eq!(extremes::<i8>(), [i8::MAX, i8::MIN]);
    assert_eq!(extremes::<i16>(), [i16::MAX, i16::MIN]);
    assert_eq!(extremes::<u32>(), [u32::MAX, 0]);
    assert_eq!(extremes::<i32>(), [i32::MAX, i32::MIN]);
    assert_eq!(extremes::<i64>(), [i64::MAX, i64::MIN]);
    assert_same(&extremes::<F8E4M3>(), &[448.0, -448.0].map(F8E4M3::from_f32));
    assert_same(&extremes::<f16>(), &[f16::INFINITY, f16::NEG_INFINITY]);
    assert_same(&extremes::<bf16>(), &[bf16::INFINITY, bf16::NEG_INFINITY]);
    assert_same(&extremes::<f32>(), &[f32::INFINITY, f32::NEG_INFINITY]);
    assert_same(&extremes::<f64>(), &[f64::INFINITY, f64::NEG_INFINITY]);
}
