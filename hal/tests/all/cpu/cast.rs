//! Compares casts with rounding done in integer arithmetic.

use super::oracle::{Exact, assert_value, round, value};
use super::*;
use half::{bf16, f16};
use isobit_hal::{Cast, F8E4M3, F8E5M2};

fn cast<S: WithDType, D: WithDType>(data: &[S]) -> Vec<D> {
    vec(&storage(data).to_dtype(&Layout::contiguous(data.len()), D::DTYPE).unwrap())
}

const FLOATS: [DType; 6] = [DType::F8E4M3, DType::F8E5M2, DType::F16, DType::BF16, DType::F32, DType::F64];

/// Values at and next to the ties of every format, in f64.
fn around_ties(rng: &mut Rng) -> Vec<f64> {
    let mut values = vec![
        0.0,
        448.0,
        464.0,
        480.0,
        57344.0,
        61439.9,
        61440.0,
        65504.0,
        65519.9,
        65520.0,
        65536.0,
        3.4028236e38,
        3.3961775e38,
        f64::MAX,
        5e-324,
        2f64.powi(-10),
        2f64.powi(-25),
        2f64.powi(-134),
        2f64.powi(-150),
        f64::INFINITY,
        f64::NAN,
    ];
    for digits in [3, 4, 8, 11, 24] {
        for _ in 0..400 {
            let exponent = rng.below(330) as i32 - 170;
            let fraction = (rng.next() & ((1 << digits) - 1)) as f64 + 0.5;
            let tie = fraction * 2f64.powi(exponent);
            values.extend([tie, tie.next_up(), tie.next_down(), (tie as f32).into()]);
        }
    }
    values.extend(values.clone().iter().map(|v| -v));
    values.extend(rng.bits::<f64>(2000));
    values
}

#[test]
fn floats_round_once_to_every_float() {
    let values = around_ties(&mut Rng(1));
    for source in FLOATS {
        let layout = Layout::contiguous(values.len());
        let src = storage(&values).to_dtype(&layout, source).unwrap();
        for target in FLOATS {
            let dst = src.to_dtype(&layout, target).unwrap();
            dispatch_dtype!(source, S => dispatch_dtype!(target, D => {
                for (s, d) in vec::<S>(&src).into_iter().zip(vec::<D>(&dst)) {
                    let exact = value(s.to_scalar());
                    assert_value(value(d.to_scalar()), round(exact, target), (source, target, exact));
                }
            }));
        }
    }
}

#[test]
fn integers_round_once_to_every_float() {
    let mut rng = Rng(2);
    let mut values = vec![0, 1, -1, i64::MAX, i64::MIN, 65519, 65520, 464, 465, -464, -465, 61439, 61440];
    for digits in [3u32, 4, 8, 11, 24, 53] {
        for _ in 0..400 {
            let shift = 1 + rng.below(62 - digits as usize);
            let tie = ((2 * (rng.next() & ((1 << digits) - 1)) + 1) as i64) << (shift - 1);
            values.extend([tie, tie + 1, tie - 1, -tie, -tie - 1, -tie + 1]);
        }
    }
    let layout = Layout::contiguous(values.len());
    for source in [DType::U8, DType::I8, DType::U16, DType::U32, DType::I16, DType::I32, DType::I64] {
        let src = storage(&values).to_dtype(&layout, source).unwrap();
        for target in FLOATS {
            let dst = src.to_dtype(&layout, target).unwrap();
            let exact: Vec<i64> = vec(&src.to_dtype(&layout, DType::I64).unwrap());
            dispatch_dtype!(target, D => {
                for (s, d) in exact.iter().zip(vec::<D>(&dst)) {
                    let want = Exact::from(i128::from(*s)).round(target);
                    assert_value(value(d.to_scalar()), want, (source, target, s));
                }
            });
        }
    }
}

