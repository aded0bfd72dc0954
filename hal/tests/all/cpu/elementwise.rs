//! Compares arithmetic with wide integers, exact rationals and tables copied from the
//! specification.

use super::oracle::{Exact, assert_value, round, value};
use super::*;
use half::{bf16, f16};
use isobit_hal::{BinaryOp, CmpOp, ErrorKind, F8E4M3, F8E5M2, Indexing, Op, Predicate, Src, UnaryOp};

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
        // Also right modulo the width where u64 leaves i128.
        BinaryOp::Mul => x.wrapping_mul(y),
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
            let square = wrap(r.wrapping_mul(r));
            if y >> bit & 1 == 1 { wrap(square.wrapping_mul(x)) } else { square }
        }),
        BinaryOp::FloorDiv | BinaryOp::FloorMod if y == 0 => 0,
        BinaryOp::FloorMod => (x % y + y) % y,
        BinaryOp::FloorDiv => (x - (x % y + y) % y) / y,
        BinaryOp::BitwiseAnd => x & y,
        BinaryOp::BitwiseOr => x | y,
        BinaryOp::BitwiseXor => x ^ y,
        // A negative amount is one of more than 100 bits.
        BinaryOp::BitwiseLeftShift => {
            if (0..64).contains(&y) {
                x << y
            } else {
                0
            }
        }
        BinaryOp::BitwiseRightShift => x >> if (0..64).contains(&y) { y } else { 127 },
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
            for &op in BinaryOp::ALL.iter().filter(|op| op.takes($ty::DTYPE)) {
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
            f(UnaryOp::Sqr, &|v| v.wrapping_mul(v));
            f(UnaryOp::Relu, &|v| v.max(0));
            for op in [UnaryOp::Ceil, UnaryOp::Floor, UnaryOp::Round, UnaryOp::Trunc, UnaryOp::RoundEven] {
                f(op, &|v| v);
            }
            f(UnaryOp::BitwiseNot, &|v| -1 - v);
            let l = Layout::contiguous(x.len());
            for (mul, add, m, a) in [
                (3.9, -2.9, 3, -2),
                (1e30, f64::NAN, i128::from($ty::MAX), 0),
                (f64::NEG_INFINITY, 1e30, i128::from($ty::MIN), i128::from($ty::MAX)),
            ] {
                let got: Vec<$ty> = vec(&storage(&x).affine(&l, mul, add).unwrap());
                let a = a.max(i128::from($ty::MIN));
                for (&v, got) in x.iter().zip(got) {
                    assert_eq!(i128::from(got), wrap(i128::from(v).wrapping_mul(m).wrapping_add(a)), "{} {v} * {mul} + {add}", $ty::DTYPE);
                }
            }
        })*};
    }
    check! { u8 i8 u16 i16 u32 i32 u64 i64 }
}

