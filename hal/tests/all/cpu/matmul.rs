//! Compares the portable matrix product with a literal implementation of `docs/numerics.md` section
//! 9.

use super::*;
use half::{bf16, f16};
use isobit_hal::{F8E4M3, F8E5M2, Matmul, ScaledMatmul};

/// Computes one result as section 9 defines it; `a` and `b` are the operands along k.
fn by_the_rule<C: Copy>(a: &[C], b: &[C], zero: C, fma: fn(C, C, C) -> C, add: fn(C, C) -> C) -> C {
    let segments =
        a.chunks(256).zip(b.chunks(256)).map(|(a, b)| a.iter().zip(b).fold(zero, |p, (&a, &b)| fma(a, b, p)));
    segments.reduce(add).unwrap_or(zero)
}

fn product(x: &[f32], a: &Layout, y: &[f32], b: &Layout) -> Vec<f32> {
    let rank = a.dims().len();
    let (m, k, n) = (a.dims()[rank - 2], a.dims()[rank - 1], b.dims()[rank - 1]);
    let left: Vec<f32> = a.strided_index().map(|i| x[i]).collect();
    let right: Vec<f32> = b.transpose(rank - 2, rank - 1).unwrap().strided_index().map(|i| y[i]).collect();
    let batches: usize = a.dims()[..rank - 2].iter().product();
    let mut result = Vec::new();
    for batch in 0..batches {
        for i in 0..m {
            for j in 0..n {
                let (row, column) = (&left[(batch * m + i) * k..][..k], &right[(batch * n + j) * k..][..k]);
                result.push(by_the_rule(row, column, 0.0, f32::mul_add, |a, b| a + b));
            }
        }
    }
    result
}

#[test]
fn results_keep_the_order_for_all_sizes() {
    let mut rng = Rng(50);
    let sizes = [
        (1, 1, 1),
        (3, 0, 5),
        (0, 4, 2),
        (7, 255, 17),
        (6, 256, 16),
        (5, 257, 15),
        (200, 33, 3),
        (2, 5, 300),
        (1, 600, 9),
        (13, 1030, 31),
    ];
    for (m, k, n) in sizes {
        let (x, y) = (rng.floats(m * k), rng.floats(k * n));
        let (a, b) = (Layout::contiguous([m, k]), Layout::contiguous([k, n]));
        let got = storage(&x).matmul(&a, &storage(&y), &b, Matmul::default()).unwrap();
        assert_same(&vec::<f32>(&got), &product(&x, &a, &y, &b));
    }
}

#[test]
fn any_strides_and_batches() {
    let mut rng = Rng(51);
    let (x, y) = (rng.floats(2 * 3 * 40 * 300), rng.floats(2 * 3 * 300 * 20));
    let a = Layout::contiguous([2, 3, 300, 40]).transpose(2, 3).unwrap();
    let plain = Layout::contiguous([2, 3, 300, 20]);
    let rights = [
        plain.clone(),
        Layout::contiguous([2, 3, 20, 300]).transpose(2, 3).unwrap(),
        plain.narrow(0, 1, 1).unwrap().narrow(1, 0, 1).unwrap().broadcast_as([2, 3, 300, 20]).unwrap(),
        plain.step(3, 3).unwrap(),
        Layout::contiguous([3, 2, 20, 300]).permute(&[1, 0, 3, 2]).unwrap(),
    ];
    for b in rights {
        let want = product(&x, &a, &y, &b);
        let got = storage(&x).matmul(&a, &storage(&y), &b, Matmul::default()).unwrap();
        assert_same(&vec::<f32>(&got), &want);
        // The destination is transposed and has gaps.
        let n = b.dims()[3];
        let wide = Layout::contiguous([2, 3, n, 45]).narrow(3, 2, 40).unwrap().transpose(2, 3).unwrap();
        let mut dst = storage(&vec![9f32; 2 * 3 * n * 45]);
        CpuStorage::matmul_into(Matmul::default(), &storage(&x), &a, &storage(&y), &b, &mut dst, &wide).unwrap();
        let mut expected = vec![9f32; 2 * 3 * n * 45];
        wide.strided_index().zip(want).for_each(|(i, v)| expected[i] = v);
        assert_same(&vec::<f32>(&dst), &expected);
    }
}