#[test]
fn floats_truncate_and_saturate_to_integers() {
    let mut values = around_ties(&mut Rng(3));
    values.extend([
        -0.0,
        0.9,
        -0.9,
        127.9,
        128.0,
        -128.9,
        -129.0,
        255.5,
        256.0,
        4294967295.5,
        4294967296.0,
        2147483647.5,
    ]);
    values.extend([2f64.powi(63), -(2f64.powi(63)), (2f64.powi(63)).next_down(), 1e19, -1e19, f64::NEG_INFINITY]);
    values.extend([65535.5, 65536.0, 2f64.powi(64), 2f64.powi(64).next_down()]);
    fn check<S: WithDType>(src: &[S]) {
        macro_rules! to {
            ($($ty:ident)*) => {$({
                for (s, got) in src.iter().zip(cast::<S, $ty>(src)) {
                    let exact = value(s.to_scalar());
                    let want = if exact.is_nan() {
                        0
                    } else if exact.abs() >= 1e30 {
                        if exact > 0.0 { i128::from($ty::MAX) } else { i128::from($ty::MIN) }
                    } else {
                        let Exact { negative, m, e } = Exact::of(exact);
                        let magnitude = if e < 0 { m.checked_shr(-e as u32).unwrap_or(0) } else { m << e };
                        let whole = if negative { -(magnitude as i128) } else { magnitude as i128 };
                        whole.clamp(i128::from($ty::MIN), i128::from($ty::MAX))
                    };
                    assert_eq!(i128::from(got), want, "{} {exact} to {}", S::DTYPE, $ty::DTYPE);
                }
            })*};
        }
        to! { u8 i8 u16 i16 u32 i32 u64 i64 }
    }
    check(&values);
    check(&cast::<f64, f32>(&values));
    check(&cast::<f64, f16>(&values));
    check(&cast::<f64, bf16>(&values));
    check(&cast::<f64, F8E4M3>(&values));
    check(&cast::<f64, F8E5M2>(&values));
}

#[test]
fn integers_wrap() {
    let mut values: Vec<i64> = Rng(4).bits(500);
    values.extend([0, -1, 127, 128, -128, -129, 255, 256, i64::MIN, i64::MAX, 1 << 31, -(1 << 31) - 1]);
    macro_rules! check {
        ($($ty:ident)*) => {$(
            for (&s, got) in values.iter().zip(cast::<i64, $ty>(&values)) {
                let bits = 8 * size_of::<$ty>() as u32;
                let modulus = 1i128 << bits;
                let low = i128::from(s).rem_euclid(modulus);
                let want = if low > i128::from($ty::MAX) { low - modulus } else { low };
                assert_eq!(i128::from(got), want, "{s} to {}", $ty::DTYPE);
            }
        )*};
    }
    check! { u8 i8 u16 i16 u32 i32 u64 i64 }
    let values: Vec<u64> = values.iter().map(|&v| v as u64).collect();
    assert_eq!(cast::<u64, i32>(&values), values.iter().map(|&v| v as u32 as i32).collect::<Vec<_>>());
    assert_eq!(cast::<u16, i64>(&[0, 1, 32767, 32768, 65535]), [0, 1, 32767, 32768, 65535]);
    assert_eq!(cast::<u64, i64>(&[1 << 63, u64::MAX]), [i64::MIN, -1]);
    assert_eq!(cast::<i16, u64>(&[-1]), [u64::MAX]);
}

/// u64 has values that i64 has not, up to 2^64.
#[test]
fn unsigned_integers_round_once_to_every_float() {
    let mut rng = Rng(5);
    let mut values = vec![0, u64::MAX, 1 << 63, (1 << 63) + 1, u64::MAX - 1023, u64::MAX - 1024, 61439, 61440, 57345];
    for digits in [3u32, 4, 8, 11, 24, 53] {
        for _ in 0..200 {
            let tie = (2 * (rng.next() & ((1 << digits) - 1)) + 1) << rng.below(63 - digits as usize);
            values.extend([tie, tie + 1, tie.wrapping_sub(1), tie << 1]);
        }
    }
    let (layout, src) = (Layout::contiguous(values.len()), storage(&values));
    for target in FLOATS {
        let dst = src.to_dtype(&layout, target).unwrap();
        dispatch_dtype!(target, D => {
            for (s, d) in values.iter().zip(vec::<D>(&dst)) {
                let want = Exact::from(i128::from(*s)).round(target);
                assert_value(value(d.to_scalar()), want, (target, s));
            }
        });
    }
}

