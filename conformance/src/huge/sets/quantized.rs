//! Quantized matrices: conversions in both directions, products with a huge matrix and with huge
//! activations.

use super::Cases;
use crate::case::Dist;
use crate::huge::Sizes;
use crate::huge::tiled::{Operand, ROWS, Tiled, most};
use isobit_hal::{DType, GgmlDType, Numerics, Op, QActivations, QMatmul};

/// The elements of a row: one block of the largest formats.
const K: usize = 256;

/// Rows of blocks.
fn blocks(format: GgmlDType, rows: usize, columns: usize) -> Operand {
    let bytes = columns / format.block_size() * format.block_bytes();
    Operand::new(DType::U8, &[rows, bytes]).dist(Dist::Blocks { format: format.index() as u8 })
}

pub(super) fn cases(s: Sizes) -> Cases {
    use DType::{BF16, F16, F32};
    use GgmlDType::{Q4_0, Q4K, Q6K, Q8_0};
    let (n, half) = (most(s), s.beyond_31());
    let floats = |dtype, columns| Operand::new(dtype, &[ROWS, columns]);
    let quantize = |format: GgmlDType, dtype| {
        let dst = blocks(format, ROWS, K).dist(Dist::Uniform { scale: 7 }).along(0);
        Tiled::new(Op::Quantize(format), vec![floats(dtype, K).along(0)], dst, half)
    };
    let dequantize = |format, dtype, elements| {
        Tiled::new(
            Op::Dequantize(format),
            vec![blocks(format, ROWS, 3 * K).along(0)],
            floats(dtype, 3 * K).along(0),
            elements,
        )
    };
    // The matrix has more than 2^32 bytes; the result has one column per row of it.
    let matrix = |op: QMatmul, dtype, m: usize| {
        let x = Operand::new(dtype, &[m, K]);
        Tiled::new(
            Op::QMatmul(op),
            vec![blocks(op.format, ROWS, K).along(0), x],
            Operand::new(dtype, &[m, ROWS]).along(1),
            n,
        )
    };
    let activations = |op: QMatmul, dtype| {
        let dst = Operand::new(dtype, &[ROWS, 33]).along(0);
        // Activations of q8_1 are quantized to 36 bytes for 32 elements.
        Tiled::new(Op::QMatmul(op), vec![blocks(op.format, 33, K), floats(dtype, K).along(0)], dst, n)
            .with_workspace(ROWS * K * 2)
    };
    let float = |format| QMatmul::new(format).with_numerics(Numerics::Portable);
    let block = |format| QMatmul::new(format).with_numerics(Numerics::Block);
    let q8_1 = |format| QMatmul::new(format).with_activations(QActivations::Q8_1);
    vec![
        ("rows", quantize(Q8_0, F32)),
        ("rows", quantize(Q4_0, F16)),
        ("rows", dequantize(Q4K, F32, n)),
        ("rows", dequantize(Q8_0, F16, n)),
        ("rows", dequantize(Q6K, BF16, n)),
        ("a huge matrix and a vector", matrix(float(Q4_0), F32, 1)),
        ("a huge matrix and rows", matrix(float(Q8_0), F16, 33)),
        ("a huge matrix and a vector", matrix(block(Q4_0), F32, 1)),
        ("a huge matrix and a vector", matrix(q8_1(Q4K), F32, 1)),
        ("a huge matrix and rows", matrix(q8_1(Q4_0), F16, 33)),
        ("huge activations", activations(float(Q4K), F16)),
        ("huge activations", activations(q8_1(Q8_0), F16)),
    ]
}
