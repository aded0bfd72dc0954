//! Parameters of sorting. NaN counts as the largest value, +0 and -0 are equal, and equal elements
//! keep their order in both directions.

/// A stable sort of the last dimension. NaN counts as the largest value, and +0 and -0 are equal.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Sort};
/// let x = CpuDevice.storage_from_slice(&[3.0f32, f32::NEG_INFINITY, 2.0])?;
/// let (values, positions) = x.sort_last_dim(&Layout::contiguous(3), Sort::descending())?;
/// assert_eq!(values.to_vec::<f32>()?, [3.0, 2.0, f32::NEG_INFINITY]);
/// assert_eq!(positions.to_vec::<u32>()?, [0, 2, 1]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Sort {
    /// Whether to sort from the largest to the smallest.
    pub descending: bool,
}

impl Sort {
    /// Sorts from the smallest to the largest, NaNs last.
    pub const fn ascending() -> Self {
        Self { descending: false }
    }

    /// Sorts from the largest to the smallest, NaNs first.
    pub const fn descending() -> Self {
        Self { descending: true }
    }
}

/// The first `k` elements of a stable [`Sort`] of the last dimension.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, TopK};
/// let x = CpuDevice.storage_from_slice(&[2i32, 1, 3, 3])?;
/// let (values, positions) = x.topk(&Layout::contiguous(4), TopK::largest(3))?;
/// assert_eq!(values.to_vec::<i32>()?, [3, 3, 2]);
/// assert_eq!(positions.to_vec::<u32>()?, [2, 3, 0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopK {
    /// Number of elements; at most the size of the dimension.
    pub k: usize,
    /// Whether to take the largest elements (descending, NaNs first) or the smallest (ascending).
    pub largest: bool,
}

impl TopK {
    /// Takes the `k` largest elements, in descending order.
    pub const fn largest(k: usize) -> Self {
        Self { k, largest: true }
    }

    /// Takes the `k` smallest elements, in ascending order.
    pub const fn smallest(k: usize) -> Self {
        Self { k, largest: false }
    }

    /// Returns the sort from which the first `k` elements are taken.
    pub const fn sort(self) -> Sort {
        Sort { descending: self.largest }
    }
}