/// The table of ONNX's operator Cast (opset 19 and later), and where rounding reaches the ends.
#[test]
fn a_cast_to_8_bits_saturates_or_overflows_as_it_is_asked() {
    let inf = f64::INFINITY;
    let values =
        [0.0, -0.0, f64::NAN, inf, -inf, 1e6, -1e6, 448.0, 464.0, 464.0001, -480.0, 57344.0, 61439.0, -61440.0];
    let layout = Layout::contiguous(values.len());
    let to = |src: &CpuStorage, dtype, op| {
        let x = src.to_dtype_with(&layout, dtype, op).unwrap();
        vec::<f64>(&x.to_dtype(&layout, DType::F64).unwrap())
    };
    let check = |dtype, op, want: [f64; 14]| {
        for source in [DType::F64, DType::F32] {
            let src = storage(&values).to_dtype(&layout, source).unwrap();
            for ((x, got), want) in values.iter().zip(to(&src, dtype, op)).zip(want) {
                assert_value(got, want, (source, dtype, op, x));
            }
        }
    };
    const NAN: f64 = f64::NAN;
    let m = 448.0;
    let clamped = [0.0, -0.0, NAN, m, -m, m, -m, m, m, m, -m, m, m, -m];
    check(DType::F8E4M3, Cast::default(), clamped);
    check(DType::F8E4M3, Cast::saturating(), clamped);
    check(DType::F8E4M3, Cast::non_saturating(), [0.0, -0.0, NAN, NAN, NAN, NAN, NAN, m, m, NAN, NAN, NAN, NAN, NAN]);
    let m = 57344.0;
    let overflowing = [0.0, -0.0, NAN, inf, -inf, inf, -inf, 448.0, 448.0, 448.0, -512.0, m, m, -inf];
    check(DType::F8E5M2, Cast::default(), overflowing);
    check(DType::F8E5M2, Cast::non_saturating(), overflowing);
    check(DType::F8E5M2, Cast::saturating(), [0.0, -0.0, NAN, m, -m, m, -m, 448.0, 448.0, 448.0, -512.0, m, m, -m]);
    // Sources that round or widen on the way, and dtypes that have one rule.
    let wide = storage(&[464i64, 465, i64::MIN, 1 << 40, 61440, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let got = to(&wide, DType::F8E4M3, Cast::non_saturating());
    assert!(got[0] == 448.0 && got[1..5].iter().all(|x| x.is_nan()), "{got:?}");
    assert_eq!(to(&wide, DType::F8E5M2, Cast::saturating())[..5], [448.0, 448.0, -m, m, m]);
    let src = storage(&values);
    for op in [Cast::saturating(), Cast::non_saturating()] {
        for dtype in [DType::F16, DType::BF16, DType::I8, DType::U64] {
            let [asked, own] = [op, Cast::default()].map(|op| src.to_dtype_with(&layout, dtype, op).unwrap());
            assert_eq!(asked.as_bytes(), own.as_bytes(), "{dtype}");
        }
        let infinities = storage(&[F8E5M2::INFINITY, F8E5M2::MIN]);
        let same = infinities.to_dtype_with(&Layout::contiguous(2), DType::F8E5M2, op).unwrap();
        assert_eq!(same.as_bytes(), infinities.as_bytes(), "a cast to the dtype that elements have moves them");
    }
    let halves = storage(&[F8E5M2::INFINITY, F8E5M2::from_f32(448.0), F8E5M2::from_f32(512.0)]);
    let x = halves.to_dtype_with(&Layout::contiguous(3), DType::F8E4M3, Cast::non_saturating()).unwrap();
    assert_eq!(x.as_bytes().iter().map(|bits| bits & 0x7f).collect::<Vec<_>>(), [0x7f, 0x7e, 0x7f]);
}

#[test]
fn equal_dtypes_move_bits() {
    let nans = [f32::from_bits(0x7fa0_1234), f32::from_bits(0xffc0_0001)];
    let moved: Vec<u32> = cast::<f32, f32>(&nans).iter().map(|v| v.to_bits()).collect();
    assert_eq!(moved, [0x7fa0_1234, 0xffc0_0001]);
}