#[test]
fn narrow_floats_accumulate_in_f32_and_f64_in_f64() {
    let mut rng = Rng(52);
    let (m, k, n) = (9, 530, 21);
    let (a, b) = (Layout::contiguous([m, k]), Layout::contiguous([k, n]));
    let (x, y) = (rng.floats(m * k), rng.floats(k * n));
    for dtype in [DType::F8E4M3, DType::F16, DType::BF16] {
        let (lhs, rhs) = (storage(&x).to_dtype(&a, dtype).unwrap(), storage(&y).to_dtype(&b, dtype).unwrap());
        let widen = |s: &CpuStorage, l| vec::<f32>(&s.to_dtype(l, DType::F32).unwrap());
        let want = storage(&product(&widen(&lhs, &a), &a, &widen(&rhs, &b), &b));
        let want = want.to_dtype(&Layout::contiguous([m, n]), dtype).unwrap();
        assert_eq!(canonical(&lhs.matmul(&a, &rhs, &b, Matmul::default()).unwrap()), canonical(&want), "{dtype}");
    }
    let (x, y): (Vec<f64>, Vec<f64>) =
        (x.iter().map(|&v| f64::from(v) / 3.0).collect(), y.iter().map(|&v| f64::from(v) / 7.0).collect());
    let got: Vec<f64> = vec(&storage(&x).matmul(&a, &storage(&y), &b, Matmul::default()).unwrap());
    for i in 0..m {
        for j in 0..n {
            let column: Vec<f64> = (0..k).map(|p| y[p * n + j]).collect();
            let want = by_the_rule(&x[i * k..][..k], &column, 0.0, f64::mul_add, |a, b| a + b);
            assert_eq!(got[i * n + j].to_bits(), want.to_bits());
        }
    }
}

#[test]
fn edges() {
    let one = Layout::contiguous([1, 1]);
    let times =
        |a: f32, b: f32| vec::<f32>(&storage(&[a]).matmul(&one, &storage(&[b]), &one, Matmul::default()).unwrap())[0];
    assert_eq!(times(-0.0, 1.0).to_bits(), 0, "a segment starts from +0");
    assert!(times(0.0, f32::INFINITY).is_nan(), "a factor of zero is not skipped");
    let none = storage::<f16>(&[]);
    let (a, b) = (Layout::contiguous([2, 0]), Layout::contiguous([0, 2]));
    assert_same(&vec::<f16>(&none.matmul(&a, &none, &b, Matmul::default()).unwrap()), &[f16::ZERO; 4]);
}

/// Each matrix of the batch by itself, with the indices that NumPy's rules give.
#[test]
fn batches_broadcast() {
    let mut rng = Rng(53);
    let (x, y) = (rng.floats(2 * 5 * 7), rng.floats(3 * 7 * 4));
    let (a, b) = (Layout::contiguous([2, 1, 5, 7]), Layout::contiguous([3, 7, 4]));
    let got = vec::<f32>(&storage(&x).matmul(&a, &storage(&y), &b, Matmul::default()).unwrap());
    let mut want = Vec::new();
    for i in 0..2 {
        for j in 0..3 {
            let (left, right) = (&x[i * 35..][..35], &y[j * 28..][..28]);
            want.extend(product(left, &Layout::contiguous([5, 7]), right, &Layout::contiguous([7, 4])));
        }
    }
    assert_same(&got, &want);
    // A matrix without a batch, on either side.
    let (one, many) = (Layout::contiguous([5, 7]), Layout::contiguous([3, 7, 4]));
    let got = vec::<f32>(&storage(&x[..35]).matmul(&one, &storage(&y), &many, Matmul::default()).unwrap());
    assert_same(&got, &want[..3 * 20]);
}

/// Sums in 128 bits, cut to the dtype.
#[test]
fn integers_wrap() {
    let mut rng = Rng(54);
    let (m, k, n) = (7, 300, 19);
    let (a, b) = (Layout::contiguous([m, k]), Layout::contiguous([n, k]).transpose(0, 1).unwrap());
    macro_rules! wraps {
        ($($ty:ident)*) => {$({
            let (x, y): (Vec<$ty>, Vec<$ty>) = (rng.bits(m * k), rng.bits(n * k));
            let got = vec::<$ty>(&storage(&x).matmul(&a, &storage(&y), &b, Matmul::default()).unwrap());
            let want: Vec<$ty> = (0..m * n)
                .map(|at| {
                    let (row, column) = (&x[at / n * k..][..k], &y[at % n * k..][..k]);
                    let products = row.iter().zip(column).map(|(&u, &v)| i128::from(u).wrapping_mul(i128::from(v)));
                    products.fold(0i128, i128::wrapping_add) as $ty
                })
                .collect();
            assert_eq!(got, want);
            let vendor = Matmul::with_numerics(isobit_hal::Numerics::Block);
            assert_eq!(vec::<$ty>(&storage(&x).matmul(&a, &storage(&y), &b, vendor).unwrap()), want);
        })*};
    }
    wraps! { u32 i32 i64 }
}

