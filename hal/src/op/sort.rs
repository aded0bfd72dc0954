//! Parameters of sorting. NaN is the largest value of all, zeros of both signs are equal, and equal
//! elements keep their order in either direction.

/// A sort of the last dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Sort {
    /// From the largest to the smallest; else from the smallest.
    pub descending: bool,
}

impl Sort {
    /// From the smallest to the largest: NaNs last.
    pub const fn ascending() -> Self {
        Self { descending: false }
    }

    /// From the largest to the smallest: NaNs first.
    pub const fn descending() -> Self {
        Self { descending: true }
    }
}

/// The first `k` elements of a stable sort of the last dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopK {
    /// How many; at most the size of the dimension.
    pub k: usize,
    /// The largest (descending, NaNs first); else the smallest.
    pub largest: bool,
}

impl TopK {
    /// The `k` largest.
    pub const fn largest(k: usize) -> Self {
        Self { k, largest: true }
    }

    /// The `k` smallest.
    pub const fn smallest(k: usize) -> Self {
        Self { k, largest: false }
    }

    /// The sort whose first elements they are.
    pub const fn sort(self) -> Sort {
        Sort { descending: self.largest }
    }
}
