//! The arithmetic of a product: D = alpha op(A) op(B) + beta C for every matrix of a batch.

use crate::check::{Arguments, Operand};
use crate::number::{Compute, Input, Output};
use crate::types::*;
use half::{bf16, f16};
use isobit_simgpu_standin::Access;
use std::ffi::c_int;

/// A scalar's bytes, as many of them as the compute type has.
pub(crate) type Scalar = [u8; 8];

/// A product for one combination of types.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    pub(crate) scalar_bytes: usize,
    pub(crate) is_zero: fn(Scalar) -> bool,
    /// # Safety
    /// Where the access is allowed, the operands hold what their shapes say.
    pub(crate) run: unsafe fn(&Product, [Scalar; 2], &Access<'_>),
}

/// The kernel for types of A and B, of C and D, and of the computation. `None` where rocBLAS lists no such combination, or a complex one.
pub(crate) fn kernel_for(arguments: &Arguments) -> Option<Kernel> {
    let Arguments { a, b, c, d, compute, .. } = arguments;
    if a.datatype != b.datatype || c.datatype != d.datatype {
        return None;
    }
    match (a.datatype, c.datatype, *compute) {
        (F64, F64, F64) => Some(kernel::<f64, f64, f64>()),
        (F32, F32, F32) => Some(kernel::<f32, f32, f32>()),
        (F16, F16, F16) => Some(kernel::<f16, f16, f16>()),
        (F16, F16, F32) => Some(kernel::<f16, f16, f32>()),
        (F16, F32, F32) => Some(kernel::<f16, f32, f32>()),
        (BF16, BF16, F32) => Some(kernel::<bf16, bf16, f32>()),
        (BF16, F32, F32) => Some(kernel::<bf16, f32, f32>()),
        (I8, I32, I32) => Some(kernel::<i8, i32, i32>()),
        _ => None,
    }
}

fn kernel<T: Input<C>, O: Output<C>, C: Compute>() -> Kernel {
    Kernel { scalar_bytes: size_of::<C>(), is_zero: |scalar| scalar_of::<C>(scalar).is_zero(), run: run::<T, O, C> }
}

fn scalar_of<C: Compute>(bytes: Scalar) -> C {
    bytemuck::pod_read_unaligned(&bytes[..size_of::<C>()])
}

/// A column-major matrix in memory, one of a batch, and whether its transpose is meant.
#[derive(Debug, Clone, Copy)]
struct Matrix {
    address: usize,
    leading: usize,
    stride: i64,
    transposed: bool,
}

/// A product with its shapes checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product {
    what: &'static str,
    sizes: [usize; 3],
    batch: usize,
    a: Matrix,
    b: Matrix,
    c: Matrix,
    d: Matrix,
}

impl Product {
    /// Of arguments that passed their checks.
    pub(crate) fn of(arguments: &Arguments, what: &'static str) -> Self {
        let size = |n: c_int| usize::try_from(n).unwrap_or_default();
        let matrix = |operand: Operand, operation| Matrix {
            // The work that is queued names the memory by its address.
            address: operand.pointer.expose_provenance(),
            leading: size(operand.leading),
            stride: operand.stride,
            transposed: operation != OPERATION_NONE,
        };
        Self {
            what,
            sizes: arguments.sizes.map(size),
            batch: size(arguments.batch),
            a: matrix(arguments.a, arguments.operations[0]),
            b: matrix(arguments.b, arguments.operations[1]),
            c: matrix(arguments.c, OPERATION_NONE),
            d: matrix(arguments.d, OPERATION_NONE),
        }
    }
}

/// One matrix of a batch as stored numbers.
struct View<T> {
    start: *const T,
    leading: usize,
    transposed: bool,
}

impl Matrix {
    fn view<T>(&self, batch: usize) -> View<T> {
        let bytes = (batch as i64).wrapping_mul(self.stride).wrapping_mul(size_of::<T>() as i64);
        let start = std::ptr::with_exposed_provenance(self.address.wrapping_add(bytes as usize));
        View { start, leading: self.leading, transposed: self.transposed }
    }
}

