//! The name of a kernel as a number. Launchers look kernels up by it; it is cheap enough to compute
//! at every launch.

use isobit_hal::DType;
pub use isobit_hal::Family;

/// The family, operation, dtypes and variant of one kernel, packed into 64 bits.
///
/// ```
/// use isobit_hal::{BinaryOp, DType};
/// use isobit_kernels::{Family, KERNELS, Key};
///
/// let key = Key::new(Family::Binary, BinaryOp::Add as usize, &[DType::F32], Key::CONTIGUOUS);
/// assert_eq!(Key::from_bits(key.to_bits()), key);
/// assert_ne!(key.with_variant(Key::STRIDED), key);
/// assert!(KERNELS.iter().any(|entry| entry.key == key));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(u64);

impl Key {
    /// Creates a key. `op` is the index of the operation in its enum (0 if the family has only
    /// one), `dtypes` has at most four entries, and `variant` distinguishes kernels of one
    /// operation (contiguous, strided, tiled) by constants of the family.
    pub const fn new(family: Family, op: usize, dtypes: &[DType], variant: u8) -> Self {
        assert!(op < 256 && dtypes.len() <= 4);
        let mut bits = (family as u64) << 56 | (op as u64) << 48 | (variant as u64) << 40;
        let mut i = 0;
        while i < dtypes.len() {
            // The index plus one distinguishes a missing dtype from the first one.
            bits |= (dtypes[i].index() as u64 + 1) << (8 * i);
            i += 1;
        }
        Self(bits)
    }

    /// The elementwise variant for contiguous operands.
    pub const CONTIGUOUS: u8 = 0;
    /// The elementwise variant for operands that are contiguous, or broadcast, along the innermost
    /// dimension.
    pub const ROWS: u8 = 1;
    /// The elementwise variant for every layout.
    pub const STRIDED: u8 = 2;

    /// Returns the key of another variant of the same kernel.
    pub const fn with_variant(self, variant: u8) -> Self {
        Self(self.0 & !(0xff << 40) | (variant as u64) << 40)
    }

    /// Creates a key from its number in the generated table.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the key as a number.
    pub const fn to_bits(self) -> u64 {
        self.0
    }
}
