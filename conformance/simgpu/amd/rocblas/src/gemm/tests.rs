//! Products of host memory against sums in higher precision, and what is read and written of it.

use super::*;
use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::{from_ref, null};

fn operand<T>(matrix: &[T], datatype: c_int, leading: usize, stride: i64) -> Operand {
    Operand { pointer: matrix.as_ptr().cast(), datatype, leading: leading as c_int, stride }
}

fn scalar(value: &[u8]) -> Scalar {
    let mut bytes = [0; 8];
    bytes[..value.len()].copy_from_slice(value);
    bytes
}

/// Small integers, of which every sum is exact in every type.
fn integers(n: usize, seed: usize) -> Vec<i32> {
    (0..n).map(|i| ((i * 7 + seed * 5) % 9) as i32 - 4).collect()
}

struct Shape {
    sizes: [usize; 3],
    operations: [c_int; 2],
    pad: usize,
    batch: usize,
}

/// Runs a product whose matrices are made of integers by `make`, in place, and checks it against integer arithmetic.
fn check<T: Copy, O: Copy + PartialEq + std::fmt::Debug>(
    shape: &Shape,
    types: [c_int; 3],
    scalars: [(&[u8], i32); 2],
    make: fn(i32) -> T,
    make_out: fn(i32) -> O,
) {
    let Shape { sizes: [m, n, k], operations, pad, batch } = *shape;
    let transposed = operations.map(|o| o != OPERATION_NONE);
    let (a_rows, a_cols) = if transposed[0] { (k, m) } else { (m, k) };
    let (b_rows, b_cols) = if transposed[1] { (n, k) } else { (k, n) };
    let lead = |rows: usize| (rows + pad).max(1);
    let area = |rows: usize, cols: usize| lead(rows) * cols.max(1);
    let (a, b) = (integers(area(a_rows, a_cols) * batch, 1), integers(area(b_rows, b_cols) * batch, 2));
    let c = integers(area(m, n) * batch, 3);
    let mut out: Vec<O> = c.iter().map(|&x| make_out(x)).collect();
    let mine = |x: &[i32]| -> Vec<T> { x.iter().map(|&x| make(x)).collect() };
    let (a_mine, b_mine) = (mine(&a), mine(&b));
    let d = Operand {
        pointer: out.as_mut_ptr().cast_const().cast(),
        ..operand(&out, types[1], lead(m), area(m, n) as i64)
    };
    let arguments = Arguments {
        operations,
        sizes: [m, n, k].map(|x| x as c_int),
        alpha: scalars[0].0.as_ptr().cast(),
        a: operand(&a_mine, types[0], lead(a_rows), area(a_rows, a_cols) as i64),
        b: operand(&b_mine, types[0], lead(b_rows), area(b_rows, b_cols) as i64),
        beta: scalars[1].0.as_ptr().cast(),
        c: d,
        d,
        batch: batch as c_int,
        compute: types[2],
    };
    assert_eq!(arguments.check(), Ok(true));
    let kernel = kernel_for(&arguments).unwrap();
    assert_eq!(kernel.scalar_bytes, scalars[0].0.len());
    // SAFETY: the matrices are as large as their shapes say.
    unsafe {
        (kernel.run)(&Product::of(&arguments, "test"), scalars.map(|s| scalar(s.0)), &|_, _, _, _| true);
    }
    let [alpha, beta] = scalars.map(|s| s.1);
    for at in 0..batch {
        let element = |x: &[i32], rows, cols, transposed, i: usize, j: usize| {
            let (i, j) = if transposed { (j, i) } else { (i, j) };
            x[at * area(rows, cols) + i + j * lead(rows)]
        };
        for j in 0..n {
            for i in 0..lead(m) {
                let place = at * area(m, n) + i + j * lead(m);
                let expected = if i < m {
                    let sum: i32 = (0..k)
                        .map(|x| {
                            element(&a, a_rows, a_cols, transposed[0], i, x)
                                * element(&b, b_rows, b_cols, transposed[1], x, j)
                        })
                        .sum();
                    alpha * sum + beta * c[place]
                } else {
                    // The gap between columns stays.
                    c[place]
                };
                assert_eq!(out[place], make_out(expected), "row {i}, column {j}, matrix {at} of {operations:?}");
            }
        }
    }
}

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for operations in [[111, 111], [112, 111], [111, 113], [113, 112]] {
        for (sizes, pad, batch) in [([1, 1, 1], 0, 1), ([17, 3, 5], 0, 2), ([33, 18, 31], 3, 3), ([5, 2, 0], 1, 1)] {
            shapes.push(Shape { sizes, operations, pad, batch });
        }
    }
    shapes
}

