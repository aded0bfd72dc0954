//! Tests of products in host memory against integer arithmetic, and of the memory that they read
//! and write.

use super::*;
use crate::number::Complex;
use half::{bf16, f16};
use std::cell::RefCell;
use std::fmt::Debug;

fn matrix<T>(numbers: &[T], leading: usize, stride: usize, form: Form) -> Matrix {
    Matrix { address: numbers.as_ptr().expose_provenance(), leading, batch: Batch::Strided(stride as i64), form }
}

fn scalar<C: Compute>(value: C) -> Scalar {
    let mut bytes = Scalar::default();
    bytes[..size_of::<C>()].copy_from_slice(bytemuck::bytes_of(&value));
    bytes
}

/// Returns small integers; every sum of them is exact in every type.
fn integers(n: usize, seed: usize) -> Vec<i32> {
    (0..n).map(|i| ((i * 7 + seed * 5) % 9) as i32 - 4).collect()
}

/// A Gaussian integer: real and imaginary part. A real type uses only the real part.
type Gaussian = [i32; 2];

fn gaussians(n: usize, seed: usize, complex: bool) -> Vec<Gaussian> {
    let imaginary = integers(n, seed + 1).into_iter().map(|x| if complex { x } else { 0 });
    integers(n, seed).into_iter().zip(imaginary).map(|(re, im)| [re, im]).collect()
}

