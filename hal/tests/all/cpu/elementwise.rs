//! Compares arithmetic with wide integers, exact rationals and tables copied from the
//! specification.

use super::oracle::{Exact, assert_value, round, value};
use super::*;
use half::{bf16, f16};
use isobit_hal::{BinaryOp, CmpOp, F8E4M3, UnaryOp};

fn unary<T: WithDType>(op: UnaryOp, x: &[T]) -> Vec<T> {
    vec(&storage(x).unary(&Layout::contiguous(x.len()), op).unwrap())
}

fn binary<T: WithDType>(op: BinaryOp, x: &[T], y: &[T]) -> Vec<T> {
    let l = Layout::contiguous(x.len());
    vec(&storage(x).binary(&l, &storage(y), &l, op).unwrap())
}

/// The result of each integer operation before wrapping, or after wrapping if that is the same.
fn integer(op: BinaryOp, x: i128, y: i128, wrap: impl Fn(i128) -> i128) -> i128 {
    match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Div => {
            if y == 0 {
                0
            } else {
                x / y
            }
        }
        BinaryOp::Rem => {
            if y == 0 {
                0
            } else {
                x % y
            }
        }
        BinaryOp::Maximum => x.max(y),
        BinaryOp::Minimum => x.min(y),
        BinaryOp::Pow if y < 0 => match x {
            1 => 1,
            -1 => {
                if y % 2 == 0 {
                    1
                } else {
                    -1
                }
            }
            _ => 0,
        },
        // Goes through the digits of the exponent, most significant first.
        BinaryOp::Pow => (0..64).rev().fold(1, |r, bit| {
            let square = wrap(r * r);
            if y >> bit & 1 == 1 { wrap(square * x) } else { square }
        }),
        other => panic!("no expected value for {other}"),
    }
}

#[test]
fn integers_compute_modulo_their_width() {
    let mut rng = Rng(30);
    macro_rules! check {
        ($($ty:ident)*) => {$({
            let wrap = |v: i128| {
                let modulus = 1i128 << (8 * size_of::<$ty>());
                let low = v.rem_euclid(modulus);
                if low > i128::from($ty::MAX) { low - modulus } else { low }
            };
            let mut x: Vec<$ty> = Vec::new();
            let mut y: Vec<$ty> = Vec::new();
            let special = [$ty::MIN, $ty::MAX, 0, 1, (0 as $ty).wrapping_sub(1), 2, 7];
            special.iter().for_each(|&a| special.iter().for_each(|&b| { x.push(a); y.push(b) }));
            if size_of::<$ty>() == 1 {
                (0..=255u8).for_each(|a| (0..=255u8).for_each(|b| { x.push(a as $ty); y.push(b as $ty) }));
            } else {
                x.extend(rng.bits::<$ty>(3000));
                y.extend(rng.bits::<$ty>(2000));
                y.extend((0..1000).map(|_| rng.below(40) as $ty));
            }
            for &op in BinaryOp::ALL {
                for ((&a, &b), got) in x.iter().zip(&y).zip(binary(op, &x, &y)) {
                    let want = wrap(integer(op, a.into(), b.into(), wrap));
                    assert_eq!(i128::from(got), want, "{} {op}({a}, {b})", $ty::DTYPE);
                }
            }
            let f = |op, f: &dyn Fn(i128) -> i128| {
                for (&a, got) in x.iter().zip(unary(op, &x)) {
                    assert_eq!(i128::from(got), wrap(f(a.into())), "{} {op}({a})", $ty::DTYPE);
                }
            };
            f(UnaryOp::Neg, &|v| -v);
            f(UnaryOp::Abs, &|v| v.abs());
            f(UnaryOp::Sign, &|v| v.signum());
            f(UnaryOp::Sqr, &|v| v * v);
            f(UnaryOp::Relu, &|v| v.max(0));
            for op in [UnaryOp::Ceil, UnaryOp::Floor, UnaryOp::Round, UnaryOp::Trunc] {
                f(op, &|v| v);
            }
            let l = Layout::contiguous(x.len());
            for (mul, add, m, a) in [
                (3.9, -2.9, 3, -2),
                (1e30, f64::NAN, i128::from($ty::MAX), 0),
                (f64::NEG_INFINITY, 1e30, i128::from($ty::MIN), i128::from($ty::MAX)),
            ] {
                let got: Vec<$ty> = vec(&storage(&x).affine(&l, mul, add).unwrap());
                let a = a.max(i128::from($ty::MIN));
                for (&v, got) in x.iter().zip(got) {
                    assert_eq!(i128::from(got), wrap(i128::from(v) * m + a), "{} {v} * {mul} + {add}", $ty::DTYPE);
                }
            }
        })*};
    }
    check! { u8 i8 u32 i16 i32 i64 }
}

