//! Tensors in the formats of a GGUF file. Quantized formats are stored as the blocks of the file,
//! as bytes; floats as a storage of their dtype.

use isobit::{
    AnyDevice, AnyStorage, BackendDevice, BackendStorage, DType, Error, ErrorKind, GgmlDType, Layout, QActivations,
    QMatmul, Result,
};
use std::sync::OnceLock;

/// Says how products treat the activations.
const ACTIVATIONS: &str = "ISOBIT_CANDLE_QMATMUL";

/// The format of a tensor of a GGUF file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QFormat {
    /// Blocks of quantized values.
    Blocks(GgmlDType),
    /// Floats that are stored as they are: f32, f16 or bf16.
    Float(DType),
}

impl QFormat {
    fn dtype(self) -> DType {
        match self {
            QFormat::Blocks(_) => DType::U8,
            QFormat::Float(dtype) => dtype,
        }
    }

    /// Returns the number of stored elements (bytes of blocks, or floats) of `elements` values.
    fn stored(self, elements: usize) -> Result<usize> {
        match self {
            QFormat::Blocks(format) => format.row_bytes(elements),
            QFormat::Float(_) => Ok(elements),
        }
    }
}

/// A tensor in the format of a GGUF file, on a device.
#[derive(Debug)]
pub struct QStorage {
    storage: AnyStorage,
    format: QFormat,
}

fn activations() -> Result<QActivations> {
    static ASKED: OnceLock<std::result::Result<QActivations, String>> = OnceLock::new();
    let asked = ASKED.get_or_init(|| match std::env::var(ACTIVATIONS).as_deref() {
        Err(_) | Ok("" | "q8_1") => Ok(QActivations::Q8_1),
        Ok("float") => Ok(QActivations::Float),
        Ok(other) => Err(format!("{ACTIVATIONS} is `{other}`: use `q8_1` or `float`")),
    });
    asked.clone().map_err(|message| Error::new(ErrorKind::InvalidArgument, message))
}

fn mismatch(message: String) -> Error {
    Error::new(ErrorKind::ShapeMismatch, message)
}

impl QStorage {
    /// Copies the bytes of a file to a device.
    ///
    /// # Errors
    /// `InvalidArgument` if the bytes are not whole elements; `OutOfMemory`; the driver's errors.
    pub fn from_bytes(device: &AnyDevice, format: QFormat, bytes: &[u8]) -> Result<Self> {
        Ok(Self { storage: device.storage_from_bytes(format.dtype(), bytes)?, format })
    }

    /// Allocates `elements` values whose bytes are 0.
    ///
    /// # Errors
    /// `InvalidArgument` if `elements` is not a multiple of the block size; `OutOfMemory`.
    pub fn zeros(device: &AnyDevice, format: QFormat, elements: usize) -> Result<Self> {
        Ok(Self { storage: device.zeros(&format.stored(elements)?.into(), format.dtype())?, format })
    }

    /// Returns the storage of the blocks or floats.
    pub fn storage(&self) -> &AnyStorage {
        &self.storage
    }

    /// Returns the size in bytes.
    pub fn size_in_bytes(&self) -> usize {
        self.storage.len() * self.storage.dtype().size_in_bytes()
    }

