//! A single value with its dtype, which a fill writes.

use crate::f8::round_to_odd;
use crate::{DType, F8E4M3, F8E5M2, WithDType};
use half::{bf16, f16};

/// A single value of any dtype.
///
/// ```rust
/// use isobit_hal::{DType, Scalar};
///
/// assert_eq!(Scalar::from(2.5f32), Scalar::F32(2.5));
/// assert_eq!(Scalar::from_f64(DType::U8, 300.7), Scalar::U8(255));
/// assert_eq!(Scalar::zero(DType::I64).to_bits(), 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Scalar {
    U8(u8),
    I8(i8),
    U32(u32),
    I16(i16),
    I32(i32),
    I64(i64),
    F8E4M3(F8E4M3),
    F16(f16),
    BF16(bf16),
    F32(f32),
    F64(f64),
    U16(u16),
    U64(u64),
    F8E5M2(F8E5M2),
}

impl<T: WithDType> From<T> for Scalar {
    fn from(value: T) -> Self {
        value.to_scalar()
    }
}

impl Scalar {
    /// Returns the dtype of the value.
    pub fn dtype(self) -> DType {
        match self {
            Scalar::U8(_) => DType::U8,
            Scalar::I8(_) => DType::I8,
            Scalar::U32(_) => DType::U32,
            Scalar::I16(_) => DType::I16,
            Scalar::I32(_) => DType::I32,
            Scalar::I64(_) => DType::I64,
            Scalar::F8E4M3(_) => DType::F8E4M3,
            Scalar::F16(_) => DType::F16,
            Scalar::BF16(_) => DType::BF16,
            Scalar::F32(_) => DType::F32,
            Scalar::F64(_) => DType::F64,
            Scalar::U16(_) => DType::U16,
            Scalar::U64(_) => DType::U64,
            Scalar::F8E5M2(_) => DType::F8E5M2,
        }
    }

    /// Returns the zero of a dtype, whose bits are all 0.
    pub fn zero(dtype: DType) -> Self {
        dispatch_dtype!(dtype, T => T::default().to_scalar())
    }

    /// Casts an f64 to a dtype: floats round once to nearest even; integers truncate and saturate,
    /// and NaN gives 0.
    pub fn from_f64(dtype: DType, value: f64) -> Self {
        match dtype {
            DType::U8 => Scalar::U8(value as u8),
            DType::I8 => Scalar::I8(value as i8),
            DType::U32 => Scalar::U32(value as u32),
            DType::I16 => Scalar::I16(value as i16),
            DType::I32 => Scalar::I32(value as i32),
            DType::I64 => Scalar::I64(value as i64),
            DType::F8E4M3 => Scalar::F8E4M3(F8E4M3::from_f64(value)),
            DType::F16 => Scalar::F16(f16::from_f32(round_to_odd(value))),
            DType::BF16 => Scalar::BF16(bf16::from_f32(round_to_odd(value))),
            DType::F32 => Scalar::F32(value as f32),
            DType::F64 => Scalar::F64(value),
            DType::U16 => Scalar::U16(value as u16),
            DType::U64 => Scalar::U64(value as u64),
            DType::F8E5M2 => Scalar::F8E5M2(F8E5M2::from_f64(value)),
        }
    }

    /// Casts an i64 to a dtype as [`Op::Cast`](crate::Op::Cast) does: floats round once to nearest
    /// even; integers keep the low bits.
    ///
    /// ```rust
    /// use isobit_hal::{DType, Scalar};
    ///
    /// assert_eq!(Scalar::from_i64(DType::I64, i64::MAX), Scalar::I64(i64::MAX));
    /// assert_eq!(Scalar::from_i64(DType::U8, -1), Scalar::U8(255));
    /// ```
    pub fn from_i64(dtype: DType, value: i64) -> Self {
        match dtype {
            DType::I64 => Scalar::I64(value),
            _ if dtype.is_int() => Self::from_bits(dtype, value as u64),
            DType::F32 => Scalar::F32(value as f32),
            DType::F64 => Scalar::F64(value as f64),
            // Rounded to odd in f64 first, so that only the second rounding counts.
            _ => Self::from_f64(dtype, odd_f64(value.unsigned_abs()).copysign(value as f64)),
        }
    }

    /// Casts a u64 to a dtype as [`from_i64`](Self::from_i64) does an i64.
    ///
    /// ```rust
    /// use isobit_hal::{DType, Scalar};
    ///
    /// assert_eq!(Scalar::from_u64(DType::F32, u64::MAX), Scalar::F32(18446744073709551616.0));
    /// ```
    pub fn from_u64(dtype: DType, value: u64) -> Self {
        match dtype {
            _ if dtype.is_int() => Self::from_bits(dtype, value),
            DType::F32 => Scalar::F32(value as f32),
            DType::F64 => Scalar::F64(value as f64),
            _ => Self::from_f64(dtype, odd_f64(value)),
        }
    }

    /// Returns the value of a dtype whose bits are the low ones of `bits`: the reverse of
    /// [`to_bits`](Self::to_bits).
    ///
    /// ```rust
    /// use isobit_hal::{DType, Scalar};
    ///
    /// assert_eq!(Scalar::from_bits(DType::F32, 0x3f80_0000), Scalar::F32(1.0));
    /// ```
    pub fn from_bits(dtype: DType, bits: u64) -> Self {
        dispatch_dtype!(dtype, T => {
            let mut value = T::default();
            let bytes = bytemuck::bytes_of_mut(&mut value);
            let size = bytes.len();
            bytes.copy_from_slice(&bits.to_le_bytes()[..size]);
            if cfg!(target_endian = "big") {
                bytes.reverse();
            }
            value.to_scalar()
        })
    }

    /// Returns the bits of the value, zero-extended to 64 bits.
    pub fn to_bits(self) -> u64 {
        match self {
            Scalar::U8(v) => v.into(),
            Scalar::I8(v) => (v as u8).into(),
            Scalar::U32(v) => v.into(),
            Scalar::I16(v) => (v as u16).into(),
            Scalar::I32(v) => (v as u32).into(),
            Scalar::I64(v) => v as u64,
            Scalar::F8E4M3(v) => v.to_bits().into(),
            Scalar::F16(v) => v.to_bits().into(),
            Scalar::BF16(v) => v.to_bits().into(),
            Scalar::F32(v) => v.to_bits().into(),
            Scalar::F64(v) => v.to_bits(),
            Scalar::U16(v) => v.into(),
            Scalar::U64(v) => v,
            Scalar::F8E5M2(v) => v.to_bits().into(),
        }
    }
}

/// Returns a count as an f64, cut off after 53 bits with the last bit set if bits were lost: it
/// rounds to a narrower float as the count would.
fn odd_f64(n: u64) -> f64 {
    let lost = (64 - n.leading_zeros()).saturating_sub(f64::MANTISSA_DIGITS);
    let kept = n >> lost;
    let sticky = u64::from(kept << lost != n);
    ((kept | sticky) << lost) as f64
}