#[test]
fn every_shape_transposition_and_type() {
    for shape in shapes() {
        for (alpha, beta) in [(1, 0), (2, -1), (0, 3), (-3, 1)] {
            let (f16s, f32s) = (
                [alpha, beta].map(|x| f16::from_f32(x as f32).to_ne_bytes()),
                [alpha, beta].map(|x| (x as f32).to_ne_bytes()),
            );
            let (f64s, i32s) = ([alpha, beta].map(|x| f64::from(x).to_ne_bytes()), [alpha, beta].map(i32::to_ne_bytes));
            let half = |x: i32| f16::from_f32(x as f32);
            let brain = |x: i32| bf16::from_f32(x as f32);
            let s = [(&f64s[0][..], alpha), (&f64s[1][..], beta)];
            check(&shape, [F64, F64, F64], s, f64::from, f64::from);
            let s = [(&f16s[0][..], alpha), (&f16s[1][..], beta)];
            check(&shape, [F16, F16, F16], s, half, half);
            let s = [(&i32s[0][..], alpha), (&i32s[1][..], beta)];
            check(&shape, [I8, I32, I32], s, |x| x as i8, |x| x);
            let s = [(&f32s[0][..], alpha), (&f32s[1][..], beta)];
            check(&shape, [F32, F32, F32], s, |x| x as f32, |x| x as f32);
            check(&shape, [F16, F16, F32], s, half, half);
            check(&shape, [F16, F32, F32], s, half, |x| x as f32);
            check(&shape, [BF16, BF16, F32], s, brain, brain);
            check(&shape, [BF16, F32, F32], s, brain, |x| x as f32);
        }
    }
}

/// A product of two vectors, 1 x k by k x 1, into one number.
fn dot<T: Copy, O: Copy>(types: [c_int; 3], a: &[T], b: &[T], scalars: [Scalar; 2], out: &mut O, access: &Access<'_>) {
    let k = a.len();
    let d = Operand { pointer: std::ptr::from_mut(out).cast_const().cast(), datatype: types[1], leading: 1, stride: 0 };
    let one = [0u8; 8];
    let arguments = Arguments {
        operations: [OPERATION_NONE; 2],
        sizes: [1, 1, k as c_int],
        alpha: from_ref(&one).cast(),
        a: operand(a, types[0], 1, 0),
        b: operand(b, types[0], k, 0),
        beta: from_ref(&one).cast(),
        c: d,
        d,
        batch: 1,
        compute: types[2],
    };
    let kernel = kernel_for(&arguments).unwrap();
    // SAFETY: both vectors have k elements and the result is one.
    unsafe { (kernel.run)(&Product::of(&arguments, "dot"), scalars, access) };
}

