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
    mixed::<T, T, O, C>()
}

/// Returns the product of factors `A` and `B` into results `O`, computed in `C`.
pub fn mixed<A: Input<C>, B: Input<C>, O: Output<C>, C: Compute>() -> Kernel {
    const { assert!(size_of::<C>() <= size_of::<Scalar>()) };
    Kernel { scalar_bytes: size_of::<C>(), is_zero: |scalar| scalar_of::<C>(scalar).is_zero(), run: run::<A, B, O, C> }
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
    /// What the elements of A and B are multiplied by.
    pub scales: [Option<Scale>; 2],
    /// m x n.
    pub c: Matrix,
    /// m x n; may be C itself.
    pub d: Matrix,
    /// The vendor's name for D.
    pub d_name: &'static str,
}

/// Factors of an operand, numbers of the compute type.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// The exposed address of the first.
    pub address: usize,
    /// Whether each row of A, or column of B, has one, one after the other; otherwise there is one.
    pub by_line: bool,
}

/// The factors of an operand's lines.
struct Lines<C>(Vec<C>);

impl<C: Compute> Lines<C> {
    /// # Safety
    /// If the access is allowed, there are factors.
    unsafe fn read(scale: Option<Scale>, lines: usize, what: &str, access: &Access<'_>) -> Result<Self, Refused> {
        let Some(Scale { address, by_line }) = scale else { return Ok(Self(Vec::new())) };
        let count = if by_line { lines } else { 1 };
        let at = std::ptr::with_exposed_provenance::<C>(address);
        if !access(at.cast(), count * size_of::<C>(), false, what) {
            return Err(Refused);
        }
        // SAFETY: the access was allowed.
        Ok(Self((0..count).map(|i| unsafe { at.wrapping_add(i).read_unaligned() }).collect()))
    }

    /// Returns an element of a line multiplied by the line's factor.
    fn times(&self, value: C, line: usize) -> C {
        match &self.0[..] {
            [] => value,
            [one] => value.times(*one),
            all => value.times(all[line]),
        }
    }
}

/// The number of rows whose sums are computed side by side, in registers.
const ROWS: usize = 16;

/// # Safety
/// As [`Kernel::run`].
unsafe fn run<A: Input<C>, B: Input<C>, O: Output<C>, C: Compute>(
    p: &Product,
    scalars: [Scalar; 2],
    access: &Access<'_>,
) {
    let [alpha, beta] = scalars.map(scalar_of::<C>);
    let [m, n, k] = p.sizes;
    // If a factor is zero, its operands are not read, whatever they hold.
    let k = if alpha.is_zero() { 0 } else { k };
    let scale = |side: usize, lines| {
        let what = format!("{}: scales of {}", p.what, ["A", "B"][side]);
        // SAFETY: the caller promises what `Kernel::run` requires.
        unsafe { Lines::<C>::read(p.scales[side], lines, &what, access) }
    };
    let (Ok(of_a), Ok(of_b)) = (scale(0, m), scale(1, n)) else { return };
    for batch in 0..p.batch {
        let ask = |name: &str| format!("{}: {name} of batch {batch}", p.what);
        let [a_name, b_name, c_name, d_name] = ["A", "B", "C", p.d_name].map(ask);
        // Check the access to every operand, so that every finding is reported. D comes last,
        // because a request for write access marks it as written. SAFETY: the caller promises what
        // `Kernel::run` requires.
        let (a, b, c) = unsafe {
            (
                operand::<A>((k != 0).then_some(&p.a), batch, [m, k], &a_name, access),
                operand::<B>((k != 0).then_some(&p.b), batch, [k, n], &b_name, access),
                operand::<O>((!beta.is_zero()).then_some(&p.c), batch, [m, n], &c_name, access),
            )
        };
        let (Ok(a), Ok(b), Ok(c)) = (a, b, c) else { continue };
        // SAFETY: the caller promises what `Kernel::run` requires.
        let Some(d) = (unsafe { p.d.view::<O>(batch, &d_name, access) }) else { continue };
        if d.allowed(m, n, true, &d_name, access) {
            // SAFETY: every access was allowed.
            unsafe { multiply([m, n], k, [alpha, beta], a.zip(b), [&of_a, &of_b], c, &d) };
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
unsafe fn multiply<A: Input<C>, B: Input<C>, O: Output<C>, C: Compute>(
    [m, n]: [usize; 2],
    k: usize,
    [alpha, beta]: [C; 2],
    factors: Option<(View<A>, View<B>)>,
    [of_a, of_b]: [&Lines<C>; 2],
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
        Some((_, b)) => (0..n).flat_map(|j| (0..k).map(move |i| of_b.times(unsafe { read(b, i, j) }, j))).collect(),
        None => Vec::new(),
    };
    let mut panel = vec![[C::default(); ROWS]; k];
    for first in (0..m).step_by(ROWS) {
        let rows = ROWS.min(m - first);
        if let Some((a, _)) = &factors {
            for (at, entry) in panel.iter_mut().enumerate() {
                for (row, value) in entry[..rows].iter_mut().enumerate() {
                    // SAFETY: row first + row is below m, column `at` below k.
                    *value = of_a.times(unsafe { read(a, first + row, at) }, first + row);
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
