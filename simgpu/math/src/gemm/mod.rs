//! Matrix products: D = alpha op(A) op(B) + beta C for every matrix of a batch.
//!
//! Products are summed in the compute type in ascending order of k, without fused operations, and
//! rounded once to the result's type. No vendor promises an order.

mod dimensions;
mod matrix;

pub use dimensions::Dimensions;
pub use matrix::{Batch, Form, Matrix};

use crate::number::{Compute, Input, Output};
use isobit_simgpu_library_common::Access;
use matrix::View;

/// A scalar's bytes; the compute type uses the first `Kernel::scalar_bytes` of them.
pub type Scalar = [u8; 16];

/// A product for one combination of types.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    /// The size in bytes of the compute type, which is the type of alpha and beta.
    pub scalar_bytes: usize,
    /// Whether a scalar is zero.
    pub is_zero: fn(Scalar) -> bool,
    /// Computes the product with alpha and beta if the simulator allows every access.
    ///
    /// # Safety
    /// If the access is allowed, the operands hold data as their shapes describe.
    pub run: unsafe fn(&Product, [Scalar; 2], &Access<'_>),
}

/// Returns the product of factors `T` into results `O`, computed in `C`.
pub fn kernel<T: Input<C>, O: Output<C>, C: Compute>() -> Kernel {
    const { assert!(size_of::<C>() <= size_of::<Scalar>()) };
    Kernel { scalar_bytes: size_of::<C>(), is_zero: |scalar| scalar_of::<C>(scalar).is_zero(), run: run::<T, O, C> }
}

fn scalar_of<C: Compute>(bytes: Scalar) -> C {
    bytemuck::pod_read_unaligned(&bytes[..size_of::<C>()])
}

/// A product with shapes that have been checked.
#[derive(Debug, Clone, Copy)]
pub struct Product {
    /// The name of the caller, for findings.
    pub what: &'static str,
    /// m, n and k; m and n are not zero.
    pub sizes: [usize; 3],
    /// The number of matrices in the batch.
    pub batch: usize,
    /// m x k in the form in which it is used.
    pub a: Matrix,
    /// k x n in the form in which it is used.
    pub b: Matrix,
    /// m x n.
    pub c: Matrix,
    /// m x n; may be C itself.
    pub d: Matrix,
    /// The vendor's name for D.
    pub d_name: &'static str,
}

/// The number of rows whose sums are computed side by side, in registers.
const ROWS: usize = 16;

/// # Safety
/// As [`Kernel::run`].
unsafe fn run<T: Input<C>, O: Output<C>, C: Compute>(p: &Product, scalars: [Scalar; 2], access: &Access<'_>) {
    let [alpha, beta] = scalars.map(scalar_of::<C>);
    let [m, n, k] = p.sizes;
    // If a factor is zero, its operands are not read, whatever they hold.
    let k = if alpha.is_zero() { 0 } else { k };
    for batch in 0..p.batch {
        let ask = |name: &str| format!("{}: {name} of batch {batch}", p.what);
        let [a_name, b_name, c_name, d_name] = ["A", "B", "C", p.d_name].map(ask);
        // Check the access to every operand, so that every finding is reported. D comes last,
        // because a request for write access marks it as written. SAFETY: the caller promises what
        // `Kernel::run` requires.
        let (a, b, c) = unsafe {
            (
                operand::<T>((k != 0).then_some(&p.a), batch, [m, k], &a_name, access),
                operand::<T>((k != 0).then_some(&p.b), batch, [k, n], &b_name, access),
                operand::<O>((!beta.is_zero()).then_some(&p.c), batch, [m, n], &c_name, access),
            )
        };
        let (Ok(a), Ok(b), Ok(c)) = (a, b, c) else { continue };
        // SAFETY: the caller promises what `Kernel::run` requires.
        let Some(d) = (unsafe { p.d.view::<O>(batch, &d_name, access) }) else { continue };
        if d.allowed(m, n, true, &d_name, access) {
            // SAFETY: every access was allowed.
            unsafe { multiply([m, n], k, [alpha, beta], a.zip(b), c, &d) };
        }
    }
}

/// The simulator refused a read of the product.
struct Refused;

/// Returns an operand to be read, if it is needed.
///
/// # Safety
/// As [`Kernel::run`].
unsafe fn operand<T: Copy>(
    matrix: Option<&Matrix>,
    batch: usize,
    [rows, columns]: [usize; 2],
    what: &str,
    access: &Access<'_>,
) -> Result<Option<View<T>>, Refused> {
    let Some(matrix) = matrix else { return Ok(None) };
    // SAFETY: the caller promises what `Kernel::run` requires.
    let view = unsafe { matrix.view::<T>(batch, what, access) }.ok_or(Refused)?;
    if view.allowed(rows, columns, false, what, access) { Ok(Some(view)) } else { Err(Refused) }
}

/// # Safety
/// The factors m x k and k x n, which are present unless k is zero, may be read. C may be read if
/// it is present, and D may be written.
unsafe fn multiply<T: Input<C>, O: Output<C>, C: Compute>(
    [m, n]: [usize; 2],
    k: usize,
    [alpha, beta]: [C; 2],
    factors: Option<(View<T>, View<T>)>,
    c: Option<View<O>>,
    d: &View<O>,
) {
    /// # Safety
    /// The element may be read.
    unsafe fn read<T: Input<C>, C: Compute>(view: &View<T>, row: usize, column: usize) -> C {
        // SAFETY: the caller promises that the element may be read.
        let value = unsafe { view.read(row, column) }.widen();
        if view.form == Form::ConjugateTransposed { value.conjugate() } else { value }
    }
    let b: Vec<C> = match &factors {
        // SAFETY: row i of k and column j of n exist.
        Some((_, b)) => (0..n).flat_map(|j| (0..k).map(move |i| unsafe { read(b, i, j) })).collect(),
        None => Vec::new(),
    };
    let mut panel = vec![[C::default(); ROWS]; k];
    for first in (0..m).step_by(ROWS) {
        let rows = ROWS.min(m - first);
        if let Some((a, _)) = &factors {
            for (at, entry) in panel.iter_mut().enumerate() {
                for (row, value) in entry[..rows].iter_mut().enumerate() {
                    // SAFETY: row first + row is below m, column `at` below k.
                    *value = unsafe { read(a, first + row, at) };
                }
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
                if let Some(c) = &c {
                    // SAFETY: the element lies within m x n.
                    value = value.plus(beta.times(unsafe { c.read(first + row, j) }.widen()));
                }
                // SAFETY: the element lies within m x n, and the address came from a pointer that
                // the caller may write through.
                unsafe { d.at(first + row, j).cast_mut().write_unaligned(O::round(value)) };
            }
        }
    }
}

#[cfg(test)]
mod tests;