#[test]
fn bytes_are_taken_less_their_zero_points() {
    let mut rng = Rng(55);
    let (m, k, n) = (5, 67, 9);
    let (x, y): (Vec<u8>, Vec<u8>) = (rng.bits(2 * m * k), rng.bits(k * n));
    let (rows, columns): (Vec<u8>, Vec<u8>) = (rng.bits(m), rng.bits(n));
    let (a, b) = (Layout::contiguous([2, m, k]), Layout::contiguous([k, n]));
    let of = |byte: u8, signed: bool| i64::from(if signed { i32::from(byte as i8) } else { i32::from(byte) });
    let upload = |bytes: &[u8], signed: bool| match signed {
        true => storage(&bytes.iter().map(|&b| b as i8).collect::<Vec<_>>()),
        false => storage(bytes),
    };
    for (lhs, rhs) in [(false, false), (false, true), (true, false), (true, true)] {
        for zeros in 0..3 {
            let zero_of = |zeros_of: &[u8], at: usize, signed| match zeros {
                0 => 0,
                1 => of(zeros_of[0], signed),
                _ => of(zeros_of[at], signed),
            };
            let len = if zeros == 1 { 1 } else { usize::MAX };
            let (z_a, z_b) = (&rows[..len.min(m)], &columns[..len.min(n)]);
            let (z_a, z_b) = (upload(z_a, lhs), upload(z_b, rhs));
            let (la, lb) = (Layout::contiguous(len.min(m)), Layout::contiguous(len.min(n)));
            let given = if zeros == 0 { [None, None] } else { [Some((&z_a, &la)), Some((&z_b, &lb))] };
            let got = upload(&x, lhs).matmul_integer(&a, &upload(&y, rhs), &b, given).unwrap();
            let mut want = Vec::new();
            for line in 0..2 * m {
                for j in 0..n {
                    let (row, column) = (zero_of(&rows, line % m, lhs), zero_of(&columns, j, rhs));
                    let products = (0..k).map(|p| (of(x[line * k + p], lhs) - row) * (of(y[p * n + j], rhs) - column));
                    want.push(products.sum::<i64>() as i32);
                }
            }
            assert_eq!(vec::<i32>(&got), want, "{lhs} {rhs} {zeros}");
        }
    }
}

#[test]
fn sums_of_bytes_wrap_and_an_empty_sum_is_zero() {
    // 255^2 * 33100 = 2,152,327,500, which is 2^32 - 2,142,639,796.
    let (row, column) = (Layout::contiguous([1, 33_100]), Layout::contiguous([33_100, 1]));
    let x = storage(&[255u8; 33_100]);
    assert_eq!(vec::<i32>(&x.matmul_integer(&row, &x, &column, [None, None]).unwrap()), [-2_142_639_796]);
    let (a, b) = (Layout::contiguous([2, 0]), Layout::contiguous([0, 3]));
    let (none, zero, one) = (storage::<u8>(&[]), storage(&[7u8]), Layout::contiguous(()));
    let got = none.matmul_integer(&a, &none, &b, [Some((&zero, &one)), None]).unwrap();
    assert_eq!(vec::<i32>(&got), [0; 6]);
}

