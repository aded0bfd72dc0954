//! Quantized matrices: the block formats of GGUF, and the operations on them. A quantized tensor is
//! a storage of u8 that holds the blocks of each row one behind the other, in the file's own bytes.

use crate::{DType, Error, ErrorKind, Result};
use std::fmt;

macro_rules! formats {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal $block:literal $bytes:literal)*) => {
        /// A block format of GGUF, by the names of ggml.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum GgmlDType { $($(#[doc = $doc])+ $variant,)* }

        impl GgmlDType {
            /// Every format.
            pub const ALL: &[GgmlDType] = &[$(GgmlDType::$variant),*];

            /// ggml's name, in lower case as in file names.
            pub const fn name(self) -> &'static str {
                match self { $(GgmlDType::$variant => $name,)* }
            }

            /// Elements of a block.
            pub const fn block_size(self) -> usize {
                match self { $(GgmlDType::$variant => $block,)* }
            }

            /// Bytes of a block.
            pub const fn block_bytes(self) -> usize {
                match self { $(GgmlDType::$variant => $bytes,)* }
            }
        }
    };
}
formats! {
    /// 4 bits and an f16 scale a block of 32.
    Q4_0 "q4_0" 32 18
    /// 4 bits, an f16 scale and an f16 minimum a block of 32.
    Q4_1 "q4_1" 32 20
    /// 5 bits and an f16 scale a block of 32.
    Q5_0 "q5_0" 32 22
    /// 5 bits, an f16 scale and an f16 minimum a block of 32.
    Q5_1 "q5_1" 32 24
    /// 8 bits and an f16 scale a block of 32.
    Q8_0 "q8_0" 32 34
    /// 8 bits, an f16 scale and the f16 scaled sum of the elements a block of 32: for activations.
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
    /// 8 bits, an f32 scale and the sums of each 16 elements: for activations.
    Q8K "q8_k" 256 292
}

impl GgmlDType {
    /// The position in [`ALL`](Self::ALL), for tables.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Bytes of a row of so many elements.
    ///
    /// # Errors
    /// `InvalidArgument` where they are no whole number of blocks.
    pub fn row_bytes(self, elements: usize) -> Result<usize> {
        if elements.is_multiple_of(self.block_size()) {
            return Ok(elements / self.block_size() * self.block_bytes());
        }
        let block = self.block_size();
        Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("a row of {elements} elements is no whole number of {self} blocks of {block}: pad it"),
        ))
    }

    /// Elements of a row of so many bytes.
    ///
    /// # Errors
    /// `InvalidArgument` where they are no whole number of blocks.
    pub fn row_elements(self, bytes: usize) -> Result<usize> {
        if bytes.is_multiple_of(self.block_bytes()) {
            return Ok(bytes / self.block_bytes() * self.block_size());
        }
        let block = self.block_bytes();
        Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("a row of {bytes} bytes is no whole number of {self} blocks of {block} bytes"),
        ))
    }
}

impl fmt::Display for GgmlDType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What the activations are while a quantized matrix meets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum QActivations {
    /// As they come, widened to f32; the matrix is dequantized to f32 on the way.
    #[default]
    Float,
    /// Quantized to [`GgmlDType::Q8_1`] first, so that the products are of integers, in dp4a or the
    /// matrix units.
    Q8_1,
}

/// `x w^T` with a quantized matrix `w` of n rows of k: u8 `[n, bytes of k]`, `x` `[.., m, k]`,
/// result `[.., m, n]`. `x` f32, f16 or bf16, the result of its dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct QMatmul {
    /// The format of the matrix.
    pub format: GgmlDType,
    /// What the activations are on the way.
    pub activations: QActivations,
}

impl QMatmul {
    /// A product with the activations as they come.
    pub const fn new(format: GgmlDType) -> Self {
        Self { format, activations: QActivations::Float }
    }

    /// With activations quantized on the way, or not.
    pub const fn with_activations(mut self, activations: QActivations) -> Self {
        self.activations = activations;
        self
    }
}

/// The dtypes that quantized operations take on their other side.
pub(super) const fn is_activation(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F16 | DType::BF16)
}