#[test]
fn sums_ascend_in_the_compute_type_and_round_once() {
    let one = [scalar(&1f32.to_ne_bytes()), [0; 8]];
    let yes: &Access<'_> = &|_, _, _, _| true;
    // In f32 2^24 swallows each 1 that follows it, and not those before it.
    let (big, mut out) = (2f32.powi(24), 0f32);
    dot([F32, F32, F32], &[big, 1.0, 1.0], &[1.0; 3], one, &mut out, yes);
    assert_eq!(out, big);
    dot([F32, F32, F32], &[1.0, 1.0, big], &[1.0; 3], one, &mut out, yes);
    assert_eq!(out, big + 2.0);
    // 2048 + 1 is no f16, but their sum with another 1 in f32 is.
    let f16s = |x: &[f32]| -> Vec<f16> { x.iter().map(|&x| f16::from_f32(x)).collect() };
    let mut out = f16::ZERO;
    dot([F16, F16, F32], &f16s(&[2048.0, 1.0, 1.0]), &f16s(&[1.0; 3]), one, &mut out, yes);
    assert_eq!(out.to_f32(), 2050.0);
    // The product is rounded before it is added: fused, this would be 2^-24.
    let x = 1.0 + 2f32.powi(-12);
    let mut out = 1f32;
    dot([F32, F32, F32], &[-(1.0 + 2f32.powi(-11)), x], &[1.0, x], one, &mut out, yes);
    assert_eq!(out, 0.0);
}

#[test]
fn a_zero_factor_leaves_its_operands_unread() {
    let zero = [0; 8];
    let one = scalar(&1f64.to_ne_bytes());
    let nan = [f64::NAN; 2];
    let asked = RefCell::new(Vec::new());
    let record: &Access<'_> = &|_, bytes, write, what| {
        asked.borrow_mut().push((what.to_owned(), bytes, write));
        true
    };
    let name = |x: &str| format!("dot: {x} of batch 0");
    let mut out = f64::NAN;
    dot([F64, F64, F64], &[2.0, 3.0], &[5.0, 7.0], [one, zero], &mut out, record);
    assert_eq!(out, 31.0);
    assert_eq!(asked.take(), [(name("A"), 16, false), (name("B"), 16, false), (name("D"), 8, true)]);
    let mut out = 4.0;
    dot([F64, F64, F64], &nan, &nan, [zero, one], &mut out, record);
    assert_eq!(out, 4.0);
    assert_eq!(asked.take(), [(name("C"), 8, false), (name("D"), 8, true)]);
}

#[test]
fn what_the_simulator_refuses_is_not_computed() {
    let one = [scalar(&1f32.to_ne_bytes()), [0; 8]];
    let mut out = 9f32;
    for refused in ["A", "B", "D"] {
        let name = format!("dot: {refused} of batch 0");
        dot([F32, F32, F32], &[1.0], &[1.0], one, &mut out, &|_, _, _, what| what != name);
        assert_eq!(out, 9.0, "without {refused}");
    }
}

#[test]
fn types_that_are_not_listed_have_no_kernel() {
    let with = |ab: c_int, cd: c_int, compute| Arguments {
        operations: [111; 2],
        sizes: [1; 3],
        alpha: null(),
        a: Operand { pointer: null(), datatype: ab, leading: 1, stride: 0 },
        b: Operand { pointer: null(), datatype: ab, leading: 1, stride: 0 },
        beta: null(),
        c: Operand { pointer: null::<c_void>(), datatype: cd, leading: 1, stride: 0 },
        d: Operand { pointer: null(), datatype: cd, leading: 1, stride: 0 },
        batch: 1,
        compute,
    };
    assert!(kernel_for(&with(F32, F32, F32)).is_some());
    for (ab, cd, compute) in
        [(F32, F32, F64), (F64, F32, F32), (BF16, BF16, BF16), (154, 154, 154), (I8, I8, I32), (0, 0, 0)]
    {
        assert!(kernel_for(&with(ab, cd, compute)).is_none(), "{ab} {cd} {compute}");
    }
    let mixed = Arguments { b: Operand { datatype: F16, ..with(F32, F32, F32).b }, ..with(F32, F32, F32) };
    assert!(kernel_for(&mixed).is_none());
}
