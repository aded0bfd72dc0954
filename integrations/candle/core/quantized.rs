//! candle's `QCudaStorage` on Isobit: tensors in the formats of GGUF, as the blocks of the file.

use super::{GgmlDType, QStorage};
use crate::backend::BackendStorage as _;
use crate::cuda::glue::{self, QFormat};
use crate::cuda::{convert, isobit};
use crate::{CpuStorage, CudaDevice, CudaStorage, Layout, Result, Shape};

/// A tensor in a format of GGUF on a device of Isobit.
pub struct QCudaStorage {
    blocks: glue::QStorage,
    dtype: GgmlDType,
    device: CudaDevice,
}

/// Returns Isobit's name of a format.
fn format(dtype: GgmlDType) -> QFormat {
    use isobit::GgmlDType as G;
    match dtype {
        GgmlDType::F32 => QFormat::Float(isobit::DType::F32),
        GgmlDType::F16 => QFormat::Float(isobit::DType::F16),
        GgmlDType::BF16 => QFormat::Float(isobit::DType::BF16),
        GgmlDType::Q4_0 => QFormat::Blocks(G::Q4_0),
        GgmlDType::Q4_1 => QFormat::Blocks(G::Q4_1),
        GgmlDType::Q5_0 => QFormat::Blocks(G::Q5_0),
        GgmlDType::Q5_1 => QFormat::Blocks(G::Q5_1),
        GgmlDType::Q8_0 => QFormat::Blocks(G::Q8_0),
        GgmlDType::Q8_1 => QFormat::Blocks(G::Q8_1),
        GgmlDType::Q2K => QFormat::Blocks(G::Q2K),
        GgmlDType::Q3K => QFormat::Blocks(G::Q3K),
        GgmlDType::Q4K => QFormat::Blocks(G::Q4K),
        GgmlDType::Q5K => QFormat::Blocks(G::Q5K),
        GgmlDType::Q6K => QFormat::Blocks(G::Q6K),
        GgmlDType::Q8K => QFormat::Blocks(G::Q8K),
    }
}

impl QCudaStorage {
    fn from_bytes(device: &CudaDevice, bytes: &[u8], dtype: GgmlDType) -> Result<Self> {
        let blocks = device.run(|| glue::QStorage::from_bytes(device.isobit(), format(dtype), bytes))?;
        Ok(Self { blocks, dtype, device: device.clone() })
    }

    pub fn zeros(device: &CudaDevice, elem_count: usize, dtype: GgmlDType) -> Result<Self> {
        let blocks = device.run(|| glue::QStorage::zeros(device.isobit(), format(dtype), elem_count))?;
        Ok(Self { blocks, dtype, device: device.clone() })
    }

    pub fn dtype(&self) -> GgmlDType {
        self.dtype
    }

    pub fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// Returns the storage of the blocks.
    pub fn isobit(&self) -> &isobit::AnyStorage {
        self.blocks.storage()
    }

    /// Runs what makes a storage on the stream of this storage's device.
    fn make(&self, f: impl FnOnce() -> isobit::Result<isobit::AnyStorage>) -> Result<CudaStorage> {
        CudaStorage::new(self.device.run(f)?, &self.device)
    }

    pub fn dequantize(&self, elem_count: usize) -> Result<CudaStorage> {
        self.make(|| self.blocks.dequantize(elem_count, isobit::DType::F32))
    }

    pub fn dequantize_f16(&self, elem_count: usize) -> Result<CudaStorage> {
        self.make(|| self.blocks.dequantize(elem_count, isobit::DType::F16))
    }

    pub fn quantize(&mut self, src: &CudaStorage) -> Result<()> {
        self.quantize_onto(&src.to_cpu_storage()?)
    }

    pub fn quantize_imatrix(&mut self, src: &CudaStorage, weights: &[f32], n_per_row: usize) -> Result<()> {
        self.quantize_imatrix_onto(&src.to_cpu_storage()?, weights, n_per_row)
    }

    pub fn quantize_onto(&mut self, src: &CpuStorage) -> Result<()> {
        self.quantize_on_host(src, |blocks, values| blocks.from_float(values))
    }

    pub fn quantize_imatrix_onto(&mut self, src: &CpuStorage, weights: &[f32], n_per_row: usize) -> Result<()> {
        self.quantize_on_host(src, |blocks, values| blocks.from_float_imatrix(values, weights, n_per_row))
    }

    /// Quantizes by candle's own quantizer, which runs on the host, so that a file that is
    /// quantized on any device has the same bytes.
    fn quantize_on_host(
        &mut self,
        src: &CpuStorage,
        quantize: impl FnOnce(&mut dyn super::QuantizedType, &[f32]),
    ) -> Result<()> {
        let values = src.as_slice::<f32>()?;
        let mut blocks = self.dtype.cpu_zeros(values.len());
        quantize(&mut *blocks, values);
        let bytes = QStorage::Cpu(blocks);
        *self = Self::from_bytes(&self.device, &bytes.data()?, self.dtype)?;
        Ok(())
    }

    pub fn device_ptr(&self) -> Result<*const u8> {
        use isobit::BackendStorage as _;
        Ok(self.blocks.storage().device_ptr()? as *const u8)
    }

    pub fn storage_size_in_bytes(&self) -> usize {
        self.blocks.size_in_bytes()
    }

    pub fn data(&self) -> Result<Vec<u8>> {
        Ok(self.blocks.to_bytes()?)
    }

    pub fn embedding(&self, rows: usize, hidden: usize, ids: &CudaStorage, ids_l: &Layout) -> Result<CudaStorage> {
        let layout = convert::layout(ids_l)?;
        self.make(|| self.blocks.embedding(rows, hidden, ids.isobit(), &layout))
    }

    /// Multiplies activations by the transpose of this matrix, `[n, k]`.
    pub fn fwd(&self, shape: &Shape, x: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        let mut dims = layout.dims().to_vec();
        let matrix = shape.dims2()?;
        if dims.len() < 2 || dims.last() != Some(&matrix.1) {
            crate::bail!("activations of shape {:?} do not fit a quantized matrix of shape {shape:?}", layout.shape())
        }
        if let Some(last) = dims.last_mut() {
            *last = matrix.0;
        }
        let layout = convert::layout(layout)?;
        Ok((self.make(|| self.blocks.matmul_t(matrix, x.isobit(), &layout))?, dims.into()))
    }

    /// Multiplies each row of activations by the transpose of one of these matrices, `[experts, n,
    /// k]`, which `ids` selects.
    pub fn indexed_moe_forward(
        &self,
        shape: &Shape,
        x: &CudaStorage,
        layout: &Layout,
        ids: &CudaStorage,
        ids_layout: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        let experts = shape.dims3()?;
        let (tokens, top) = ids_layout.shape().dims2()?;
        let (layout, ids_layout) = (convert::layout(layout)?, convert::layout(ids_layout)?);
        let (x, ids) = ((x.isobit(), &layout), (ids.isobit(), &ids_layout));
        Ok((self.make(|| self.blocks.matmul_id(experts, x, ids))?, (tokens, top, experts.1).into()))
    }
}

/// Copies blocks to a device.
pub fn load_quantized<T: super::GgmlType + Send + Sync + 'static>(device: &CudaDevice, data: &[T]) -> Result<QStorage> {
    // SAFETY: the blocks of every format are plain bytes without padding, and the slice spans them.
    let bytes = unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), std::mem::size_of_val(data)) };
    Ok(QStorage::Cuda(QCudaStorage::from_bytes(device, bytes, T::DTYPE)?))
}
