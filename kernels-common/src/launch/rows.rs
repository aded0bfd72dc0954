//! Runs of contiguous elements: the units in which they move, and the threads that share them.

/// Threads per block of the kernels that move rows; must match copy.cu, map.cu and concat.cu.
pub(crate) const BLOCK: usize = 256;
/// Elements of a row per thread; must match the same files.
const EACH: usize = 8;

/// The blocks of one launch along rows, and how threads share them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowBlocks {
    pub(crate) blocks: usize,
    pub(crate) parts: usize,
    pub(crate) across_shift: u32,
}

impl RowBlocks {
    /// Divides `rows` of `length` elements among blocks. Parts of a row have `part` elements at
    /// most, if it has several.
    pub(crate) fn new(rows: usize, length: usize, part: usize) -> Self {
        let across = length.div_ceil(EACH).next_power_of_two().clamp(32, BLOCK);
        let parts = length.div_ceil(part);
        Self { blocks: rows.div_ceil(BLOCK / across) * parts, parts, across_shift: across.ilog2() }
    }
}

/// Returns the bytes of the largest units, up to 16, in which elements of `size` bytes can move if
/// all `steps` (sizes, strides and offsets in elements) and `addresses` are multiples of them. Both
/// are given as the bits that any of them has.
pub(crate) fn unit(size: usize, steps: u64, addresses: u64) -> usize {
    let low = steps.wrapping_mul(size as u64) | addresses;
    (1usize << low.trailing_zeros().min(4)).max(size)
}
