//! The cases that every seed has: levels and scales that lie halfway, scales that are not finite,
//! sums that underflow, and products by many experts, and by few with many rows each.

use crate::case::Dist;
use crate::cells::Cell;
use crate::generate::Fixed;
use isobit_hal::{DType, Numerics, Op, QActivations};

/// More than the threads that group rows by expert, one each.
const MANY_EXPERTS: usize = 300;
/// Tokens of which two experts get more than one tile of rows each.
const MANY_TOKENS: usize = 150;

pub(super) fn of(cell: &Cell, format: u8, nth: u64) -> Option<Fixed> {
    let uniform = Dist::Uniform { scale: 2 };
    let [blocks, edges] = [Dist::Blocks { format }, Dist::EdgeBlocks { format }];
    let ids = |below| Dist::Ids { below, wild: false };
    let op = cell.operation.op();
    let is_product = matches!(op, Op::QMatmul(_) | Op::QMatmulId(_));
    // The dtype decides only how a product loads and stores its elements.
    if is_product && cell.dtypes[1] != DType::F32 {
        return None;
    }
    if cell.numerics == Some(Numerics::Block) {
        return block_product(op, blocks, edges, nth);
    }
    let fixed = match (op, nth) {
        (Op::Quantize(f), 0 | 1) => Fixed::new(&[4096 / f.block_size()], &[Dist::LevelTies { format }]),
        (Op::Dequantize(_), 0) => Fixed::new(&[64], &[edges]),
        // A tile with rows to spare. In the formats with blocks of 32, its last step has one block
        // of two.
        (Op::QMatmul(q), 0) => {
            let k = if q.format.block_size() < 256 { 3 } else { 1 };
            Fixed::new(&[40, k, 24], &[edges, uniform])
        }
        // One segment of products below the smallest number: the last one gives the sum its sign.
        (Op::QMatmul(q), 1) if q.activations == QActivations::Float => {
            Fixed::new(&[3, 1, 33], &[blocks, Dist::Exponents { low: -149, high: -148 }])
        }
        (Op::QMatmulId(_), 0) => Fixed::new(&[MANY_EXPERTS, 9, 2, 1, 1, 3], &[blocks, uniform, ids(300)]),
        (Op::QMatmulId(_), 1) => Fixed::new(&[2, MANY_TOKENS, 2, 2, 1, 5], &[blocks, uniform, ids(2)]),
        // Only padding, beyond one tile.
        (Op::QMatmulId(_), 2) => Fixed::new(&[2, MANY_TOKENS, 1, 1, 1, 5], &[blocks, uniform, ids(0)]),
        _ => return None,
    };
    Some(fixed)
}

/// Activations of which many segments are wide and many are not, by rows for their own kernel and
/// for a tile; scales that are not finite; experts that share rows, and padding alone.
fn block_product(op: &Op, blocks: Dist, edges: Dist, nth: u64) -> Option<Fixed> {
    let wide = Dist::Exponents { low: -60, high: -13 };
    let ids = |below| Dist::Ids { below, wild: true };
    let few = |size: usize| match size {
        32 => 13,
        64 => 7,
        _ => 2,
    };
    match (op, nth) {
        (Op::QMatmul(q), 0) => Some(Fixed::new(&[5, few(q.format.block_size()), 33], &[blocks, wide])),
        (Op::QMatmul(_), 1) => Some(Fixed::new(&[17, 3, 67], &[blocks, wide])),
        (Op::QMatmul(_), 2) => Some(Fixed::new(&[42, 1, 70], &[edges, Dist::Sparse])),
        (Op::QMatmulId(q), 0) => {
            let k = few(q.format.block_size());
            Some(Fixed::new(&[3, 4, 2, 1, k, 9], &[blocks, wide, ids(3)]))
        }
        (Op::QMatmulId(_), 1) => Some(Fixed::new(&[2, 3, 2, 2, 1, 33], &[edges, wide, ids(2)])),
        (Op::QMatmulId(_), 2) => Some(Fixed::new(&[2, 9, 1, 1, 1, 5], &[blocks, wide, ids(0)])),
        _ => None,
    }
}
