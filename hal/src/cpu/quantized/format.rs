//! What a block format is to the operations: the integers of a block, the factors they are
//! multiplied with, and the way back.

use crate::GgmlDType;

/// What a sub-block's integers are multiplied with, and what is added to the products.
#[derive(Clone, Copy, Default)]
pub(super) struct Scale {
    pub factor: f32,
    /// 0 in formats without summands.
    pub summand: f32,
}

/// Whether a format has summands, and what of q8_1 activations they are multiplied with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Summand {
    None,
    /// The sum `s` that their block holds.
    OfBlock,
    /// The sum of their own integers over the sub-block.
    OfSubBlock,
}

/// The most integers of a block, and the segment of k that products add up by.
pub(super) const SEGMENT: usize = 256;
/// The most sub-blocks in them.
pub(super) const SUB_BLOCKS: usize = 16;

/// A format. Blocks are slices of their length in bytes; functions are `#[inline(always)]`, to be
/// compiled into vectorised loops.
pub(super) trait Format {
    const FORMAT: GgmlDType;
    /// Elements of a sub-block.
    const SUB: usize;
    const SUMMAND: Summand;
    /// Where `d` lies.
    const D: usize;

    /// Reads the scales, one a sub-block.
    fn scales(block: &[u8], out: &mut [Scale]);

    /// Reads the integers, one an element.
    fn integers(block: &[u8], out: &mut [i8]);

    /// Writes finite elements.
    fn quantize(x: &[f32], block: &mut [u8]);
}

/// An f16 of a block, widened.
#[inline(always)]
pub(super) fn half_at(block: &[u8], at: usize) -> f32 {
    half::f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// Rounds a number to an f16 of a block.
#[inline(always)]
pub(super) fn put_half(block: &mut [u8], at: usize, v: f32) {
    block[at..at + 2].copy_from_slice(&half::f16::from_f32(v).to_le_bytes());
}

/// Runs an expression with a type name bound to a format.
macro_rules! dispatch_format {
    ($format:expr, $F:ident => $body:expr) => {
        dispatch_format!(@arms $format, $F, $body, Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q8_1 Q2K Q3K Q4K Q5K Q6K Q8K)
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