/// Every pair of f8e4m3 values; random pairs of the other dtypes, close enough in magnitude to
/// interact.
fn float_pairs<T: WithDType>(rng: &mut Rng) -> (Vec<T>, Vec<T>) {
    if T::DTYPE == DType::F8E4M3 {
        let (x, y): (Vec<u8>, Vec<u8>) = (0..=u16::MAX).map(|i| ((i >> 8) as u8, i as u8)).unzip();
        return (bytemuck::pod_collect_to_vec(&x), bytemuck::pod_collect_to_vec(&y));
    }
    let x: Vec<u16> = rng.bits(20_000);
    let y =
        x.iter().map(|x| if rng.below(2) == 0 { rng.next() as u16 } else { (x ^ (rng.next() as u16 & 0x9fff)) & !1 });
    let y: Vec<u16> = y.collect();
    (bytemuck::pod_collect_to_vec(&x), bytemuck::pod_collect_to_vec(&y))
}

/// Sums and products of two narrow floats are exact in f64, or have so many digits that rounding to
/// f64 first does not change the result (quotients, and sums of bf16 values of very different
/// magnitude).
#[test]
fn narrow_arithmetic_is_f32_arithmetic_rounded() {
    fn check<T: WithDType>() {
        let (x, y) = float_pairs::<T>(&mut Rng(31));
        for op in [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div] {
            for ((a, b), got) in x.iter().zip(&y).zip(binary(op, &x, &y)) {
                let (a, b) = (value(a.to_scalar()), value(b.to_scalar()));
                let exact = match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    _ => a / b,
                };
                let want = round(round(exact, DType::F32), T::DTYPE);
                assert_value(value(got.to_scalar()), want, (T::DTYPE, op, a, b));
            }
        }
    }
    check::<f16>();
    check::<bf16>();
    check::<F8E4M3>();
}

/// recip, sqrt and sqr of every narrow float equal a single rounding of the exact value (f64's own
/// result is close enough to it), except the squares of bf16 that are subnormal in f32.
#[test]
fn narrow_roots_and_reciprocals_are_correctly_rounded() {
    fn check<T: WithDType>(x: &[T]) {
        for op in [UnaryOp::Recip, UnaryOp::Sqrt, UnaryOp::Sqr] {
            for (a, got) in x.iter().zip(unary(op, x)) {
                let a = value(a.to_scalar());
                let exact = match op {
                    UnaryOp::Recip => 1.0 / a,
                    UnaryOp::Sqrt => a.sqrt(),
                    _ => a * a,
                };
                if op != UnaryOp::Sqr || exact.abs() >= f64::from(f32::MIN_POSITIVE) || exact == 0.0 {
                    assert_value(value(got.to_scalar()), round(exact, T::DTYPE), (T::DTYPE, op, a));
                }
            }
        }
    }
    let all: Vec<u16> = (0..=u16::MAX).collect();
    check::<f16>(bytemuck::cast_slice(&all));
    check::<bf16>(bytemuck::cast_slice(&all));
    check::<F8E4M3>(bytemuck::cast_slice(&(0..=255u8).collect::<Vec<_>>()));
}

