//! Element types: the run-time tag and the Rust types behind it.

use crate::{Error, ErrorKind, F8E4M3, Scalar};
use half::{bf16, f16};
use std::fmt;
use std::str::FromStr;

macro_rules! dtypes {
    ($(#[doc = $doc:literal] $variant:ident $ty:ident $name:literal)*) => {
        /// The element type of a tensor.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum DType { $(#[doc = $doc] $variant,)* }

        impl DType {
            /// Every dtype, in declaration order.
            pub const ALL: &[DType] = &[$(DType::$variant),*];

            /// The name, as kernels, reports and the command line spell it.
            pub const fn as_str(self) -> &'static str {
                match self { $(DType::$variant => $name,)* }
            }

            /// The position in [`ALL`](Self::ALL), for tables.
            pub const fn index(self) -> usize {
                self as usize
            }

            /// Bytes an element takes.
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

/// Runs an expression with a type name bound to the Rust type of a dtype: `dispatch_dtype!(dtype, T
/// => f::<T>())`.
#[macro_export]
macro_rules! dispatch_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::dispatch_dtype!(@arms $dtype, $T, $body, U8 u8, I8 i8, U32 u32, I16 i16, I32 i32, I64 i64,
            F8E4M3 F8E4M3, F16 f16, BF16 bf16, F32 f32, F64 f64)
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
    /// Unsigned bytes; also the type of booleans, which are 0 and 1.
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
}

mod private {
    pub trait Sealed {}
}

/// A Rust type that is the element of some dtype.
///
/// Sealed: the set of dtypes is closed, so that a driver can rely on it.
pub trait WithDType:
    private::Sealed + bytemuck::Pod + PartialOrd + fmt::Debug + fmt::Display + Default + Send + Sync + 'static
{
    /// The tag.
    const DTYPE: DType;
    /// The value with its tag.
    fn to_scalar(self) -> Scalar;
    /// The value, if the tag is this type's.
    fn from_scalar(scalar: Scalar) -> Option<Self>;
}

impl DType {
    /// True for u8, i8, u32, i16, i32, i64.
    pub const fn is_int(self) -> bool {
        !self.is_float()
    }

    /// True for f8e4m3, f16, bf16, f32, f64.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F8E4M3 | DType::F16 | DType::BF16 | DType::F32 | DType::F64)
    }

    /// True for the floats narrower than 32 bits, which compute in f32.
    pub const fn is_narrow_float(self) -> bool {
        matches!(self, DType::F8E4M3 | DType::F16 | DType::BF16)
    }

    /// The dtype arithmetic is done in: f32 for the narrow floats, else itself.
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
            Error::new(ErrorKind::InvalidArgument, format!("no dtype is named `{s}`; there are {}", names.join(", ")))
        })
    }
}
