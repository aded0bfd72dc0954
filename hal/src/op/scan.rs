//! Parameters of scans: running sums, products and extremes.

use super::ScanOp;

/// A scan along a dimension: each result combines all elements up to and including its own
/// position. [`ScanOp`] defines how two elements combine, and
/// [`docs/numerics/shape.md`](https://github.com/isobit/isobit/blob/main/docs/numerics/shape.md)
/// section 6 fixes the order in which they do. The result has the shape of the source.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op, Scan};
/// let x = CpuDevice.storage_from_slice(&[1i32, 2, 3, 4])?;
/// let scan = |op: Scan| CpuStorage::apply(&Op::Scan(op), &[(&x, &Layout::contiguous((2, 2)))]);
/// assert_eq!(scan(Scan::cumsum(1))?.to_vec::<i32>()?, [1, 3, 3, 7]);
/// assert_eq!(scan(Scan::cumsum(1).exclusive())?.to_vec::<i32>()?, [0, 1, 0, 3]);
/// assert_eq!(scan(Scan::cumsum(1).reverse())?.to_vec::<i32>()?, [3, 2, 7, 4]);
/// assert_eq!(scan(Scan::cumprod(0))?.to_vec::<i32>()?, [1, 2, 3, 8]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scan {
    /// What is computed.
    pub op: ScanOp,
    /// The dimension to scan.
    pub dim: usize,
    /// Whether a result leaves out the element at its own position. The first result of each
    /// sequence is then that of no elements; see [`ScanOp`].
    pub exclusive: bool,
    /// Whether the scan runs from the last element of the dimension to the first.
    pub reverse: bool,
}

impl Scan {
    /// Creates an inclusive scan from the first element to the last.
    pub const fn new(op: ScanOp, dim: usize) -> Self {
        Self { op, dim, exclusive: false, reverse: false }
    }

    /// Creates a scan of sums along a dimension.
    pub const fn cumsum(dim: usize) -> Self {
        Self::new(ScanOp::Sum, dim)
    }

    /// Creates a scan of products along a dimension.
    pub const fn cumprod(dim: usize) -> Self {
        Self::new(ScanOp::Prod, dim)
    }

    /// Creates a scan of minima along a dimension.
    pub const fn cummin(dim: usize) -> Self {
        Self::new(ScanOp::Min, dim)
    }

    /// Creates a scan of maxima along a dimension.
    pub const fn cummax(dim: usize) -> Self {
        Self::new(ScanOp::Max, dim)
    }

    /// Leaves out of each result the element at its own position.
    pub const fn exclusive(mut self) -> Self {
        self.exclusive = true;
        self
    }

    /// Runs from the last element of the dimension to the first.
    pub const fn reverse(mut self) -> Self {
        self.reverse = true;
        self
    }
}
