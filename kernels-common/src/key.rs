//! The name of a kernel as a number: what a launcher asks the table for, cheap enough to make at
//! every launch.

use isobit_hal::DType;
pub use isobit_hal::Family;

/// Family, operation, dtypes and variant of one kernel, packed into 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(u64);

impl Key {
    /// A key. `op` is the position of the operation in its enum (0 where the family has one),
    /// `dtypes` at most four, and `variant` tells kernels of one operation apart (contiguous,
    /// strided, tiled), by constants of the family.
    pub const fn new(family: Family, op: usize, dtypes: &[DType], variant: u8) -> Self {
        assert!(op < 256 && dtypes.len() <= 4);
        let mut bits = (family as u64) << 56 | (op as u64) << 48 | (variant as u64) << 40;
        let mut i = 0;
        while i < dtypes.len() {
            // One more than the index, so that a missing dtype is not the first one.
            bits |= (dtypes[i].index() as u64 + 1) << (8 * i);
            i += 1;
        }
        Self(bits)
    }

    /// The elementwise variant for operands without gaps.
    pub const CONTIGUOUS: u8 = 0;
    /// The elementwise variant for operands that run along the innermost dimension without gaps, or
    /// repeat along it.
    pub const ROWS: u8 = 1;
    /// The elementwise variant for every layout.
    pub const STRIDED: u8 = 2;

    /// The key of another variant of the same kernel.
    pub const fn with_variant(self, variant: u8) -> Self {
        Self(self.0 & !(0xff << 40) | (variant as u64) << 40)
    }

    /// From the number in the generated table.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The number.
    pub const fn to_bits(self) -> u64 {
        self.0
    }
}