    /// Returns the bytes as a file has them. Synchronises.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.size_in_bytes()];
        self.storage.read_bytes(0, &mut bytes)?;
        Ok(bytes)
    }

    /// Converts all values to a float dtype.
    ///
    /// # Errors
    /// `ShapeMismatch` if there are not `elements` values; otherwise as
    /// [`BackendStorage::dequantize`].
    pub fn dequantize(&self, elements: usize, dtype: DType) -> Result<AnyStorage> {
        if self.format.stored(elements)? != self.storage.len() {
            return Err(mismatch(format!(
                "{} stored elements are not a tensor of {elements} values in {:?}",
                self.storage.len(),
                self.format
            )));
        }
        let all = Layout::contiguous(self.storage.len());
        match self.format {
            QFormat::Blocks(format) => self.storage.dequantize(&all, format, dtype),
            QFormat::Float(_) => self.storage.to_dtype(&all, dtype),
        }
    }

    /// Returns the rows with the given ids (u32) of a matrix `[rows, hidden]` as f32.
    ///
    /// # Errors
    /// As [`BackendStorage::index_select`] and [`dequantize`](Self::dequantize).
    pub fn embedding(&self, rows: usize, hidden: usize, ids: &AnyStorage, ids_layout: &Layout) -> Result<AnyStorage> {
        let row = self.format.stored(hidden)?;
        let matrix = Layout::contiguous((rows, row));
        let format = self.format;
        let picked = Self { storage: self.storage.index_select(&matrix, ids, ids_layout, 0)?, format };
        picked.dequantize(ids_layout.elem_count() * hidden, DType::F32)
    }

    /// Multiplies activations `[.., m, k]` by the transpose of this matrix `[n, k]`; returns
    /// `[.., m, n]` in the dtype of the activations.
    ///
    /// # Errors
    /// As [`BackendStorage::qmatmul`] and [`BackendStorage::matmul`].
    pub fn matmul_t(&self, (n, k): (usize, usize), x: &AnyStorage, layout: &Layout) -> Result<AnyStorage> {
        match self.format {
            QFormat::Blocks(format) => {
                let weight = Layout::contiguous((n, format.row_bytes(k)?));
                x.qmatmul(layout, &self.storage, &weight, QMatmul::new(format).with_activations(activations()?))
            }
            QFormat::Float(_) => {
                let weight = self.dequantize(n * k, x.dtype())?;
                let dims = layout.dims();
                let turned = Layout::contiguous((n, k)).transpose(0, 1)?;
                let batches = &dims[..dims.len().saturating_sub(2)];
                super::matmul(x, layout, &weight, &turned.broadcast_as([batches, &[k, n]].concat())?)
            }
        }
    }

    /// Multiplies each row of activations, `[tokens, 1 or top, k]`, by the transpose of one of
    /// these matrices, `[experts, n, k]`, which `ids`, `[tokens, top]` of u32, selects. Returns
    /// `[tokens, top, n]`.
    ///
    /// # Errors
    /// `UnsupportedOp` for floats; otherwise as [`BackendStorage::qmatmul_id`].
    pub fn matmul_id(
        &self,
        (experts, n, k): (usize, usize, usize),
        (x, layout): (&AnyStorage, &Layout),
        (ids, ids_layout): (&AnyStorage, &Layout),
    ) -> Result<AnyStorage> {
        let QFormat::Blocks(format) = self.format else {
            let message =
                format!("the products of a mixture of experts take quantized matrices, not {:?}", self.format);
            return Err(Error::new(ErrorKind::UnsupportedOp, message));
        };
        let weight = Layout::contiguous((experts, n, format.row_bytes(k)?));
        let op = QMatmul::new(format).with_activations(activations()?);
        x.qmatmul_id(layout, &self.storage, &weight, ids, ids_layout, op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit::{bf16, f16};

    fn stored(values: &[f32], columns: usize, format: GgmlDType) -> QStorage {
        let cpu = AnyDevice::cpu();
        let floats = cpu.storage_from_slice(values).unwrap();
        let blocks = floats.quantize(&Layout::contiguous((values.len() / columns, columns)), format).unwrap();
        let bytes = blocks.to_vec::<u8>().unwrap();
        QStorage::from_bytes(&cpu, QFormat::Blocks(format), &bytes).unwrap()
    }

    /// Two rows that q8_0 holds exactly: -127 to -96, and 127 to 96.
    fn rows() -> Vec<f32> {
        (0..32).map(|i| i as f32 - 127.0).chain((0..32).map(|i| 127.0 - i as f32)).collect()
    }

    #[test]
    fn blocks_come_back_as_floats_and_as_bytes() {
        let matrix = stored(&rows(), 32, GgmlDType::Q8_0);
        assert_eq!(matrix.size_in_bytes(), 68);
        assert_eq!(matrix.to_bytes().unwrap().len(), 68);
        assert_eq!(matrix.dequantize(64, DType::F32).unwrap().to_vec::<f32>().unwrap(), rows());
        let halves = matrix.dequantize(64, DType::F16).unwrap().to_vec::<f16>().unwrap();
        assert_eq!(halves.iter().map(|v| v.to_f32()).collect::<Vec<_>>(), rows());
        let e = matrix.dequantize(32, DType::F32).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::ShapeMismatch, "{e}");
        assert!(QStorage::zeros(&AnyDevice::cpu(), QFormat::Blocks(GgmlDType::Q8_0), 33).is_err());
        let zeros = QStorage::zeros(&AnyDevice::cpu(), QFormat::Blocks(GgmlDType::Q8_0), 64).unwrap();
        assert_eq!(zeros.to_bytes().unwrap(), [0; 68]);
    }

    #[test]
    fn an_embedding_is_the_rows_of_its_ids() {
        let matrix = stored(&rows(), 32, GgmlDType::Q8_0);
        let ids = AnyDevice::cpu().storage_from_slice(&[1u32, 0, 1]).unwrap();
        let picked = matrix.embedding(2, 32, &ids, &Layout::contiguous(3)).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(picked, [&rows()[32..], &rows()[..32], &rows()[32..]].concat());
    }

    #[test]
    fn a_product_is_by_the_transpose_for_blocks_and_floats() {
        let cpu = AnyDevice::cpu();
        // q8_1 holds 127 exactly.
        let x = cpu.storage_from_slice(&[127.0f32; 64]).unwrap();
        // The sums of the rows times 127, for two rows of activations.
        let sum: f32 = rows()[..32].iter().map(|v| 127.0 * v).sum();
        let layout = Layout::contiguous((1, 2, 32));
        let product = stored(&rows(), 32, GgmlDType::Q8_0).matmul_t((2, 32), &x, &layout).unwrap();
        assert_eq!(product.to_vec::<f32>().unwrap(), [sum, -sum, sum, -sum]);
        let wide: Vec<u8> = rows().iter().flat_map(|v| v.to_ne_bytes()).collect();
        let narrow: Vec<u8> = rows().iter().flat_map(|v| bf16::from_f32(*v).to_ne_bytes()).collect();
        for (dtype, bytes) in [(DType::F32, wide), (DType::BF16, narrow)] {
            let matrix = QStorage::from_bytes(&cpu, QFormat::Float(dtype), &bytes).unwrap();
            assert_eq!(matrix.to_bytes().unwrap(), bytes);
            let product = matrix.matmul_t((2, 32), &x, &layout).unwrap();
            assert_eq!(product.to_vec::<f32>().unwrap(), [sum, -sum, sum, -sum], "{dtype}");
        }
    }

    #[test]
    fn experts_are_chosen_by_ids() {
        let cpu = AnyDevice::cpu();
        let x = cpu.storage_from_slice(&[127.0f32; 32]).unwrap();
        let ids = cpu.storage_from_slice(&[1u32, 0]).unwrap();
        let (layout, chosen) = (Layout::contiguous((1, 1, 32)), Layout::contiguous((1, 2)));
        let sum: f32 = rows()[..32].iter().map(|v| 127.0 * v).sum();
        let experts = stored(&rows(), 32, GgmlDType::Q8_0);
        let product = experts.matmul_id((2, 1, 32), (&x, &layout), (&ids, &chosen)).unwrap();
        assert_eq!(product.to_vec::<f32>().unwrap(), [-sum, sum]);
        let floats = QStorage::zeros(&cpu, QFormat::Float(DType::F32), 64).unwrap();
        let e = floats.matmul_id((2, 1, 32), (&x, &layout), (&ids, &chosen)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::UnsupportedOp, "{e}");
    }
}
