//! Elements of eight bits or fewer that no dtype holds: a tensor of them is a u8 storage whose rows
//! are packed. Rows are indexed and copied as bytes.

use crate::{Error, ErrorKind, Result};
use std::fmt;

macro_rules! packed_dtypes {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal $bits:literal)*) => {
        /// The type of packed elements. A row of `k` elements takes
        /// [`row_bytes(k)`](Self::row_bytes) bytes: each byte holds as many elements as fit, the
        /// first in the low bits, as ONNX and ml_dtypes have them. Bits behind the last element of
        /// a row are 0. [`Op::Pack`](super::Op::Pack) and [`Op::Unpack`](super::Op::Unpack) convert
        /// from and to f32, f16, bf16, f64, u8, i8 and i32; section 4 of [`docs/numerics.md`][cast]
        /// says what becomes of each value.
        ///
        /// ```rust
        /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, DType};
        /// # use isobit_hal::{Layout, PackedDType};
        /// let x = CpuDevice.storage_from_slice(&[1i32, -8, 7])?;
        /// let packed = x.pack(&Layout::contiguous(3), PackedDType::I4)?;
        /// assert_eq!(packed.to_vec::<u8>()?, [0x81, 0x07]);
        /// let back = packed.unpack(&Layout::contiguous(2), PackedDType::I4, 3, DType::F32)?;
        /// assert_eq!(back.to_vec::<f32>()?, [1.0, -8.0, 7.0]);
        /// # Ok::<(), isobit_hal::Error>(())
        /// ```
        ///
        /// [cast]: https://github.com/isobit/isobit/blob/main/docs/numerics.md
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum PackedDType { $($(#[doc = $doc])+ $variant,)* }

        impl PackedDType {
            /// Every type.
            pub const ALL: &[PackedDType] = &[$(PackedDType::$variant),*];

            /// Returns the name.
            pub const fn name(self) -> &'static str {
                match self { $(PackedDType::$variant => $name,)* }
            }

            /// Returns the bits of an element, which divide 8.
            pub const fn bits(self) -> usize {
                match self { $(PackedDType::$variant => $bits,)* }
            }
        }
    };
}
packed_dtypes! {
    /// The integers from 0 to 15, two in a byte.
    U4 "u4" 4
    /// The integers from -8 to 7, two in a byte.
    I4 "i4" 4
    /// The integers from 0 to 3, four in a byte.
    U2 "u2" 2
    /// The integers from -2 to 1, four in a byte.
    I2 "i2" 2
    /// Floats of two exponent bits and one of the significand, two in a byte: 0, 0.5, 1, 1.5, 2, 3,
    /// 4, 6, and their negatives. There are no infinities and no NaN.
    F4E2M1 "f4e2m1" 4
    /// Powers of two from 2^-127 to 2^127, and a NaN, one in a byte: the scales of the OCP
    /// microscaling formats.
    F8E8M0 "f8e8m0" 8
    /// Floats of four exponent bits and three of the significand, one in a byte, as MI300 computes
    /// with them: up to ±240, with one zero and one NaN and without infinities. A code stands for
    /// half of what it is in [`DType::F8E4M3`](crate::DType::F8E4M3).
    F8E4M3FNUZ "f8e4m3fnuz" 8
    /// Floats of five exponent bits and two of the significand, one in a byte, as MI300 computes
    /// with them: up to ±57344, with one zero and one NaN and without infinities.
    F8E5M2FNUZ "f8e5m2fnuz" 8
}

impl PackedDType {
    /// Returns the position in [`ALL`](Self::ALL), for indexing tables.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether the elements are integers.
    pub const fn is_int(self) -> bool {
        !matches!(self, PackedDType::F4E2M1 | PackedDType::F8E8M0) && !self.is_fnuz()
    }

    /// Whether the elements are floats of eight bits with one zero and one NaN.
    pub const fn is_fnuz(self) -> bool {
        matches!(self, PackedDType::F8E4M3FNUZ | PackedDType::F8E5M2FNUZ)
    }

    /// Whether the elements are integers with a sign.
    pub const fn is_signed_int(self) -> bool {
        matches!(self, PackedDType::I4 | PackedDType::I2)
    }

    /// Returns how many elements a byte holds.
    pub const fn per_byte(self) -> usize {
        8 / self.bits()
    }

    /// Returns the size in bytes of a row of `elements` elements.
    pub const fn row_bytes(self, elements: usize) -> usize {
        elements.div_ceil(self.per_byte())
    }
}

impl fmt::Display for PackedDType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Packs each row of `[.., k]`; see [`PackedDType`].
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Pack, PackedDType};
/// let (x, l) = (CpuDevice.storage_from_slice(&[1.0f32, -300.0])?, Layout::contiguous(2));
/// let saturated = x.pack(&l, PackedDType::F8E4M3FNUZ)?;
/// assert_eq!(saturated.to_vec::<u8>()?, [0x40, 0xff]);
/// let packed = x.pack_with(&l, Pack::non_saturating(PackedDType::F8E4M3FNUZ))?;
/// assert_eq!(packed.to_vec::<u8>()?, [0x40, 0x80]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pack {
    /// The type of the packed elements.
    pub dtype: PackedDType,
    /// Whether magnitudes beyond the largest number of f8e4m3fnuz or f8e5m2fnuz give that number;
    /// they give NaN otherwise. Has no effect on other types.
    pub saturate: bool,
}

impl Pack {
    /// Packs to a type, and saturates.
    pub const fn new(dtype: PackedDType) -> Self {
        Self { dtype, saturate: true }
    }

    /// Packs to a type. f8e4m3fnuz and f8e5m2fnuz overflow to NaN, as PyTorch's casts do.
    pub const fn non_saturating(dtype: PackedDType) -> Self {
        Self { dtype, saturate: false }
    }
}

/// Converts rows of packed elements, u8 of shape `[.., row_bytes]`, to `[.., elements]`; see
/// [`PackedDType`]. The bytes of a row alone do not tell whether its last byte is full.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout};
/// # use isobit_hal::{Op, PackedDType, Src, Unpack};
/// let op = Op::Unpack(Unpack::new(PackedDType::F4E2M1, 3));
/// let packed = CpuDevice.storage_from_slice(&[0x7au8, 0x01])?;
/// let mut y = CpuDevice.storage_from_slice(&[0f32; 3])?;
/// let (from, to) = (Layout::contiguous(2), Layout::contiguous(3));
/// CpuStorage::apply_into(&op, &[Src::Storage(&packed, &from)], &mut y, &to)?;
/// assert_eq!(y.to_vec::<f32>()?, [-1.0, 6.0, 0.5]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unpack {
    /// The type of the packed elements.
    pub dtype: PackedDType,
    /// Elements of each row.
    pub elements: usize,
}

impl Unpack {
    /// Rows of so many elements.
    pub const fn new(dtype: PackedDType, elements: usize) -> Self {
        Self { dtype, elements }
    }

    /// Checks that a row has the bytes of its elements.
    pub(super) fn check(self, bytes: usize) -> Result<()> {
        let needed = self.dtype.row_bytes(self.elements);
        if bytes == needed {
            return Ok(());
        }
        let Self { dtype, elements } = self;
        Err(Error::new(
            ErrorKind::ShapeMismatch,
            format!("a row of {elements} elements of {dtype} has {needed} bytes, not {bytes}"),
        ))
    }
}