fn times(a: Gaussian, b: Gaussian) -> Gaussian {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

fn plus(a: Gaussian, b: Gaussian) -> Gaussian {
    [a[0] + b[0], a[1] + b[1]]
}

/// Gaussian integers as matrices with gaps, stored one after the other or each behind a pointer.
struct Operand<T> {
    exact: Vec<Gaussian>,
    numbers: Vec<T>,
    address: usize,
    pointers: Vec<*mut T>,
    leading: usize,
    area: usize,
    form: Form,
}

impl<T> Operand<T> {
    fn new(
        [rows, columns]: [usize; 2],
        form: Form,
        shape: &Shape,
        make: fn(Gaussian) -> T,
        seed: usize,
        complex: bool,
    ) -> Self {
        let [rows, columns] = if form == Form::Plain { [rows, columns] } else { [columns, rows] };
        let leading = (rows + shape.pad).max(1);
        let area = leading * columns.max(1);
        let exact = gaussians(area * shape.batch, seed, complex);
        let mut numbers: Vec<T> = exact.iter().map(|&x| make(x)).collect();
        let start = numbers.as_mut_ptr();
        // The pointers are in the reverse of the order that strides would have.
        let pointers = (0..shape.batch).rev().map(|i| start.wrapping_add(i * area)).collect();
        Self { exact, numbers, address: start.expose_provenance(), pointers, leading, area, form }
    }

    fn matrix(&self, shape: &Shape) -> Matrix {
        let Self { address, leading, form, .. } = *self;
        if shape.pointers {
            Matrix { address: self.pointers.as_ptr().expose_provenance(), leading, batch: Batch::Pointers, form }
        } else {
            Matrix { address, leading, batch: Batch::Strided(self.area as i64), form }
        }
    }

    fn place(&self, shape: &Shape, batch: usize, row: usize, column: usize) -> usize {
        let batch = if shape.pointers { shape.batch - 1 - batch } else { batch };
        batch * self.area + row + column * self.leading
    }

    fn at(&self, shape: &Shape, batch: usize, row: usize, column: usize) -> Gaussian {
        let [i, j] = if self.form == Form::Plain { [row, column] } else { [column, row] };
        let [re, im] = self.exact[self.place(shape, batch, i, j)];
        if self.form == Form::ConjugateTransposed { [re, -im] } else { [re, im] }
    }
}

struct Shape {
    sizes: [usize; 3],
    forms: [Form; 2],
    pad: usize,
    batch: usize,
    pointers: bool,
}

/// Runs a product of integer matrices in place and checks it against integer arithmetic.
fn check<T: Input<C>, O: Output<C> + PartialEq + Debug, C: Compute>(
    shape: &Shape,
    [alpha, beta]: [Gaussian; 2],
    make: fn(Gaussian) -> T,
    make_out: fn(Gaussian) -> O,
    make_scalar: fn(Gaussian) -> C,
) {
    let complex = make_scalar([0, 1]) != C::default();
    let [m, n, k] = shape.sizes;
    let a = Operand::new([m, k], shape.forms[0], shape, make, 1, complex);
    let b = Operand::new([k, n], shape.forms[1], shape, make, 2, complex);
    let c = Operand::new([m, n], Form::Plain, shape, make_out, 3, complex);
    let product = Product {
        what: "test",
        sizes: shape.sizes,
        batch: shape.batch,
        a: a.matrix(shape),
        b: b.matrix(shape),
        c: c.matrix(shape),
        d: c.matrix(shape),
        d_name: "D",
        scales: [None; 2],
    };
    let scalars = [alpha, beta].map(|x| scalar(make_scalar(x)));
    // SAFETY: the matrices are as large as their shapes say.
    unsafe { (kernel::<T, O, C>().run)(&product, scalars, &|_, _, _, _| true) };
    for batch in 0..shape.batch {
        for j in 0..n {
            for i in 0..c.leading {
                let place = c.place(shape, batch, i, j);
                // The gap between columns stays unchanged.
                let mut expected = c.exact[place];
                if i < m {
                    let product = |x| times(a.at(shape, batch, i, x), b.at(shape, batch, x, j));
                    let sum = (0..k).map(product).fold([0, 0], plus);
                    expected = plus(times(alpha, sum), times(beta, expected));
                }
                assert_eq!(
                    c.numbers[place],
                    make_out(expected),
                    "row {i}, column {j}, matrix {batch} of {:?}",
                    shape.forms
                );
            }
        }
    }
}

fn shapes() -> Vec<Shape> {
    use Form::{ConjugateTransposed, Plain, Transposed};
    let mut shapes = Vec::new();
    for forms in [[Plain, Plain], [Transposed, Plain], [Plain, ConjugateTransposed], [ConjugateTransposed, Transposed]]
    {
        for (sizes, pad, batch) in [([1, 1, 1], 0, 1), ([17, 3, 5], 0, 2), ([33, 18, 31], 3, 3), ([5, 2, 0], 1, 1)] {
            shapes.extend([false, true].map(|pointers| Shape { sizes, forms, pad, batch, pointers }));
        }
    }
    shapes
}

#[test]
fn every_shape_transposition_and_type() {
    let half = |x: Gaussian| f16::from_f32(x[0] as f32);
    let brain = |x: Gaussian| bf16::from_f32(x[0] as f32);
    let single = |x: Gaussian| x[0] as f32;
    let double = |x: Gaussian| f64::from(x[0]);
    let byte = |x: Gaussian| x[0] as i8;
    let (singles, doubles) = (
        |x: Gaussian| Complex { re: x[0] as f32, im: x[1] as f32 },
        |x: Gaussian| Complex { re: f64::from(x[0]), im: f64::from(x[1]) },
    );
    for shape in shapes() {
        for scalars in [[[1, 0], [0, 0]], [[2, 0], [-1, 0]], [[0, 0], [3, 0]], [[-3, 0], [1, 0]]] {
            check::<f64, f64, f64>(&shape, scalars, double, double, double);
            check::<f16, f16, f16>(&shape, scalars, half, half, half);
            check::<i8, i32, i32>(&shape, scalars, byte, |x| x[0], |x| x[0]);
            check::<i8, f32, f32>(&shape, scalars, byte, single, single);
            check::<f32, f32, f32>(&shape, scalars, single, single, single);
            check::<f16, f16, f32>(&shape, scalars, half, half, single);
            check::<f16, f32, f32>(&shape, scalars, half, single, single);
            check::<bf16, bf16, f32>(&shape, scalars, brain, brain, single);
            check::<bf16, f32, f32>(&shape, scalars, brain, single, single);
        }
        for scalars in [[[1, 0], [0, 0]], [[2, -1], [-1, 3]], [[0, 1], [0, 1]]] {
            check::<Complex<f32>, Complex<f32>, Complex<f32>>(&shape, scalars, singles, singles, singles);
            check::<Complex<f64>, Complex<f64>, Complex<f64>>(&shape, scalars, doubles, doubles, doubles);
            let bytes = |x: Gaussian| Complex { re: x[0] as i8, im: x[1] as i8 };
            check::<Complex<i8>, Complex<f32>, Complex<f32>>(&shape, scalars, bytes, singles, singles);
        }
    }
}

/// Computes a product of two vectors, 1 x k by k x 1, into one number.
fn dot<T: Input<C>, O: Output<C>, C: Compute>(a: &[T], b: &[T], scalars: [C; 2], out: &mut O, access: &Access<'_>) {
    let k = a.len();
    let d = Matrix {
        address: std::ptr::from_mut(out).expose_provenance(),
        leading: 1,
        batch: Batch::Strided(0),
        form: Form::Plain,
    };
    let product = Product {
        what: "dot",
        sizes: [1, 1, k],
        batch: 1,
        a: matrix(a, 1, 0, Form::Plain),
        b: matrix(b, k, 0, Form::Plain),
        c: d,
        d,
        d_name: "D",
        scales: [None; 2],
    };
    // SAFETY: both vectors have k elements and the result is one.
    unsafe { (kernel::<T, O, C>().run)(&product, scalars.map(scalar), access) };
}

#[test]
fn sums_ascend_in_the_compute_type_and_round_once() {
    let one = [1f32, 0.0];
    let yes: &Access<'_> = &|_, _, _, _| true;
    // In f32, 2^24 absorbs each 1 that is added after it, but not those added before it.
    let (big, mut out) = (2f32.powi(24), 0f32);
    dot(&[big, 1.0, 1.0], &[1.0; 3], one, &mut out, yes);
    assert_eq!(out, big);
    dot(&[1.0, 1.0, big], &[1.0; 3], one, &mut out, yes);
    assert_eq!(out, big + 2.0);
    // f16 cannot represent 2048 + 1, but adding another 1 in f32 gives a number that it can.
    let f16s = |x: &[f32]| -> Vec<f16> { x.iter().map(|&x| f16::from_f32(x)).collect() };
    let mut out = f16::ZERO;
    dot(&f16s(&[2048.0, 1.0, 1.0]), &f16s(&[1.0; 3]), one, &mut out, yes);
    assert_eq!(out.to_f32(), 2050.0);
    // The product is rounded before the addition: a fused operation would give 2^-24.
    let x = 1.0 + 2f32.powi(-12);
    let mut out = 1f32;
    dot(&[-(1.0 + 2f32.powi(-11)), x], &[1.0, x], one, &mut out, yes);
    assert_eq!(out, 0.0);
}

#[test]
fn a_zero_factor_leaves_its_operands_unread() {
    let nan = [f64::NAN; 2];
    let asked = RefCell::new(Vec::new());
    let record: &Access<'_> = &|_, bytes, write, what| {
        asked.borrow_mut().push((what.to_owned(), bytes, write));
        true
    };
    let name = |x: &str| format!("dot: {x} of batch 0");
    let mut out = f64::NAN;
    dot(&[2.0, 3.0], &[5.0, 7.0], [1.0, -0.0], &mut out, record);
    assert_eq!(out, 31.0);
    assert_eq!(asked.take(), [(name("A"), 16, false), (name("B"), 16, false), (name("D"), 8, true)]);
    let mut out = 4.0;
    dot(&nan, &nan, [0.0, 1.0], &mut out, record);
    assert_eq!(out, 4.0);
    assert_eq!(asked.take(), [(name("C"), 8, false), (name("D"), 8, true)]);
}

