//! Conversions between candle's types and Isobit's, each written once.

use super::isobit::{self, AnyDevice, AnyStorage, BackendDevice, BackendStorage, Dims, ErrorKind};
use crate::{CpuStorage, CpuStorageRef, DType, Error, Layout, Result};

impl From<isobit::Error> for Error {
    /// Wraps the error as it is: its kind can be read back by downcasting.
    fn from(e: isobit::Error) -> Self {
        Error::Cuda(Box::new(e)).bt()
    }
}

/// The dtypes that both have.
const DTYPES: [(DType, isobit::DType); 10] = [
    (DType::F32, isobit::DType::F32),
    (DType::F16, isobit::DType::F16),
    (DType::BF16, isobit::DType::BF16),
    (DType::U8, isobit::DType::U8),
    (DType::U32, isobit::DType::U32),
    (DType::I64, isobit::DType::I64),
    (DType::F64, isobit::DType::F64),
    (DType::I32, isobit::DType::I32),
    (DType::I16, isobit::DType::I16),
    (DType::F8E4M3, isobit::DType::F8E4M3),
];

fn lacking(whose: &str, dtype: &str) -> Error {
    let all: Vec<&str> = DTYPES.iter().map(|(dtype, _)| dtype.as_str()).collect();
    let message = format!("{whose} has no dtype {dtype}: convert to one of {}", all.join(", "));
    isobit::Error::new(ErrorKind::UnsupportedDtype, message).into()
}

pub(crate) fn to_isobit(dtype: DType) -> Result<isobit::DType> {
    let known = DTYPES.iter().find(|(candle, _)| *candle == dtype);
    known.map(|(_, isobit)| *isobit).ok_or_else(|| lacking("Isobit", dtype.as_str()))
}

pub(super) fn to_candle(dtype: isobit::DType) -> Result<DType> {
    let known = DTYPES.iter().find(|(_, isobit)| *isobit == dtype);
    known.map(|(candle, _)| *candle).ok_or_else(|| lacking("candle", dtype.as_str()))
}

pub(crate) fn layout(layout: &Layout) -> Result<isobit::Layout> {
    Ok(isobit::Layout::new(layout.dims(), Dims::from_slice(layout.stride()), layout.start_offset())?)
}

/// Copies data from the host.
pub(super) fn upload(device: &AnyDevice, data: CpuStorageRef<'_>) -> Result<AnyStorage> {
    use CpuStorageRef as C;
    Ok(match data {
        C::U8(data) => device.storage_from_slice(data)?,
        C::U32(data) => device.storage_from_slice(data)?,
        C::I16(data) => device.storage_from_slice(data)?,
        C::I32(data) => device.storage_from_slice(data)?,
        C::I64(data) => device.storage_from_slice(data)?,
        C::BF16(data) => device.storage_from_slice(data)?,
        C::F16(data) => device.storage_from_slice(data)?,
        C::F32(data) => device.storage_from_slice(data)?,
        C::F64(data) => device.storage_from_slice(data)?,
        C::F8E4M3(data) => {
            let bytes: Vec<u8> = data.iter().map(|value| value.to_bits()).collect();
            device.storage_from_bytes(isobit::DType::F8E4M3, &bytes)?
        }
        C::F6E2M3(_) => return Err(lacking("Isobit", DType::F6E2M3.as_str())),
        C::F6E3M2(_) => return Err(lacking("Isobit", DType::F6E3M2.as_str())),
        C::F4(_) => return Err(lacking("Isobit", DType::F4.as_str())),
        C::F8E8M0(_) => return Err(lacking("Isobit", DType::F8E8M0.as_str())),
    })
}

pub(crate) fn borrowed(storage: &CpuStorage) -> CpuStorageRef<'_> {
    use {CpuStorage as C, CpuStorageRef as R};
    match storage {
        C::U8(data) => R::U8(data),
        C::U32(data) => R::U32(data),
        C::I16(data) => R::I16(data),
        C::I32(data) => R::I32(data),
        C::I64(data) => R::I64(data),
        C::BF16(data) => R::BF16(data),
        C::F16(data) => R::F16(data),
        C::F32(data) => R::F32(data),
        C::F64(data) => R::F64(data),
        C::F8E4M3(data) => R::F8E4M3(data),
        C::F6E2M3(data) => R::F6E2M3(data),
        C::F6E3M2(data) => R::F6E3M2(data),
        C::F4(data) => R::F4(data),
        C::F8E8M0(data) => R::F8E8M0(data),
    }
}

fn read<T: isobit::WithDType + Default>(storage: &AnyStorage) -> Result<Vec<T>> {
    let mut data = vec![T::default(); storage.len()];
    storage.read_slice(0, &mut data)?;
    Ok(data)
}

/// Copies a whole storage to the host.
pub(super) fn download(storage: &AnyStorage) -> Result<CpuStorage> {
    use isobit::DType as D;
    Ok(match storage.dtype() {
        D::U8 => CpuStorage::U8(read(storage)?),
        D::U32 => CpuStorage::U32(read(storage)?),
        D::I16 => CpuStorage::I16(read(storage)?),
        D::I32 => CpuStorage::I32(read(storage)?),
        D::I64 => CpuStorage::I64(read(storage)?),
        D::BF16 => CpuStorage::BF16(read(storage)?),
        D::F16 => CpuStorage::F16(read(storage)?),
        D::F32 => CpuStorage::F32(read(storage)?),
        D::F64 => CpuStorage::F64(read(storage)?),
        D::F8E4M3 => {
            let data = read::<isobit::F8E4M3>(storage)?;
            CpuStorage::F8E4M3(data.iter().map(|value| float8::F8E4M3::from_bits(value.to_bits())).collect())
        }
        other => return Err(lacking("candle", other.as_str())),
    })
}

pub(super) fn scalar(value: crate::scalar::Scalar) -> isobit::Scalar {
    use crate::scalar::Scalar as S;
    match value {
        S::U8(v) => v.into(),
        S::U32(v) => v.into(),
        S::I16(v) => v.into(),
        S::I32(v) => v.into(),
        S::I64(v) => v.into(),
        S::BF16(v) => v.into(),
        S::F16(v) => v.into(),
        S::F32(v) => v.into(),
        S::F64(v) => v.into(),
        S::F8E4M3(v) => isobit::F8E4M3::from_bits(v.to_bits()).into(),
    }
}
