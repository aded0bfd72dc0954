//! Scatters along lines: blocks hold ranges of the destinations of neighbouring lines in shared
//! memory.

use super::scatter::Scatter;
use crate::args;
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count, split};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::indexing::{LINES_SET, carrier, lines_combine, with_ids};
use crate::runtime::GpuRuntime;
use isobit_hal::{BackendStorage, DType, LaunchConfig, Result};
use std::mem::offset_of;

/// Threads per block; must match lines_set.cu and lines_combine.cuh.
const SET_BLOCK: usize = 256;
const COMBINE_BLOCK: usize = 64;
/// Bytes of shared memory for the destinations of a block.
const SHARED: usize = 32 << 10;
/// Bytes that one memory access transfers.
const SECTOR: usize = 32;

/// The layout of the kernels' `Lines`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Lines {
    groups: Index<4>,
    across: [u64; 4],
    along: [u64; 4],
    place: u64,
    n: u64,
    size: u64,
    from_end: u64,
    lines: u32,
    across_shift: u32,
    strips: Divisor,
    ranges: Divisor,
    range: u32,
    vectors: u32,
}

const _: () = assert!(size_of::<Lines>() == 496);
const _: () = assert!(offset_of!(Lines, across) == 360 && offset_of!(Lines, lines) == 456);
const _: () = assert!(offset_of!(Lines, strips) == 464 && offset_of!(Lines, range) == 488);

/// How the lines are divided: the dimensions of all lines, and the neighbouring lines along the
/// last dimension, and destinations of each, per block.
pub(super) struct Strips {
    dims: IndexDims<4>,
    across: usize,
    range: usize,
    size: usize,
    /// Bytes that a destination takes in shared memory.
    held: usize,
}

impl Strips {
    /// Returns the number of ranges that the destinations of a line are divided into.
    pub(super) fn ranges(&self) -> usize {
        self.size.div_ceil(sizes::LINES_RANGE.limit_or(self.size, self.range)).max(1)
    }

    /// Returns the total number of blocks.
    pub(super) fn blocks(&self) -> usize {
        (count(&self.dims) / self.across).max(1).saturating_mul(self.ranges())
    }
}

impl<R: GpuRuntime> Scatter<'_, R> {
    /// Divides the lines of some dimensions, the last of which is the innermost, among blocks. If
    /// elements of one line are closer than those of neighbouring lines (`nearest`), a block has
    /// one line.
    pub(super) fn strips(&self, mut dims: IndexDims<4>, nearest: bool) -> Strips {
        if dims.is_empty() {
            dims.push(Dim { size: 1, stride: [0; 4] });
        }
        let dtype = self.dst.dtype();
        let neighbours = (SECTOR / dtype.size_in_bytes()).min(16).min(dims[dims.len() - 1].size.next_power_of_two());
        let across = if nearest { 1 } else { neighbours };
        let held = match (self.sets(), dtype.is_float()) {
            (true, _) => DType::U32.size_in_bytes(),
            (false, true) => dtype.size_in_bytes().max(DType::F32.size_in_bytes()),
            (false, false) => dtype.size_in_bytes(),
        };
        // A range holds whole packs, so that every range has the alignment of the first one.
        Strips { dims, across, range: SHARED / held / across, size: self.size, held }
    }

    /// # Safety
    /// Every element of the lines must be allocated, and no element of the destination may occur
    /// twice.
    pub(super) unsafe fn along_lines(&self, strips: Strips) -> Result<()> {
        let dtype = self.dst.dtype();
        let unit = dtype.size_in_bytes();
        let (key, block) = match self.sets() {
            true => (with_ids(LINES_SET, carrier(unit), self.ids), SET_BLOCK),
            false => (lines_combine(self.combine, dtype, self.ids), COMBINE_BLOCK),
        };
        let (across, ranges, held) = (strips.across, strips.ranges(), strips.held);
        let range = strips.range.min(self.size);
        let steps = strips.dims.iter().fold(0, |all, d| all | d.stride[0]);
        let aligned = (self.at[0].0 | (steps * unit) as u64).is_multiple_of(16);
        let mut parameters = Lines {
            groups: Index::new(&[]),
            across: [0; 4],
            along: self.along.map(|s| s as u64),
            place: 0,
            n: 0,
            size: self.size as u64,
            from_end: self.from_end as u64,
            lines: 0,
            across_shift: across.ilog2(),
            strips: Divisor::new(1),
            ranges: Divisor::new(ranges),
            range: range as u32,
            vectors: u32::from(across == 1 && self.along[0] == 1 && aligned),
        };
        let blocks = sizes::LINES_BLOCKS.limit(strips.blocks());
        split(&strips.dims, (blocks / ranges).max(1), [0; 4], &mut |dims, offset| {
            let (last, groups) = dims.split_last().expect("there is at least one dimension");
            let strips = last.size.div_ceil(across);
            parameters.groups = Index::new(groups);
            parameters.across = last.stride.map(|s| s as u64);
            parameters.lines = last.size as u32;
            parameters.strips = Divisor::new(strips);
            let mut config = LaunchConfig::linear((count(groups) * strips * ranges) as u32, block as u32);
            config.shared_bytes = (range * across * held) as u32;
            // Setting keeps the positions of sources in 32 bits; longer lines are split into parts
            // that run one after the other.
            let most = if self.sets() { sizes::LINES_SOURCES.limit(self.n) } else { self.n };
            for first in (0..self.n).step_by(most) {
                let begin: [usize; 4] =
                    std::array::from_fn(|o| offset[o] + if o == 0 { 0 } else { first * self.along[o] });
                let [dst, ids, src] = self.moved(begin, unit);
                parameters.place = begin[3] as u64;
                parameters.n = (self.n - first).min(most) as u64;
                // SAFETY: this is a part of the lines, for which the caller promises that every
                // element is allocated and no element of the destination occurs twice.
                unsafe { Launch { key, config }.on(self.dst.device(), args![dst, ids, src, parameters, self.flag])? };
            }
            Ok(())
        })
    }
}