#[test]
fn what_the_simulator_refuses_is_not_computed() {
    let mut out = 9f32;
    for refused in ["A", "B", "D"] {
        let name = format!("dot: {refused} of batch 0");
        dot(&[1f32], &[1.0], [1f32, 0.0], &mut out, &|_, _, _, what| what != name);
        assert_eq!(out, 9.0, "without {refused}");
    }
}

#[test]
fn a_pointer_that_is_not_there_is_not_followed() {
    let (one, mut out) = ([1f32], [7f32; 2]);
    let pointers = [one.as_ptr(); 2];
    one.as_ptr().expose_provenance();
    let plain = Form::Plain;
    let d = Matrix { address: out.as_mut_ptr().expose_provenance(), ..matrix(&one, 1, 1, plain) };
    let a = Matrix { batch: Batch::Pointers, ..matrix(&pointers, 1, 0, plain) };
    let b = matrix(&one, 1, 0, plain);
    let product = Product { what: "test", sizes: [1; 3], batch: 2, a, b, c: d, d, d_name: "D", scales: [None; 2] };
    let scalars = [1f32, 0.0].map(scalar);
    let access: &Access<'_> = &|_, bytes, _, what| what != "test: A of batch 1, its pointer" || bytes != 8;
    // SAFETY: every operand is present.
    unsafe { (kernel::<f32, f32, f32>().run)(&product, scalars, access) };
    assert_eq!(out, [1.0, 7.0]);
}

/// If the size in bytes overflows an address, it is larger than any memory, and the memory refuses
/// it.
#[test]
fn sizes_beyond_memory_are_refused_by_it() {
    let one = [1f64];
    let huge = usize::MAX / 2;
    let plain = Form::Plain;
    let (thin, d) = (matrix(&one, 1, 0, plain), matrix(&one, huge, 0, plain));
    let tall = matrix(&one, huge, 0, plain);
    let product = Product {
        what: "test",
        sizes: [huge, huge, 1],
        batch: 1,
        a: tall,
        b: thin,
        c: d,
        d,
        d_name: "D",
        scales: [None; 2],
    };
    let access: &Access<'_> = &|_, bytes, _, _| bytes < 1 << 40;
    // SAFETY: no access of that size is allowed.
    unsafe { (kernel::<f64, f64, f64>().run)(&product, [1f64, 1.0].map(scalar), access) };
}