/// Every pair of values of 8 bits; random pairs of the other dtypes, close enough in magnitude to
/// interact.
fn float_pairs<T: WithDType>(rng: &mut Rng) -> (Vec<T>, Vec<T>) {
    if T::DTYPE.is_f8() {
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
    check::<F8E5M2>();
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
    check::<F8E5M2>(bytemuck::cast_slice(&(0..=255u8).collect::<Vec<_>>()));
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
    let (x, y) = float_pairs::<F8E5M2>(&mut rng);
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

/// The floor of every quotient below 2^24 is that of the exact rational, and the rest has the sign
/// of the divisor; both are rounded once.
#[test]
fn floors_of_quotients_are_exact() {
    fn check<T: WithDType>(x: &[T], y: &[T]) {
        let (quotients, rests) = (binary(BinaryOp::FloorDiv, x, y), binary(BinaryOp::FloorMod, x, y));
        let mut seen = 0;
        for (i, (a, b)) in x.iter().zip(y).enumerate() {
            let (a, b) = (value(a.to_scalar()), value(b.to_scalar()));
            if !a.is_finite() || !b.is_finite() || a == 0.0 || b == 0.0 {
                continue;
            }
            let (p, q) = (Exact::of(a), Exact::of(b));
            let e = p.e.min(q.e);
            if p.e - e > 60 || q.e - e > 60 {
                continue;
            }
            let (m, n) = ((p.m << (p.e - e)) as i128, (q.m << (q.e - e)) as i128);
            let (m, n) = (if p.negative { -m } else { m }, if q.negative { -n } else { n });
            let floor = m.div_euclid(n) - i128::from(n < 0 && m.rem_euclid(n) != 0);
            if floor.abs() < 1 << 24 {
                seen += 1;
                // A floor of 0 is that of a quotient that is positive or a zero of its sign.
                let want = if floor == 0 { 0.0f64.copysign(a / b) } else { floor as f64 };
                assert_value(value(quotients[i].to_scalar()), round(want, T::DTYPE), (T::DTYPE, "floor_div", a, b));
            }
            let rest = m - floor * n;
            let exact = Exact { negative: b < 0.0, m: rest.unsigned_abs(), e };
            let want = exact.round(T::DTYPE);
            assert_value(value(rests[i].to_scalar()), want, (T::DTYPE, "floor_mod", a, b));
        }
        assert!(seen > 1000, "{} has too few quotients", T::DTYPE);
    }
    let mut rng = Rng(33);
    let (x, y) = float_pairs::<F8E4M3>(&mut rng);
    check(&x, &y);
    let (x, y) = float_pairs::<F8E5M2>(&mut rng);
    check(&x, &y);
    let (x, y) = float_pairs::<f16>(&mut rng);
    check(&x, &y);
    let (x, y) = float_pairs::<bf16>(&mut rng);
    check(&x, &y);
    let x: Vec<f32> = rng.bits(9000);
    let y: Vec<f32> = x.iter().map(|v| f32::from_bits(v.to_bits() ^ (rng.next() as u32 & 0x83ff_ffff))).collect();
    check(&x, &y);
    // Quotients that round to an integer that they do not reach.
    let y: Vec<f32> = rng.floats(9000);
    let x: Vec<f32> = y.iter().map(|v| (v * rng.below(4000) as f32).next_down()).collect();
    check(&x, &y);
    let x: Vec<f64> = rng.bits(9000);
    let y: Vec<f64> = x.iter().map(|v| f64::from_bits(v.to_bits() ^ (rng.next() & 0x803f_ffff_ffff_ffff))).collect();
    check(&x, &y);
}

/// NumPy's `floor_divide` and `remainder` (2.4).
#[test]
fn floors_of_special_quotients_are_those_of_numpy() {
    let table = [
        (1.0, 0.0, INF, NAN),
        (-1.0, 0.0, -INF, NAN),
        (0.0, 0.0, NAN, NAN),
        (INF, 2.0, NAN, NAN),
        (-INF, -INF, NAN, NAN),
        (1.0, INF, 0.0, 1.0),
        (-1.0, INF, -1.0, INF),
        (1.0, -INF, -1.0, -INF),
        (-0.0, 3.0, -0.0, 0.0),
        (0.0, -3.0, -0.0, -0.0),
        (6.0, 3.0, 2.0, 0.0),
        (6.0, -3.0, -2.0, -0.0),
        (7.0, -3.0, -3.0, -2.0),
        (-7.0, 3.0, -3.0, 2.0),
        (NAN, 3.0, NAN, NAN),
        (3.0, NAN, NAN, NAN),
    ];
    for_each_float(|dtype, make, read| {
        let (x, y) = (table.map(|r| r.0), table.map(|r| r.1));
        let l = Layout::contiguous(table.len());
        for (op, want) in [(BinaryOp::FloorDiv, table.map(|r| r.2)), (BinaryOp::FloorMod, table.map(|r| r.3))] {
            let got = read(&make(&x).binary(&l, &make(&y), &l, op).unwrap());
            (0..got.len()).for_each(|i| assert_value(got[i], want[i], (dtype, op, x[i], y[i])));
        }
    });
}

/// Every float of a narrow dtype, in order of value, with the zero of each sign between the least
/// numbers: the neighbours are those in the list.
#[test]
fn the_next_value_is_the_neighbour_in_the_order_of_values() {
    fn check<T: WithDType>(all: &[T]) {
        let mut ordered: Vec<T> = all.iter().copied().filter(|x| !value(x.to_scalar()).is_nan()).collect();
        ordered.sort_by(|a, b| value(a.to_scalar()).total_cmp(&value(b.to_scalar())));
        let zero = ordered.iter().position(|x| value(x.to_scalar()) == 0.0).unwrap();
        let (top, bottom) = (ordered[ordered.len() - 1], ordered[0]);
        let up = binary(BinaryOp::NextAfter, &ordered, &vec![top; ordered.len()]);
        let down = binary(BinaryOp::NextAfter, &ordered, &vec![bottom; ordered.len()]);
        for i in 0..ordered.len() {
            // The step over the other zero.
            let above = if i == zero { i + 2 } else { (i + 1).min(ordered.len() - 1) };
            let below = if i == zero + 1 { i - 2 } else { i.saturating_sub(1) };
            let of = value(ordered[i].to_scalar());
            assert_value(value(up[i].to_scalar()), value(ordered[above].to_scalar()), (T::DTYPE, "up", of));
            assert_value(value(down[i].to_scalar()), value(ordered[below].to_scalar()), (T::DTYPE, "down", of));
        }
    }
    let all: Vec<u16> = (0..=u16::MAX).collect();
    check::<f16>(bytemuck::cast_slice(&all));
    check::<bf16>(bytemuck::cast_slice(&all));
    check::<F8E4M3>(bytemuck::cast_slice(&(0..=255u8).collect::<Vec<_>>()));
    check::<F8E5M2>(bytemuck::cast_slice(&(0..=255u8).collect::<Vec<_>>()));
    for_each_float(|dtype, make, read| {
        let l = Layout::contiguous(4);
        let got = make(&[0.0, -0.0, NAN, 1.0]).binary(&l, &make(&[-0.0, 0.0, 1.0, NAN]), &l, BinaryOp::NextAfter);
        let got = read(&got.unwrap());
        for (got, want) in got.iter().zip([-0.0, 0.0, NAN, NAN]) {
            assert_value(*got, want, dtype);
        }
    });
    // C's nextafterf and nextafter (glibc 2.36).
    assert_eq!(
        binary(BinaryOp::NextAfter, &[1.0f32, -1.0, 0.0], &[2.0f32, 0.0, -1.0]),
        [f32::from_bits(0x3f80_0001), f32::from_bits(0xbf7f_ffff), f32::from_bits(0x8000_0001),]
    );
    assert_eq!(
        binary(BinaryOp::NextAfter, &[f64::MAX, 1.0], &[f64::INFINITY, -1.0]),
        [f64::INFINITY, f64::from_bits(0x3fef_ffff_ffff_ffff),]
    );
}

/// IEEE 754-2019 section 5.7.2, and truth values.
#[test]
fn tests_tell_nan_infinity_and_zero() {
    let x = [0.0, -0.0, 1.5, -1e-3, INF, -INF, NAN];
    let l = Layout::contiguous(x.len());
    for_each_float(|dtype, make, _| {
        let test = |op| vec::<u8>(&make(&x).predicate(&l, op).unwrap());
        assert_eq!(test(Predicate::IsNan), [0, 0, 0, 0, 0, 0, 1], "{dtype}");
        assert_eq!(test(Predicate::IsInf), [0, 0, 0, 0, 1, 1, 0], "{dtype}");
        assert_eq!(test(Predicate::LogicalNot), [1, 1, 0, 0, 0, 0, 0], "{dtype}");
        let ones = make(&[1.0; 7]);
        let both = |op| vec::<u8>(&make(&x).cmp(&l, &ones, &l, op).unwrap());
        assert_eq!(both(CmpOp::LogicalAnd), [0, 0, 1, 1, 1, 1, 1], "{dtype}");
        assert_eq!(both(CmpOp::LogicalXor), [1, 1, 0, 0, 0, 0, 0], "{dtype}");
        assert_eq!(both(CmpOp::LogicalOr), [1; 7], "{dtype}");
    });
    let of = |bits: [u8; 4]| storage(&bits.map(F8E4M3::from_bits));
    let test = |op| vec::<u8>(&of([0x7e, 0x7f, 0x80, 0x38]).predicate(&Layout::contiguous(4), op).unwrap());
    assert_eq!(test(Predicate::IsInf), [0; 4], "448 is the largest value, and there is no infinity");
    assert_eq!((test(Predicate::IsNan), test(Predicate::LogicalNot)), (vec![0, 1, 0, 0], vec![0, 0, 1, 0]));
    let ints = storage(&[0i64, 1 << 40, -1]);
    let l = Layout::contiguous(3);
    assert_eq!(vec::<u8>(&ints.predicate(&l, Predicate::LogicalNot).unwrap()), [1, 0, 0]);
    assert!(ints.predicate(&l, Predicate::IsNan).unwrap_err().message().contains("floats"));
}

/// A scalar operand gives the bits of a tensor that repeats it, for every operation that takes one,
/// in every place.
#[test]
fn a_scalar_is_a_tensor_that_repeats_it() {
    let mut rng = Rng(34);
    let l = Layout::contiguous([7, 150]);
    let turned = Layout::contiguous([150, 7]).transpose(0, 1).unwrap();
    let repeated = Layout::contiguous(()).broadcast_as([7, 150]).unwrap();
    for &dtype in DType::ALL {
        let x = CpuStorage::from_bytes(dtype, &rng.bits::<u8>(1050 * dtype.size_in_bytes())).unwrap();
        let scalar = Scalar::from_bits(dtype, rng.next());
        let mut one = CpuStorage::zeros(1, dtype).unwrap();
        one.const_set(scalar, &Layout::contiguous(())).unwrap();
        let same = |op: Op, out: DType, inputs: &[Src<'_, CpuStorage>], tensors: &[Src<'_, CpuStorage>]| {
            let [mut a, mut b] = [out; 2].map(|out| CpuStorage::zeros(1050, out).unwrap());
            CpuStorage::apply_into(&op, inputs, &mut a, &l).unwrap();
            CpuStorage::apply_into(&op, tensors, &mut b, &l).unwrap();
            assert_eq!(a.as_bytes(), b.as_bytes(), "{op} {dtype}");
        };
        let (s, t) = (Src::Scalar(scalar), Src::Storage(&one, &repeated));
        for view in [&l, &turned] {
            let x = Src::Storage(&x, view);
            for &op in BinaryOp::ALL.iter().filter(|op| op.takes(dtype)) {
                same(Op::Binary(op), dtype, &[x, s], &[x, t]);
                same(Op::Binary(op), dtype, &[s, x], &[t, x]);
            }
            for &op in CmpOp::ALL {
                same(Op::Cmp(op), DType::U8, &[x, s], &[x, t]);
                same(Op::Cmp(op), DType::U8, &[s, x], &[t, x]);
            }
            let mask = storage(&rng.bits::<u8>(1050).iter().map(|b| b & 1).collect::<Vec<_>>());
            let mask = Src::Storage(&mask, view);
            same(Op::WhereCond, dtype, &[mask, s, x], &[mask, t, x]);
            same(Op::WhereCond, dtype, &[mask, x, s], &[mask, x, t]);
            same(Op::WhereCond, dtype, &[mask, s, s], &[mask, t, t]);
        }
    }
    let mut out = CpuStorage::zeros(2, DType::F32).unwrap();
    let two = Layout::contiguous(2);
    let (x, s) = (storage(&[1.0f32, 2.0]), Src::Scalar(Scalar::F32(1.0)));
    let x = Src::Storage(&x, &two);
    let mut refused = |op: Op, inputs: &[Src<'_, CpuStorage>], kind: ErrorKind, says: &str| {
        let error = CpuStorage::apply_into(&op, inputs, &mut out, &two).unwrap_err();
        assert!(error.kind() == kind && error.message().contains(says), "{error}");
    };
    let add = Op::Binary(BinaryOp::Add);
    refused(add.clone(), &[s, s], ErrorKind::InvalidArgument, "only scalars");
    refused(add, &[x, Src::Scalar(Scalar::F64(1.0))], ErrorKind::UnsupportedDtype, "f32, f64");
    refused(Op::Unary(UnaryOp::Exp), &[s], ErrorKind::InvalidArgument, "cannot take a scalar");
    let ids = Src::Scalar(Scalar::U32(0));
    refused(Op::Gather(Indexing::new(0)), &[x, ids], ErrorKind::InvalidArgument, "as input 1");
}

#[test]
fn scalars_are_cast_as_elements_are() {
    let ints = [0, 1, -1, 255, 256, -300, i64::MAX, i64::MIN, (1 << 53) + 1, (1 << 24) + 1, 65519, 65520, 449];
    for &dtype in DType::ALL {
        let cast = storage(&ints).to_dtype(&Layout::contiguous(ints.len()), dtype).unwrap();
        for (i, &v) in ints.iter().enumerate() {
            let mut one = CpuStorage::zeros(1, dtype).unwrap();
            one.const_set(Scalar::from_i64(dtype, v), &Layout::contiguous(())).unwrap();
            let size = dtype.size_in_bytes();
            assert_eq!(one.as_bytes(), &cast.as_bytes()[i * size..][..size], "{v} as {dtype}");
            let scalar = Scalar::from_i64(dtype, v);
            assert_eq!(Scalar::from_bits(dtype, scalar.to_bits()).to_bits(), scalar.to_bits());
            if v >= 0 {
                assert_eq!(Scalar::from_u64(dtype, v as u64).to_bits(), scalar.to_bits(), "{v} as {dtype}");
            }
        }
    }
    assert_eq!(Scalar::from_u64(DType::BF16, (1 << 63) + (1 << 55)).to_bits(), 0x5f00, "a tie goes to even");
    assert_eq!(Scalar::from_u64(DType::BF16, (1 << 63) + (1 << 55) + 1).to_bits(), 0x5f01, "above the tie");
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

/// Leaky ReLU is one product in the compute type, for every sign of the slope.
#[test]
fn leaky_relu_is_a_product_below_zero() {
    fn check<T: WithDType>() {
        let x: Vec<T> = float_pairs::<T>(&mut Rng(36)).0;
        for slope in [0.01, 0.0, -0.0, 1.0, -2.5, f64::INFINITY, f64::NAN] {
            let got = vec::<T>(&storage(&x).leaky_relu(&Layout::contiguous(x.len()), slope).unwrap());
            for (a, got) in x.iter().zip(got) {
                let a = value(a.to_scalar());
                let product = round(a * f64::from(slope as f32), DType::F32);
                let want = if a > 0.0 { a } else { round(product, T::DTYPE) };
                assert_value(value(got.to_scalar()), want, (T::DTYPE, "leaky_relu", a, slope));
            }
        }
    }
    check::<f16>();
    check::<bf16>();
    check::<F8E4M3>();
    check::<F8E5M2>();
    // The compute type of f64 is f64, so the slope keeps all its bits.
    let got = vec::<f64>(&storage(&[-3.0f64, 3.0]).leaky_relu(&Layout::contiguous(2), 0.01).unwrap());
    assert_eq!(got, [-3.0 * 0.01, 3.0]);
}

/// Exponents with recipes of their own.
const RECIPES: [f64; 7] = [1.0, 2.0, 3.0, -1.0, -2.0, 0.5, -0.5];

/// Those recipes round all numbers of narrow types correctly. For 8-bit floats pow does so as well,
/// and GPU drivers use it.
#[test]
fn powers_of_narrow_floats_are_correctly_rounded() {
    fn check<T: WithDType>(x: &[T]) {
        let l = Layout::contiguous(x.len());
        for exponent in RECIPES {
            let got = vec::<T>(&storage(x).powf(&l, exponent).unwrap());
            let is_byte = T::DTYPE.size_in_bytes() == 1;
            let y = storage(&vec![exponent; x.len()]).to_dtype(&l, T::DTYPE).unwrap();
            let pow = if is_byte { binary(BinaryOp::Pow, x, &vec(&y)) } else { got.clone() };
            for ((x, got), pow) in x.iter().zip(got).zip(pow) {
                let x = value(x.to_scalar());
                let want = round(x.powf(exponent), T::DTYPE);
                assert_value(value(got.to_scalar()), want, (T::DTYPE, x, exponent));
                assert_value(value(pow.to_scalar()), want, (T::DTYPE, "pow", x, exponent));
            }
        }
    }
    check(&(0..=u16::MAX).map(f16::from_bits).collect::<Vec<_>>());
    check(&(0..=u16::MAX).map(bf16::from_bits).collect::<Vec<_>>());
    check(&(0..=u8::MAX).map(F8E4M3::from_bits).collect::<Vec<_>>());
    check(&(0..=u8::MAX).map(F8E5M2::from_bits).collect::<Vec<_>>());
}

/// The edge cases are those of C's Annex F, and other results are within the bound of pow.
#[test]
fn powers_by_recipes_are_those_of_pow() {
    let mut rng = Rng(97);
    let edges = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, -1.0];
    let singles: Vec<f32> = edges.map(|x| x as f32).into_iter().chain(rng.bits(20_000)).collect();
    let doubles: Vec<f64> = edges.into_iter().chain(rng.bits(20_000)).collect();
    let check = |x: f64, exponent: f64, got: f64, rounded: f64, ulp: f64, bound: f64| {
        let want = x.powf(exponent);
        let near = (got - want).abs() <= bound * ulp && got.is_sign_negative() == want.is_sign_negative();
        assert!(near || got == rounded || got.is_nan() && want.is_nan(), "{x:e}^{exponent}: {got:e}, not {want:e}");
    };
    for exponent in RECIPES {
        let got = vec::<f32>(&storage(&singles).powf(&Layout::contiguous(singles.len()), exponent).unwrap());
        for (&x, got) in singles.iter().zip(got) {
            let want = f64::from(x).powf(exponent);
            let ulp = (want.abs() * 2f64.powi(-23)).max(2f64.powi(-149));
            check(x.into(), exponent, got.into(), round(want, DType::F32), ulp, 2.0);
        }
        let got = vec::<f64>(&storage(&doubles).powf(&Layout::contiguous(doubles.len()), exponent).unwrap());
        for (&x, got) in doubles.iter().zip(got) {
            let want = x.powf(exponent);
            check(x, exponent, got, want, (want.abs() * f64::EPSILON).max(f64::from_bits(1)), 4.0);
        }
    }
    // The exponent is rounded to the compute type first.
    let nearly = 2.0 + 2f64.powi(-30);
    let [square, power] = [2.0, nearly].map(|e| canonical(&storage(&singles).powf(&Layout::contiguous(9), e).unwrap()));
    assert_eq!(square, power);
    let x = storage(&[3.0f64]);
    assert_ne!(vec::<f64>(&x.powf(&Layout::contiguous(1), nearly).unwrap()), [9.0]);
}

/// Values that PyTorch 2 gives for CELU, and its limits for alphas beyond PyTorch's.
#[test]
fn celu_scales_elu() {
    let celu = |x: &[f64], alpha| vec::<f64>(&storage(x).celu(&Layout::contiguous(x.len()), alpha).unwrap());
    let want = [-0.864_664_716_763_387_3, 0.5, -0.0, f64::NEG_INFINITY.exp_m1()];
    for (got, want) in celu(&[-2.0, 0.5, -0.0, f64::NEG_INFINITY], 1.0).iter().zip(want) {
        assert!((got - want).abs() <= 2e-16 && got.is_sign_negative() == want.is_sign_negative(), "{got} {want}");
    }
    assert!((celu(&[-2.0], 2.0)[0] + 1.264_241_117_657_115_3).abs() <= 4e-16);
    assert_eq!(celu(&[-2.0, f64::from_bits(1), -1e-310], f64::INFINITY), [-2.0, f64::from_bits(1), -1e-310]);
    assert_eq!(celu(&[-1.0, 1.0], 0.0), [-0.0, 1.0]);
    assert!(celu(&[0.0], 0.0)[0].is_nan() && celu(&[f64::NAN, -1.0], f64::NAN).iter().all(|v| v.is_nan()));
    // x / alpha would be subnormal, with few bits.
    let tiny = vec::<f32>(&storage(&[-1.2345e-30f32]).celu(&Layout::contiguous(1), 1e10).unwrap());
    assert_eq!(tiny, [-1.2345e-30]);
}