/// Computes the remainder with integers: both operands are multiples of the smaller unit of the
/// two.
#[test]
fn remainders_are_exact() {
    fn check<T: WithDType>(x: &[T], y: &[T]) {
        for ((a, b), got) in x.iter().zip(y).zip(binary(BinaryOp::Rem, x, y)) {
            let (a, b) = (value(a.to_scalar()), value(b.to_scalar()));
            let want = if a.is_nan() || b.is_nan() || a.is_infinite() || b == 0.0 {
                f64::NAN
            } else if b.is_infinite() || a == 0.0 {
                a
            } else {
                let (p, q) = (Exact::of(a), Exact::of(b));
                let e = p.e.min(q.e);
                if p.e - e > 60 || q.e - e > 60 {
                    continue;
                }
                let m = (p.m << (p.e - e)) % (q.m << (q.e - e));
                Exact { negative: p.negative, m, e }.round(DType::F64)
            };
            assert_value(value(got.to_scalar()), want, (T::DTYPE, a, b));
        }
    }
    let mut rng = Rng(32);
    let (x, y) = float_pairs::<F8E4M3>(&mut rng);
    check(&x, &y);
    let (x, y) = float_pairs::<f16>(&mut rng);
    check(&x, &y);
    let (x, y) = float_pairs::<bf16>(&mut rng);
    check(&x, &y);
    let x: Vec<f32> = rng.bits(5000);
    let y: Vec<f32> = x.iter().map(|v| f32::from_bits(v.to_bits() ^ (rng.next() as u32 & 0x83ff_ffff))).collect();
    check(&x, &y);
    let x: Vec<f64> = rng.bits(5000);
    let y: Vec<f64> = x.iter().map(|v| f64::from_bits(v.to_bits() ^ (rng.next() & 0x801f_ffff_ffff_ffff))).collect();
    check(&x, &y);
}

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// Runs a table of values that every float dtype can represent; skips f8e4m3 if infinities matter.
fn for_each_float(f: impl Fn(DType, &dyn Fn(&[f64]) -> CpuStorage, &dyn Fn(&CpuStorage) -> Vec<f64>)) {
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let make = |v: &[f64]| storage(v).to_dtype(&Layout::contiguous(v.len()), dtype).unwrap();
        let read = |s: &CpuStorage| vec(&s.to_dtype(&Layout::contiguous(s.len()), DType::F64).unwrap());
        f(dtype, &make, &read);
    }
}

/// IEEE 754-2019 section 9.6.
#[test]
fn maximum_and_minimum_order_zeros_and_propagate_nan() {
    let table = [
        (0.0, -0.0, 0.0, -0.0),
        (-0.0, 0.0, 0.0, -0.0),
        (-0.0, -0.0, -0.0, -0.0),
        (1.0, -2.0, 1.0, -2.0),
        (-INF, INF, INF, -INF),
        (NAN, 1.0, NAN, NAN),
        (1.0, NAN, NAN, NAN),
        (NAN, INF, NAN, NAN),
    ];
    for_each_float(|dtype, make, read| {
        let (x, y) = (table.map(|r| r.0), table.map(|r| r.1));
        let l = Layout::contiguous(table.len());
        for (op, want) in [(BinaryOp::Maximum, table.map(|r| r.2)), (BinaryOp::Minimum, table.map(|r| r.3))] {
            let got = read(&make(&x).binary(&l, &make(&y), &l, op).unwrap());
            (0..got.len()).for_each(|i| assert_value(got[i], want[i], (dtype, op, x[i], y[i])));
        }
    });
}

#[test]
fn unary_edges_are_those_of_the_contract() {
    use UnaryOp::*;
    let x = [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.25, -0.25, 3.0, INF, -INF, NAN];
    let table: [(UnaryOp, [f64; 14]); 9] = [
        (Neg, [-0.0, 0.0, -0.5, 0.5, -1.5, 1.5, -2.5, 2.5, -0.25, 0.25, -3.0, -INF, INF, NAN]),
        (Abs, [0.0, 0.0, 0.5, 0.5, 1.5, 1.5, 2.5, 2.5, 0.25, 0.25, 3.0, INF, INF, NAN]),
        (Sign, [0.0, 0.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, NAN]),
        (Relu, [0.0, 0.0, 0.5, 0.0, 1.5, 0.0, 2.5, 0.0, 0.25, 0.0, 3.0, INF, 0.0, NAN]),
        (Ceil, [0.0, -0.0, 1.0, -0.0, 2.0, -1.0, 3.0, -2.0, 1.0, -0.0, 3.0, INF, -INF, NAN]),
        (Floor, [0.0, -0.0, 0.0, -1.0, 1.0, -2.0, 2.0, -3.0, 0.0, -1.0, 3.0, INF, -INF, NAN]),
        (Round, [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.0, -0.0, 3.0, INF, -INF, NAN]),
        (Trunc, [0.0, -0.0, 0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.0, -0.0, 3.0, INF, -INF, NAN]),
        (Recip, [INF, -INF, 2.0, -2.0, 2.0 / 3.0, -2.0 / 3.0, 0.4, -0.4, 4.0, -4.0, 1.0 / 3.0, 0.0, -0.0, NAN]),
    ];
    for_each_float(|dtype, make, read| {
        for (op, want) in table {
            let got = read(&make(&x).unary(&Layout::contiguous(x.len()), op).unwrap());
            (0..x.len()).for_each(|i| assert_value(got[i], round(want[i], dtype), (dtype, op, x[i])));
        }
        let root = read(&make(&[-0.0, -1.0, 4.0, INF]).unary(&Layout::contiguous(4), Sqrt).unwrap());
        assert_same(&root, &[-0.0, NAN, 2.0, INF]);
    });
    // The largest floats below one half, and the smallest ones from which every value is an
    // integer.
    let edge = [0.49999997f32, -0.49999997, 8388607.5, -8388607.5, 8388609.0, 4194303.5];
    assert_same(&unary(Round, &edge), &[0.0, -0.0, 8388608.0, -8388608.0, 8388609.0, 4194304.0]);
    assert_same(&unary(Round, &[0.49999999999999994f64, 4503599627370495.5]), &[0.0, 4503599627370496.0]);
    // f8e4m3 saturates; the other dtypes give infinities.
    assert_same(&unary(Recip, &[F8E4M3::ZERO, F8E4M3::NEG_ZERO]), &[F8E4M3::MAX, F8E4M3::MIN]);
}