impl<T: Copy> View<T> {
    /// Whether a matrix of so many rows and columns, before any transposition here, may be read or written. What lies between its columns is none
    /// of its business.
    fn allowed(&self, rows: usize, columns: usize, write: bool, what: &str, access: &Access<'_>) -> bool {
        let (rows, columns) = if self.transposed { (columns, rows) } else { (rows, columns) };
        let bytes = |elements: usize| elements * size_of::<T>();
        if self.leading == rows || columns == 1 {
            return access(self.start.cast(), bytes(rows * columns), write, what);
        }
        (0..columns).all(|j| access(self.start.wrapping_add(j * self.leading).cast(), bytes(rows), write, what))
    }

    fn at(&self, row: usize, column: usize) -> *const T {
        let (i, j) = if self.transposed { (column, row) } else { (row, column) };
        self.start.wrapping_add(i + j * self.leading)
    }

    /// # Safety
    /// The element may be read.
    unsafe fn read(&self, row: usize, column: usize) -> T {
        // SAFETY: the caller's promise; nothing says that device memory is aligned.
        unsafe { self.at(row, column).read_unaligned() }
    }
}

/// Rows whose sums go on side by side, in registers.
const ROWS: usize = 16;

/// # Safety
/// As [`Kernel::run`].
unsafe fn run<T: Input<C>, O: Output<C>, C: Compute>(p: &Product, scalars: [Scalar; 2], access: &Access<'_>) {
    let [alpha, beta] = scalars.map(scalar_of::<C>);
    let [m, n, k] = p.sizes;
    // A factor of zero leaves its operands unread, whatever they hold.
    let k = if alpha.is_zero() { 0 } else { k };
    for batch in 0..p.batch {
        let (a, b, c, d): (View<T>, View<T>, View<O>, View<O>) =
            (p.a.view(batch), p.b.view(batch), p.c.view(batch), p.d.view(batch));
        let ask = |name: &str| format!("{}: {name} of batch {batch}", p.what);
        // Every operand is asked for, so that each finding there is to make is made; D last, since asking for it says that it is written.
        let readable = [
            k == 0 || a.allowed(m, k, false, &ask("A"), access),
            k == 0 || b.allowed(k, n, false, &ask("B"), access),
            beta.is_zero() || c.allowed(m, n, false, &ask("C"), access),
        ];
        if readable.contains(&false) || !d.allowed(m, n, true, &ask("D"), access) {
            continue;
        }
        // SAFETY: all of it was allowed.
        unsafe { multiply(p.sizes, k, [alpha, beta], &a, &b, &c, &d) };
    }
}

/// # Safety
/// A m x k and B k x n may be read, C too if beta is not zero, and D written.
unsafe fn multiply<T: Input<C>, O: Output<C>, C: Compute>(
    [m, n, _]: [usize; 3],
    k: usize,
    [alpha, beta]: [C; 2],
    a: &View<T>,
    b: &View<T>,
    c: &View<O>,
    d: &View<O>,
) {
    // SAFETY: row i of k and column j of n exist.
    let b: Vec<C> = (0..n).flat_map(|j| (0..k).map(move |i| unsafe { b.read(i, j) }.widen())).collect();
    let mut panel = vec![[C::default(); ROWS]; k];
    for first in (0..m).step_by(ROWS) {
        let rows = ROWS.min(m - first);
        for (at, entry) in panel.iter_mut().enumerate() {
            for (row, value) in entry[..rows].iter_mut().enumerate() {
                // SAFETY: row first + row is below m, column `at` below k.
                *value = unsafe { a.read(first + row, at) }.widen();
            }
        }
        for j in 0..n {
            let mut sums = [C::default(); ROWS];
            for (column, &factor) in panel.iter().zip(&b[j * k..]) {
                for (sum, &value) in sums.iter_mut().zip(column) {
                    *sum = sum.plus(value.times(factor));
                }
            }
            for (row, &sum) in sums[..rows].iter().enumerate() {
                let mut value = if k == 0 { C::default() } else { alpha.times(sum) };
                if !beta.is_zero() {
                    // SAFETY: within m x n.
                    value = value.plus(beta.times(unsafe { c.read(first + row, j) }.widen()));
                }
                // SAFETY: within m x n; the address came from a pointer that the caller may write through.
                unsafe { d.at(first + row, j).cast_mut().write_unaligned(O::round(value)) };
            }
        }
    }
}

#[cfg(test)]
mod tests;
