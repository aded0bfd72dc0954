//! Quantized matrices: the block formats of GGUF and the operations on them. A quantized tensor is
//! a u8 storage that holds the blocks of each row consecutively, with the same bytes as in the
//! file.

use crate::{DType, Error, ErrorKind, Numerics, Result};
use std::fmt;

macro_rules! formats {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal $block:literal $bytes:literal)*) => {
        /// A block format of GGUF, with the names that [ggml](https://github.com/ggml-org/ggml)
        /// uses. [`docs/numerics/quantized.md`][quantized] gives the bytes of each format.
        ///
        /// ```rust
        /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, DType, GgmlDType, Layout};
        /// let format = GgmlDType::Q4_0;
        /// assert_eq!(format.row_bytes(64)?, 36); // two blocks of 18 bytes
        /// let values: Vec<f32> = (0..32).map(|i| (i % 16) as f32 - 8.0).collect();
        /// let x = CpuDevice.storage_from_slice(&values)?;
        /// let blocks = x.quantize(&Layout::contiguous(32), format)?;
        /// let y = blocks.dequantize(&Layout::contiguous(18), format, DType::F32)?;
        /// assert_eq!(y.to_vec::<f32>()?, values); // 4 bits hold -8 to 7 exactly
        /// # Ok::<(), isobit_hal::Error>(())
        /// ```
        ///
        /// [quantized]: https://github.com/isobit/isobit/blob/main/docs/numerics/quantized.md
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum GgmlDType { $($(#[doc = $doc])+ $variant,)* }

        impl GgmlDType {
            /// Every format.
            pub const ALL: &[GgmlDType] = &[$(GgmlDType::$variant),*];

            /// Returns ggml's name in lower case, as used in file names.
            pub const fn name(self) -> &'static str {
                match self { $(GgmlDType::$variant => $name,)* }
            }

            /// Returns the number of elements per block.
            pub const fn block_size(self) -> usize {
                match self { $(GgmlDType::$variant => $block,)* }
            }

            /// Returns the number of bytes per block.
            pub const fn block_bytes(self) -> usize {
                match self { $(GgmlDType::$variant => $bytes,)* }
            }
        }
    };
}
formats! {
    /// 4 bits and an f16 scale per block of 32.
    Q4_0 "q4_0" 32 18
    /// 4 bits, an f16 scale and an f16 minimum per block of 32.
    Q4_1 "q4_1" 32 20
    /// 5 bits and an f16 scale per block of 32.
    Q5_0 "q5_0" 32 22
    /// 5 bits, an f16 scale and an f16 minimum per block of 32.
    Q5_1 "q5_1" 32 24
    /// 8 bits and an f16 scale per block of 32.
    Q8_0 "q8_0" 32 34
    /// 8 bits, an f16 scale and the f16 scaled sum of the elements per block of 32; used for
    /// activations.
    Q8_1 "q8_1" 32 36
    /// 2 bits in 16 sub-blocks of 16, with 4-bit scales and minima.
    Q2K "q2_k" 256 84
    /// 3 bits in 16 sub-blocks of 16, with 6-bit scales.
    Q3K "q3_k" 256 110
    /// 4 bits in 8 sub-blocks of 32, with 6-bit scales and minima.
    Q4K "q4_k" 256 144
    /// 5 bits in 8 sub-blocks of 32, with 6-bit scales and minima.
    Q5K "q5_k" 256 176
    /// 6 bits in 16 sub-blocks of 16, with 8-bit scales.
    Q6K "q6_k" 256 210
    /// 8 bits, an f32 scale and the sum of every 16 elements per block of 256; used for
    /// activations.
    Q8K "q8_k" 256 292
    /// 4-bit indices of levels that are closer together near 0, and an f16 scale per block of 32.
    IQ4NL "iq4_nl" 32 18
    /// The same levels in 8 sub-blocks of 32, with 6-bit scales.
    IQ4XS "iq4_xs" 256 136
    /// -1, 0 or 1, five in a byte, and an f16 scale per block of 256.
    TQ1_0 "tq1_0" 256 54
    /// -1, 0 or 1, four in a byte, and an f16 scale per block of 256.
    TQ2_0 "tq2_0" 256 66
    /// Numbers of f4e2m1 with a power of two, in one byte, per block of 32.
    MXFP4 "mxfp4" 32 17
    /// Eight levels of three with signs per entry of a code book, in 8 sub-blocks of 32, with 4-bit
    /// scales. Needs an importance matrix to be made: see [`has_quantizer`](Self::has_quantizer).
    IQ2XXS "iq2_xxs" 256 66
    /// The same with a larger code book, in 16 sub-blocks of 16.
    IQ2XS "iq2_xs" 256 74
    /// The same with a still larger code book.
    IQ2S "iq2_s" 256 82
    /// Four levels of eight with signs per entry of a code book, in 8 sub-blocks of 32, with 4-bit
    /// scales.
    IQ3XXS "iq3_xxs" 256 98
    /// The same with a larger code book.
    IQ3S "iq3_s" 256 110
    /// Eight of -1, 0 and 1 per entry of a code book, all of them an eighth more or less, in 8
    /// sub-blocks of 32, with 3-bit scales.
    IQ1S "iq1_s" 256 50
    /// The same in 16 sub-blocks of 16.
    IQ1M "iq1_m" 256 56
    /// Numbers of f4e2m1 in blocks of 64: four sub-blocks of 16, with scales of f8e4m3.
    NVFP4 "nvfp4" 64 36
}

