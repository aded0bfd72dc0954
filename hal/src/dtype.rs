//! Element types: the run-time tag and the corresponding Rust types.

use crate::{Error, ErrorKind, F8E4M3, F8E5M2, Scalar};
use half::{bf16, f16};
use std::fmt;
use std::str::FromStr;

macro_rules! dtypes {
    ($($(#[doc = $doc:literal])+ $variant:ident $ty:ident $name:literal)*) => {
        /// The element type of a tensor.
        ///
        /// ```rust
        /// use isobit_hal::{DType, WithDType, bf16};
        ///
        /// assert_eq!(bf16::DTYPE, DType::BF16);
        /// assert_eq!((DType::BF16.size_in_bytes(), DType::BF16.compute()), (2, DType::F32));
        /// assert_eq!("f8e4m3".parse::<DType>()?, DType::F8E4M3);
        /// # Ok::<(), isobit_hal::Error>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum DType { $($(#[doc = $doc])+ $variant,)* }

        impl DType {
            /// Every dtype, in declaration order.
            pub const ALL: &[DType] = &[$(DType::$variant),*];

            /// Returns the name that kernels, reports and the command line use.
            pub const fn as_str(self) -> &'static str {
                match self { $(DType::$variant => $name,)* }
            }

            /// Returns the position in [`ALL`](Self::ALL), to index tables.
            pub const fn index(self) -> usize {
                self as usize
            }

            /// Returns the size of an element in bytes.
            pub const fn size_in_bytes(self) -> usize {
                match self { $(DType::$variant => size_of::<$ty>(),)* }
            }
        }

        $(impl private::Sealed for $ty {}
        impl WithDType for $ty {
            const DTYPE: DType = DType::$variant;

            fn to_scalar(self) -> Scalar {
                Scalar::$variant(self)
            }

            fn from_scalar(scalar: Scalar) -> Option<Self> {
                match scalar { Scalar::$variant(v) => Some(v), _ => None }
            }
        })*
    };
}

/// Evaluates an expression with a type name bound to the Rust type of a dtype.
///
/// ```rust
/// use isobit_hal::{DType, dispatch_dtype};
///
/// let size = dispatch_dtype!(DType::I16, T => size_of::<T>());
/// assert_eq!(size, 2);
/// ```
#[macro_export]
macro_rules! dispatch_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::dispatch_dtype!(@arms $dtype, $T, $body, U8 u8, I8 i8, U32 u32, I16 i16, I32 i32, I64 i64,
            F8E4M3 F8E4M3, F16 f16, BF16 bf16, F32 f32, F64 f64, U16 u16, U64 u64, F8E5M2 F8E5M2)
    };
    (@arms $dtype:expr, $T:ident, $body:expr, $($variant:ident $ty:ident),*) => {
        match $dtype {
            $($crate::DType::$variant => {
                type $T = $crate::__dtype_types::$ty;
                $body
            })*
            #[allow(unreachable_patterns)]
            _ => unreachable!("the macro lists every dtype of the crate that defines it"),
        }
    };
}

dtypes! {
    /// Unsigned bytes; also the type of masks, which are 0 and 1. Arithmetic on a mask is that of
    /// bytes: a sum of more than 255 wraps (cast first), and `1 - x` as an affine function gives 1
    /// everywhere, because the factor -1 saturates to 0.
    /// [`Predicate::LogicalNot`](crate::Predicate) negates, and [`CmpOp`](crate::CmpOp) has and, or
    /// and xor.
    U8 u8 "u8"
    /// Signed bytes.
    I8 i8 "i8"
    /// Unsigned 32-bit integers.
    U32 u32 "u32"
    /// Signed 16-bit integers.
    I16 i16 "i16"
    /// Signed 32-bit integers.
    I32 i32 "i32"
    /// Signed 64-bit integers.
    I64 i64 "i64"
    /// The 8-bit float of the OCP specification, e4m3fn: no infinities, largest value 448.
    F8E4M3 F8E4M3 "f8e4m3"
    /// IEEE 754 binary16.
    F16 f16 "f16"
    /// bfloat16: the upper half of a binary32.
    BF16 bf16 "bf16"
    /// IEEE 754 binary32.
    F32 f32 "f32"
    /// IEEE 754 binary64.
    F64 f64 "f64"
    /// Unsigned 16-bit integers; see [`is_elementwise`](Self::is_elementwise).
    U16 u16 "u16"
    /// Unsigned 64-bit integers; see [`is_elementwise`](Self::is_elementwise).
    U64 u64 "u64"
    /// The 8-bit float of the OCP specification, e5m2: the upper half of a binary16. See
    /// [`is_elementwise`](Self::is_elementwise).
    F8E5M2 F8E5M2 "f8e5m2"
}

mod private {
    pub trait Sealed {}
}

/// A Rust type that is the element type of a dtype.
///
/// Sealed: the set of dtypes is closed, so a driver can rely on it.
///
/// ```rust
/// use isobit_hal::{DType, Scalar, WithDType};
///
/// assert_eq!((f32::DTYPE, 1.5f32.to_scalar()), (DType::F32, Scalar::F32(1.5)));
/// assert_eq!(f32::from_scalar(Scalar::F64(1.5)), None);
/// ```
pub trait WithDType:
    private::Sealed + bytemuck::Pod + PartialOrd + fmt::Debug + fmt::Display + Default + Send + Sync + 'static
{
    /// The dtype of this type.
    const DTYPE: DType;
    /// Returns the value as a [`Scalar`].
    fn to_scalar(self) -> Scalar;
    /// Returns the value of a [`Scalar`] of this dtype, and `None` for other dtypes.
    fn from_scalar(scalar: Scalar) -> Option<Self>;
}

impl DType {
    /// Whether the dtype is an integer: u8, i8, u16, i16, u32, i32, u64 or i64.
    pub const fn is_int(self) -> bool {
        !self.is_float()
    }

    /// Whether the dtype is an integer without a sign: u8, u16, u32 or u64.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, DType::U8 | DType::U16 | DType::U32 | DType::U64)
    }

    /// Whether the dtype is f8e4m3, f8e5m2, f16, bf16, f32 or f64.
    pub const fn is_float(self) -> bool {
        self.is_narrow_float() || matches!(self, DType::F32 | DType::F64)
    }

    /// Whether the dtype is one of the floats of 8 bits, f8e4m3 and f8e5m2: those for which a
    /// [`Cast`](crate::Cast) chooses what happens beyond the largest number.
    pub const fn is_f8(self) -> bool {
        matches!(self, DType::F8E4M3 | DType::F8E5M2)
    }

    /// Whether the dtype is a float narrower than 32 bits; these compute in f32.
    pub const fn is_narrow_float(self) -> bool {
        matches!(self, DType::F8E4M3 | DType::F8E5M2 | DType::F16 | DType::BF16)
    }

    /// Returns the dtype in which arithmetic is done: f32 for narrow floats, otherwise the dtype
    /// itself.
    pub const fn compute(self) -> DType {
        if self.is_narrow_float() { DType::F32 } else { self }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for DType {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self, Error> {
        DType::ALL.iter().copied().find(|d| d.as_str() == s).ok_or_else(|| {
            let names: Vec<_> = DType::ALL.iter().map(|d| d.as_str()).collect();
            Error::new(ErrorKind::InvalidArgument, format!("unknown dtype `{s}`: use one of {}", names.join(", ")))
        })
    }
}
