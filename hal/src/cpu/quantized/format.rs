//! The interface of a block format: reading the integers of a block and their scales, and
//! quantizing a block.

use crate::GgmlDType;

/// The factor that multiplies the integers of a sub-block, and the summand added to the products.
#[derive(Clone, Copy, Default)]
pub(super) struct Scale {
    pub factor: f32,
    /// 0 in formats without summands.
    pub summand: f32,
}

/// Whether a format has summands, and which sum of q8_1 activations multiplies them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Summand {
    None,
    /// The sum `s` stored in the activations' block.
    OfBlock,
    /// The sum of the activations' integers over the sub-block.
    OfSubBlock,
}

/// Largest number of integers per block, and the length of the segments of k in products.
pub(super) const SEGMENT: usize = 256;
/// Largest number of sub-blocks in a segment.
pub(super) const SUB_BLOCKS: usize = 16;

/// A format. A block is a slice of its length in bytes. The functions must be `#[inline(always)]`,
/// so that they are compiled into vectorised loops.
pub(super) trait Format {
    const FORMAT: GgmlDType;
    /// Elements of a sub-block.
    const SUB: usize;
    const SUMMAND: Summand;
    /// Byte offset of `d`.
    const D: usize;

    /// Reads the scales, one per sub-block. By default all are `d`, an f16.
    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        out.fill(Scale { factor: half_at(block, Self::D), summand: 0.0 });
    }

    /// Reads the integers, one per element.
    fn integers(block: &[u8], out: &mut [i8]);

    /// Quantizes a block of finite elements. Formats without a quantizer have no such function.
    fn quantize(_x: &[f32], _block: &mut [u8]) {
        unreachable!("validation refuses formats without a quantizer");
    }
}

/// Reads an f16 of a block, widened.
#[inline(always)]
pub(super) fn half_at(block: &[u8], at: usize) -> f32 {
    half::f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// Rounds a number to f16 and writes it to a block.
#[inline(always)]
pub(super) fn put_half(block: &mut [u8], at: usize, v: f32) {
    block[at..at + 2].copy_from_slice(&half::f16::from_f32(v).to_le_bytes());
}

/// Runs an expression with a type name bound to a format.
macro_rules! dispatch_format {
    ($format:expr, $F:ident => $body:expr) => {
        dispatch_format!(@arms $format, $F, $body, Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q8_1 Q2K Q3K Q4K Q5K Q6K Q8K
            IQ4NL IQ4XS TQ1_0 TQ2_0 MXFP4 IQ2XXS IQ2XS IQ2S IQ3XXS IQ3S IQ1S IQ1M
            NVFP4)
    };
    (@arms $format:expr, $F:ident, $body:expr, $($name:ident)*) => {
        match $format {
            $(GgmlDType::$name => {
                type $F = $crate::cpu::quantized::formats::$name;
                $body
            })*
        }
    };
}
pub(super) use dispatch_format;