impl GgmlDType {
    /// Returns the position in [`ALL`](Self::ALL), for indexing tables.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns whether [`quantize`](crate::BackendStorage::quantize) makes blocks of this format.
    /// It makes none of the formats with code books, because their quantizers need an importance
    /// matrix, which says how much each element matters; `llama-quantize --imatrix` of llama.cpp,
    /// ggml's tool, makes them.
    ///
    /// ```rust
    /// # use isobit_hal::GgmlDType;
    /// assert!(GgmlDType::IQ4XS.has_quantizer() && !GgmlDType::IQ3XXS.has_quantizer());
    /// ```
    pub const fn has_quantizer(self) -> bool {
        use GgmlDType::{IQ1M, IQ1S, IQ2S, IQ2XS, IQ2XXS, IQ3S, IQ3XXS};
        !matches!(self, IQ2XXS | IQ2XS | IQ2S | IQ3XXS | IQ3S | IQ1S | IQ1M)
    }

    /// Checks that the format has a quantizer.
    pub(super) fn check_quantizer(self) -> Result<()> {
        if self.has_quantizer() {
            return Ok(());
        }
        let message = format!(
            "quantize_{self} is not supported: the format needs an importance matrix, which says how much each \
             element matters; make its blocks with llama.cpp's llama-quantize --imatrix and load them"
        );
        Err(Error::new(ErrorKind::UnsupportedOp, message))
    }

    /// Returns the size in bytes of a row of `elements` elements.
    ///
    /// # Errors
    /// `InvalidArgument` if `elements` is not a multiple of the block size.
    pub fn row_bytes(self, elements: usize) -> Result<usize> {
        if elements.is_multiple_of(self.block_size()) {
            return Ok(elements / self.block_size() * self.block_bytes());
        }
        let block = self.block_size();
        Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("a row of {elements} elements is not a multiple of the {self} block size {block}: pad the row"),
        ))
    }

    /// Returns the number of elements in a row of `bytes` bytes.
    ///
    /// # Errors
    /// `InvalidArgument` if `bytes` is not a multiple of the size of a block.
    pub fn row_elements(self, bytes: usize) -> Result<usize> {
        if bytes.is_multiple_of(self.block_bytes()) {
            return Ok(bytes / self.block_bytes() * self.block_size());
        }
        let block = self.block_bytes();
        Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("a row of {bytes} bytes is not a multiple of the {self} block size of {block} bytes"),
        ))
    }
}

impl fmt::Display for GgmlDType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How a product with a quantized matrix treats the activations.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, GgmlDType, Layout};
/// # use isobit_hal::{QActivations, QMatmul};
/// let (xl, wl) = (Layout::contiguous((1, 32)), Layout::contiguous((1, 18)));
/// let w = CpuDevice.storage_from_slice(&[-8.0f32; 32])?;
/// let w = w.quantize(&Layout::contiguous((1, 32)), GgmlDType::Q4_0)?;
/// let x = CpuDevice.storage_from_slice(&[127.0f32; 32])?; // q8_1 holds it exactly
/// let op = QMatmul::new(GgmlDType::Q4_0).with_activations(QActivations::Q8_1);
/// assert_eq!(x.qmatmul(&xl, &w, &wl, op)?.to_vec::<f32>()?, [-32512.0]); // 32 * 127 * -8
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum QActivations {
    /// The activations are widened to f32, and the matrix is dequantized to f32 on the fly. The
    /// result depends on the [numerics](QMatmul::numerics).
    #[default]
    Float,
    /// The activations are quantized to [`GgmlDType::Q8_1`] first, so that the products are integer
    /// products, on dp4a or the matrix units.
    Q8_1,
}

/// The product `x w^T` with a quantized matrix `w` of n rows of k elements. Shapes: `w`
/// `[n, row_bytes(k)]` of u8, `x` `[.., m, k]`, result `[.., m, n]`. `x` is f32, f16 or bf16; the
/// result has the same dtype.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, GgmlDType, Layout, QMatmul};
/// let w: Vec<f32> = (0..32).map(|i| (i % 16) as f32 - 8.0).collect(); // the sum is -16
/// let w = CpuDevice.storage_from_slice(&w)?;
/// let w = w.quantize(&Layout::contiguous((1, 32)), GgmlDType::Q4_0)?;
/// let x = CpuDevice.storage_from_slice(&[0.5f32; 32])?;
/// let (xl, wl) = (Layout::contiguous((1, 32)), Layout::contiguous((1, 18)));
/// let y = x.qmatmul(&xl, &w, &wl, QMatmul::new(GgmlDType::Q4_0))?;
/// assert_eq!(y.to_vec::<f32>()?, [-8.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct QMatmul {
    /// Format of the matrix.
    pub format: GgmlDType,
    /// How the activations are treated.
    pub activations: QActivations,
    /// How float activations are multiplied: with [`Numerics::Block`] as a block product of f32,
    /// else as chains, because no vendor library computes these products. `None` takes the device's
    /// default. Without effect on activations through q8_1.
    pub numerics: Option<Numerics>,
}

impl QMatmul {
    /// Creates a product with float activations.
    pub const fn new(format: GgmlDType) -> Self {
        Self { format, activations: QActivations::Float, numerics: None }
    }

    /// Sets the numerics of products of float activations.
    pub const fn with_numerics(mut self, numerics: Numerics) -> Self {
        self.numerics = Some(numerics);
        self
    }

    /// Sets how the activations are treated.
    pub const fn with_activations(mut self, activations: QActivations) -> Self {
        self.activations = activations;
        self
    }
}

/// Whether quantized operations accept the dtype for activations and float results.
pub(super) const fn is_activation(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F16 | DType::BF16)
}