#[test]
fn division_by_zero_and_infinities() {
    let (x, y) = ([1.0, -1.0, 1.0, 0.0, INF, 1.0, -1.0], [0.0, 0.0, -0.0, 0.0, INF, INF, INF]);
    for_each_float(|_, make, read| {
        let l = Layout::contiguous(x.len());
        let got = read(&make(&x).binary(&l, &make(&y), &l, BinaryOp::Div).unwrap());
        assert_same(&got, &[INF, -INF, -INF, NAN, NAN, 0.0, -0.0]);
        let got = read(&make(&x).binary(&l, &make(&y), &l, BinaryOp::Rem).unwrap());
        assert_same(&got, &[NAN, NAN, NAN, NAN, NAN, 1.0, -1.0]);
    });
    let [one, zero] = [F8E4M3::ONE, F8E4M3::ZERO];
    assert_same(&binary(BinaryOp::Div, &[one, -one], &[zero, zero]), &[F8E4M3::MAX, F8E4M3::MIN]);
}

#[test]
fn comparisons_follow_ieee() {
    let (x, y) = ([0.0, 1.0, NAN, NAN, -INF, 2.0], [-0.0, 2.0, 1.0, NAN, INF, 1.0]);
    let table = [
        (CmpOp::Eq, [1, 0, 0, 0, 0, 0]),
        (CmpOp::Ne, [0, 1, 1, 1, 1, 1]),
        (CmpOp::Lt, [0, 1, 0, 0, 1, 0]),
        (CmpOp::Le, [1, 1, 0, 0, 1, 0]),
        (CmpOp::Gt, [0, 0, 0, 0, 0, 1]),
        (CmpOp::Ge, [1, 0, 0, 0, 0, 1]),
    ];
    for_each_float(|dtype, make, _| {
        let l = Layout::contiguous(x.len());
        for (op, want) in table {
            assert_eq!(vec::<u8>(&make(&x).cmp(&l, &make(&y), &l, op).unwrap()), want, "{op} {dtype}");
        }
    });
    let (l, x, y) = (Layout::contiguous(2), storage(&[u32::MAX, 3]), storage(&[1u32, 3]));
    assert_eq!(vec::<u8>(&x.cmp(&l, &y, &l, CmpOp::Gt).unwrap()), [1, 0]);
}

/// `x * mul + add` with a product and a sum that together need more digits than the format has.
#[test]
fn affine_rounds_once() {
    let l = Layout::contiguous(1);
    let x = 1.0 + 2f32.powi(-12);
    // (1 + 2^-12)^2 - 1 = 2^-11 + 2^-24 exactly; a rounded product would lose the 2^-24.
    let got: Vec<f32> = vec(&storage(&[x]).affine(&l, x.into(), -1.0).unwrap());
    assert_same(&got, &[2f32.powi(-11) + 2f32.powi(-24)]);
    // The parameter is rounded to f32 first: 1 + 2^-30 becomes 1.
    let got: Vec<f32> = vec(&storage(&[1e9f32]).affine(&l, 1.0 + 2f64.powi(-30), 0.0).unwrap());
    assert_same(&got, &[1e9]);
    // It is not rounded to the narrow dtype: f16 cannot represent 2049, and 0.5 * 2049 is 1024.5,
    // which f16 rounds to 1024.
    let got: Vec<f16> = vec(&storage(&[f16::from_f32(0.5)]).affine(&l, 2049.0, 0.0).unwrap());
    assert_same(&got, &[f16::from_f32(1024.0)]);
    let got: Vec<f64> = vec(&storage(&[-0.0f64]).affine(&l, 1.0, 0.0).unwrap());
    assert_same(&got, &[0.0]);
}