/// The definition, element by element: chains of 128 from +0, each by the product of its scales.
#[test]
fn scales_multiply_the_sums_of_their_blocks() {
    let mut rng = Rng(23);
    let (m, k, n, block) = (131, 300, 5, 128);
    let (x, y): (Vec<u8>, Vec<u8>) = (rng.bits(2 * m * k), rng.bits(k * n));
    let finite = |bytes: &[u8]| bytes.iter().map(|b| F8E5M2::from_bits(b & 0xbf)).collect::<Vec<_>>();
    let (x, y) = (finite(&x), finite(&y).iter().map(|y| F8E4M3::from_f32(y.to_f32())).collect::<Vec<_>>());
    let (a, b) = (Layout::contiguous([2, m, k]), Layout::contiguous([k, n]));
    let scales = (0..2 * m * 3).map(|i| ((i * 37 % 101) as f32 - 50.0) / 7.0).collect::<Vec<_>>();
    let of = |dims: &[usize]| (storage(&scales[..dims.iter().product()]), Layout::contiguous(dims));
    let forms: [[&[usize]; 2]; 5] =
        [[&[1], &[]], [&[m, 1], &[1, n]], [&[m, 3], &[3, 1]], [&[2, 3], &[3, n]], [&[2, m, 3], &[1, 1, 1]]];
    for [of_x, of_y] in forms {
        let ((scale_x, lx), (scale_y, ly)) = (of(of_x), of(of_y));
        let given = [(&scale_x, &lx), (&scale_y, &ly)];
        let got = storage(&x).scaled_matmul(&a, &storage(&y), &b, given, DType::F32, ScaledMatmul::default()).unwrap();
        let scale = |dims: &[usize], place: [usize; 3], sizes: [usize; 2]| {
            let [rows, columns] = match dims {
                [.., rows, columns] => [*rows, *columns],
                _ => [1, 1],
            };
            let at = |i: usize, size: usize, own: usize| {
                if own == size {
                    i
                } else if own == 1 {
                    0
                } else {
                    i / block
                }
            };
            let matrix = if dims.len() == 3 && dims[0] > 1 { place[0] } else { 0 };
            scales[(matrix * rows + at(place[1], sizes[0], rows)) * columns + at(place[2], sizes[1], columns)]
        };
        let mut want = Vec::new();
        for (z, i, j) in (0..2).flat_map(|z| (0..m).flat_map(move |i| (0..n).map(move |j| (z, i, j)))) {
            let mut sum = -0f32;
            for first in (0..k).step_by(block) {
                let products = (first..k.min(first + block))
                    .fold(0f32, |p, l| x[(z * m + i) * k + l].to_f32().mul_add(y[l * n + j].to_f32(), p));
                let both = scale(of_x, [z, i, first], [m, k]) * scale(of_y, [z, first, j], [k, n]);
                sum = products.mul_add(both, sum);
            }
            want.push(sum.to_bits());
        }
        assert_eq!(vec::<f32>(&got).iter().map(|y| y.to_bits()).collect::<Vec<_>>(), want, "{of_x:?} {of_y:?}");
    }
}

#[test]
fn scaled_products_round_once_and_carry_what_is_not_finite() {
    let one = |dtype: DType, x: [f32; 2], y: [f32; 2], scales: [f32; 2]| {
        let (x, y) = (storage(&x.map(F8E5M2::from_f32)), storage(&y.map(F8E4M3::from_f32)));
        let scales = scales.map(|scale| storage(&[scale]));
        let (row, column, l) = (Layout::contiguous([1, 2]), Layout::contiguous([2, 1]), Layout::contiguous(()));
        x.scaled_matmul(&row, &y, &column, [(&scales[0], &l), (&scales[1], &l)], dtype, ScaledMatmul::default())
            .unwrap()
    };
    let f32_of = |x, y, scales| vec::<f32>(&one(DType::F32, x, y, scales))[0];
    assert_eq!(f32_of([3.0, 1.0], [2.0, 0.5], [0.25, 8.0]), 13.0);
    // 1 + 2^-11 lies halfway between two f16.
    assert_eq!(vec::<f16>(&one(DType::F16, [1.0, 0.0], [1.0, 0.0], [1.0 + 2f32.powi(-11), 1.0]))[0], f16::ONE);
    assert_eq!(vec::<f16>(&one(DType::F16, [448.0, 0.0], [448.0, 0.0], [1.0; 2]))[0], f16::INFINITY);
    assert!(f32_of([f32::INFINITY, 1.0], [0.0, 1.0], [1.0; 2]).is_nan());
    assert_eq!(f32_of([f32::INFINITY, 1.0], [-1.0, 1.0], [1.0; 2]), f32::NEG_INFINITY);
    assert!(f32_of([1.0, 1.0], [1.0, f32::NAN], [1.0; 2]).is_nan());
    assert!(f32_of([1.0, 1.0], [1.0, 1.0], [f32::NAN, 1.0]).is_nan());
    assert!(f32_of([0.0, 0.0], [1.0, 1.0], [f32::INFINITY, 1.0]).is_nan());
    // The sum of a block is +0, which a negative scale makes -0.
    assert_eq!(f32_of([0.0, 0.0], [1.0, 1.0], [-1.0, 1.0]).to_bits(), (-0f32).to_bits());
    let (none, scale) = (storage::<F8E4M3>(&[]), storage(&[f32::NAN; 2]));
    let (a, b) = (Layout::contiguous([2, 0]), Layout::contiguous([0, 3]));
    let (rows, l) = (Layout::contiguous([2, 1]), Layout::contiguous(1));
    let given = [(&scale, &rows), (&scale, &l)];
    let got = none.scaled_matmul(&a, &none, &b, given, DType::BF16, ScaledMatmul::default()).unwrap();
    assert_eq!(vec::<bf16>(&got), [bf16::ZERO; 6]);
}
