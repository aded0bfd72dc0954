//! The storage of an external driver: bytes in the device's own memory, with operations carried out
//! beside it.

use super::device::TinyDevice;
use isobit_hal::{BackendStorage, CpuStorage, DType, Error, ErrorKind, Layout, Op, Result, Src, validate};

/// A buffer in the device's memory.
#[derive(Debug)]
pub struct TinyStorage {
    device: TinyDevice,
    dtype: DType,
    bytes: Vec<u8>,
}

impl TinyStorage {
    pub fn new(device: &TinyDevice, dtype: DType, len: usize) -> Result<Self> {
        let size = len.saturating_mul(dtype.size_in_bytes());
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|e| {
            let message = format!("tiny cannot allocate {size} bytes for {len} elements of {dtype}");
            Error::new(ErrorKind::OutOfMemory, message).with_source(e)
        })?;
        bytes.resize(size, 0);
        Ok(Self { device: device.clone(), dtype, bytes })
    }

    pub fn upload(&mut self, bytes: &[u8]) {
        self.bytes.copy_from_slice(bytes);
    }
}

impl BackendStorage for TinyStorage {
    type Device = TinyDevice;

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size_in_bytes()
    }

    fn device(&self) -> &TinyDevice {
        &self.device
    }

    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        CpuStorage::from_bytes(self.dtype, &self.bytes)
    }

    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        validate::call(op, inputs, dst, dst_layout)?;
        let fetch = |src: &Src<'_, Self>| src.storage().map(|(storage, _)| storage.to_cpu_storage()).transpose();
        let fetched = inputs.iter().map(fetch).collect::<Result<Vec<_>>>()?;
        let pairs = inputs.iter().zip(&fetched);
        let operands: Vec<Src<'_, CpuStorage>> = pairs
            .map(|(src, host)| match (src.storage(), host, src) {
                (Some((_, layout)), Some(host), _) => Src::Storage(host, layout),
                (_, _, &Src::Scalar(value)) => Src::Scalar(value),
                _ => Src::InPlace,
            })
            .collect();
        let mut result = dst.to_cpu_storage()?;
        let outcome = CpuStorage::apply_into(op, &operands, &mut result, dst_layout);
        // Even if an index was out of range: all other elements are correct.
        dst.upload(result.as_bytes());
        outcome
    }
}
