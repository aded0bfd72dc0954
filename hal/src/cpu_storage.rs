//! Host memory: one typed vector per dtype. Drivers exchange data with the host in this form, and
//! the CPU driver computes on it.

use crate::{BackendStorage, DType, DynStorage, Error, ErrorKind, F8E4M3, F8E5M2, Result, WithDType, validate};
use half::{bf16, f16};
use std::any::Any;
use std::ops::Range;

/// A buffer in host memory.
///
/// ```rust
/// use isobit_hal::{CpuStorage, DType};
///
/// let storage = CpuStorage::from(vec![1.0f32, 2.0]);
/// assert_eq!((storage.dtype(), storage.as_bytes().len()), (DType::F32, 8));
/// assert_eq!(storage.as_slice::<f32>(), Some(&[1.0, 2.0][..]));
/// assert_eq!(storage.as_slice::<i32>(), None);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum CpuStorage {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U32(Vec<u32>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F8E4M3(Vec<F8E4M3>),
    F16(Vec<f16>),
    BF16(Vec<bf16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    U16(Vec<u16>),
    U64(Vec<u64>),
    F8E5M2(Vec<F8E5M2>),
}

/// Evaluates an expression with a name bound to the vector inside.
macro_rules! with_vec {
    ($storage:expr, $v:ident => $body:expr) => {
        match $storage {
            CpuStorage::U8($v) => $body,
            CpuStorage::I8($v) => $body,
            CpuStorage::U32($v) => $body,
            CpuStorage::I16($v) => $body,
            CpuStorage::I32($v) => $body,
            CpuStorage::I64($v) => $body,
            CpuStorage::F8E4M3($v) => $body,
            CpuStorage::F16($v) => $body,
            CpuStorage::BF16($v) => $body,
            CpuStorage::F32($v) => $body,
            CpuStorage::F64($v) => $body,
            CpuStorage::U16($v) => $body,
            CpuStorage::U64($v) => $body,
            CpuStorage::F8E5M2($v) => $body,
        }
    };
}

macro_rules! from_vec {
    ($($variant:ident $ty:ty)*) => {$(
        impl From<Vec<$ty>> for CpuStorage {
            fn from(v: Vec<$ty>) -> Self {
                CpuStorage::$variant(v)
            }
        }
    )*};
}
from_vec! {
    U8 u8 I8 i8 U32 u32 I16 i16 I32 i32 I64 i64 F8E4M3 F8E4M3 F16 f16 BF16 bf16 F32 f32 F64 f64
    U16 u16 U64 u64 F8E5M2 F8E5M2
}

fn vec_of<T: WithDType>(len: usize) -> Result<Vec<T>> {
    let mut v = Vec::new();
    v.try_reserve_exact(len).map_err(|e| {
        Error::new(
            ErrorKind::OutOfMemory,
            format!("cannot allocate host memory for {len} elements of {} ({} bytes each)", T::DTYPE, size_of::<T>()),
        )
        .with_source(e)
    })?;
    v.resize(len, T::default());
    Ok(v)
}

impl CpuStorage {
    /// Allocates a buffer of zeros.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn zeros(len: usize, dtype: DType) -> Result<Self> {
        dispatch_dtype!(dtype, T => vec_of::<T>(len).map(Self::from))
    }

    /// Creates a buffer with a copy of raw bytes.
    ///
    /// # Errors
    /// `InvalidArgument` if the length is not a multiple of the dtype's size; `OutOfMemory`.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Result<Self> {
        let size = dtype.size_in_bytes();
        if !bytes.len().is_multiple_of(size) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("{} bytes are not a whole number of {dtype} elements of {size} bytes", bytes.len()),
            ));
        }
        let mut storage = Self::zeros(bytes.len() / size, dtype)?;
        storage.as_bytes_mut().copy_from_slice(bytes);
        Ok(storage)
    }

    /// Returns the dtype of the elements.
    pub fn dtype(&self) -> DType {
        fn of<T: WithDType>(_: &[T]) -> DType {
            T::DTYPE
        }
        with_vec!(self, v => of(v))
    }

    /// Returns the elements as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        with_vec!(self, v => bytemuck::cast_slice(v))
    }

    /// Returns the elements as bytes for writing.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        with_vec!(self, v => bytemuck::cast_slice_mut(v))
    }

    /// Returns the elements, or `None` if `T` is not their type.
    pub fn as_slice<T: WithDType>(&self) -> Option<&[T]> {
        (T::DTYPE == self.dtype()).then(|| with_vec!(self, v => bytemuck::cast_slice(v)))
    }

    /// Returns the elements for writing, or `None` if `T` is not their type.
    pub fn as_mut_slice<T: WithDType>(&mut self) -> Option<&mut [T]> {
        (T::DTYPE == self.dtype()).then(|| with_vec!(self, v => bytemuck::cast_slice_mut(v)))
    }
}

/// Copies a range of a storage's elements through host memory to an offset of another storage, of
/// any driver. If one of the two is the host's storage, this takes a single copy. Synchronises.
///
/// # Errors
/// `UnsupportedDtype` if the dtypes differ, `InvalidArgument` if the elements exceed a storage; the
/// errors of the drivers.
pub(crate) fn through_host<S: BackendStorage, D: BackendStorage>(
    src: &S,
    range: Range<usize>,
    dst: &mut D,
    offset: usize,
) -> Result<()> {
    validate::transfer_range(src, &range, dst, offset)?;
    let [from, to, len] = [range.start, offset, range.len()].map(|n| n * src.dtype().size_in_bytes());
    if let Some(host) = host_mut(dst) {
        return src.read_bytes(from, &mut host.as_bytes_mut()[to..][..len]);
    }
    if let Some(host) = (src as &dyn Any).downcast_ref::<CpuStorage>() {
        return dst.write_bytes(to, &host.as_bytes()[from..][..len]);
    }
    let mut bytes = vec![0; len];
    src.read_bytes(from, &mut bytes)?;
    dst.write_bytes(to, &bytes)
}

/// Returns the host's storage, also if it is inside a [`DynStorage`].
fn host_mut(storage: &mut dyn Any) -> Option<&mut CpuStorage> {
    if storage.is::<DynStorage>() {
        return storage.downcast_mut::<DynStorage>()?.host_mut();
    }
    storage.downcast_mut()
}
