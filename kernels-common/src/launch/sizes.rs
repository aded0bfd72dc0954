//! Every size at which launch code changes its path, in one table.
//!
//! Launch code asks a [`Size`] which side an operand is on, and the size counts the answer. The
//! conformance suite reports the counts, so a path that no case takes is seen. Most limits matter
//! for huge tensors alone; *small launches* replace them on one thread by values that small tensors
//! reach. No result depends on them: every split and every path gives the same bits.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// A size at which launch code changes its path.
#[derive(Debug)]
pub(crate) struct Size {
    name: &'static str,
    /// The value of normal launches; `None` if it varies with the device or the dtype.
    normal: Option<usize>,
    /// The value of small launches, if it is another.
    small: Option<usize>,
    /// Why no small tensor gets to the size, even with small launches.
    out_of_reach: Option<&'static str>,
    below: AtomicU64,
    reached: AtomicU64,
}

impl Size {
    const fn new(name: &'static str, normal: Option<usize>, small: Option<usize>) -> Self {
        let (below, reached) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { name, normal, small, out_of_reach: None, below, reached }
    }

    /// Returns a size with one value. It determines a result, or small tensors reach it.
    const fn fixed(name: &'static str, value: usize) -> Self {
        Self::new(name, Some(value), None)
    }

    /// Returns a size with another value in small launches.
    const fn adjusted(name: &'static str, value: usize, small: usize) -> Self {
        Self::new(name, Some(value), Some(small))
    }

    /// Returns a size that varies with the dtype or the operands.
    const fn varying(name: &'static str) -> Self {
        Self::new(name, None, None)
    }

    /// Returns a size that varies with the device or the dtype, except in small launches.
    const fn of_device(name: &'static str, small: usize) -> Self {
        Self::new(name, None, Some(small))
    }

    const fn out_of_reach(self, why: &'static str) -> Self {
        Self { out_of_reach: Some(why), ..self }
    }

    /// Returns whether `n` is at least the size.
    pub(crate) fn is_reached(&self, n: usize) -> bool {
        self.is_reached_or(n, self.normal.expect("a size that varies needs its value"))
    }

    /// Returns whether `n` is at least the size, which is `normal` here.
    pub(crate) fn is_reached_or(&self, n: usize, normal: usize) -> bool {
        self.decide(normal, |size| n >= size)
    }

    /// Returns whether `n` is greater than the size.
    pub(crate) fn is_exceeded(&self, n: usize) -> bool {
        self.limit(n) < n
    }

    /// Returns the size, as a limit for `n`, which gets to the other side by exceeding it.
    pub(crate) fn limit(&self, n: usize) -> usize {
        self.limit_or(n, self.normal.expect("a size that varies needs its value"))
    }

    /// Returns the size, which is `normal` here, as a limit for `n`.
    pub(crate) fn limit_or(&self, n: usize, normal: usize) -> usize {
        self.decide(normal, |size| n > size);
        self.value(normal)
    }

    fn value(&self, normal: usize) -> usize {
        if THREAD.get().small { self.small.map_or(normal, |small| small.min(normal)) } else { normal }
    }

    fn decide(&self, normal: usize, is_past: impl Fn(usize) -> bool) -> bool {
        let past = is_past(self.value(normal));
        if let Some(small) = self.small
            && is_past(small.min(normal)) != is_past(normal)
        {
            THREAD.set(Thread { differs: true, ..THREAD.get() });
        }
        let count = if past { &self.reached } else { &self.below };
        // Two threads at once may count one for both: what matters is that it is not 0.
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        past
    }
}

/// What a thread's launches do.
#[derive(Debug, Clone, Copy)]
struct Thread {
    small: bool,
    /// Whether small launches decided, or would have decided, anything else than normal ones.
    differs: bool,
}

thread_local! {
    static THREAD: Cell<Thread> = const { Cell::new(Thread { small: false, differs: false }) };
}

macro_rules! sizes {
    ($($(#[doc = $doc:literal])+ $id:ident = $size:expr;)*) => {
        $($(#[doc = $doc])+ pub(crate) static $id: Size = $size;)*

        static ALL: &[&Size] = &[$(&$id),*];
    };
}

sizes! {
    /// The maximum number of dimensions of a walk; more are walked by several launches.
    WALK_RANK = Size::fixed("walk.rank", super::index::MAX_RANK);
    /// The maximum number of blocks of a kernel that loops over its units.
    LOOP_BLOCKS = Size::of_device("walk.loop_blocks", 2);
    /// The maximum number of units in one launch of a walk over rows and columns: indices stay
    /// below 2^31.
    ELEMENT_WALK = Size::adjusted("element_walk.units", 1 << 30, 256);

    /// The number from which a pool, and the way back through it, divides in 64 bits.
    POOL_WIDE = Size::adjusted("pooling.wide", 1 << 31, 16);
    /// The elements of a tile from which powers are computed once for all its windows: a block's
    /// threads.
    POOL_TILE_FROM = Size::adjusted("pooling.tile_from", 256, 8);

    /// The maximum number of units of work in one launch of an elementwise walk. It keeps index
    /// arithmetic in 32 bits.
    ELEMENTWISE = Size::adjusted("elementwise.units", (1 << 31) - 1, 512);
    /// The number of blocks up to which those of a kernel that loads ahead do not loop: enough for
    /// any device to be full.
    AHEAD_BLOCKS = Size::adjusted("elementwise.ahead_blocks", 1 << 11, 1);
    /// The maximum number of elements in one launch of a kernel that loads ahead, and counts in 32
    /// bits; whole packs of every dtype.
    AHEAD_SPAN = Size::adjusted("elementwise.ahead_span", 1 << 30, 1 << 13);
    /// The number of elements from which an input is transposed, which costs one more launch ...
    TURN_FROM = Size::adjusted("elementwise.turn_from", 1 << 18, 64);
    /// ... and the minimum sizes of the two dimensions.
    TURN_SIDE = Size::adjusted("elementwise.turn_side", 16, 4);

    /// The most elements of one copy: with the last block's overhang, indices stay below 2^31.
    COPY = Size::adjusted("copy.elements", 1 << 30, 2048);
    /// The shortest run for which the runs kernel is worthwhile: half of what the smallest group of
    /// threads, a warp, takes.
    COPY_RUN_FROM = Size::fixed("copy.run_from", 128);
    /// The longest run that one block copies.
    COPY_RUN_PART = Size::fixed("copy.run_part", 2048);
    /// The shortest run that is copied to all its places before the next one: the writes of
    /// shorter ones, of up to 4 KiB, are left in the order of the destination.
    COPY_REPEAT_FROM = Size::fixed("copy.repeat_from", 256);
    /// The smallest dimension sizes for which a tile is worthwhile.
    COPY_TILE_FROM = Size::fixed("copy.tile_from", 16);

    /// Sequences of at least so many elements are always divided among several blocks ...
    SCAN_LONG = Size::adjusted("scan.long", 1 << 20, 69_632);
    /// ... and those of at least so many are if there are few sequences.
    SCAN_SPREAD = Size::adjusted("scan.spread", 16_384, 512);
    /// The number of sequences that keeps every multiprocessor busy with one block per sequence.
    SCAN_ENOUGH = Size::of_device("scan.enough", 2);
    /// The most sequences of one launch, times their tiles or runs: a grid has fewer than 2^32
    /// threads.
    SCAN_TILES = Size::adjusted("scan.tiles", 1 << 23, 64);
    /// The same for the columns kernel.
    SCAN_COLUMNS = Size::adjusted("scan.columns", 1 << 26, 16);
    /// The number of blocks, with one sequence per thread, from which a thread has two.
    SCAN_PAIRS = Size::of_device("scan.pairs", 1);

    /// Elements per segment of a reduction; determines the result.
    REDUCE_SEGMENT = Size::fixed("reduce.segment", 65_536);
    /// The most segments whose values one pass reduces.
    REDUCE_SEGMENTS = Size::fixed("reduce.segments", 65_536)
        .out_of_reach("a second level begins beyond 2^32 elements, which --huge runs");
    /// The most segments of one launch: a team has at most 128 threads, and a grid fewer than 2^32.
    REDUCE_ITEMS = Size::adjusted("reduce.items", 1 << 24, 64);
    /// The most dimensions of a sequence; one with more is copied first.
    REDUCE_RANK = Size::adjusted("reduce.rank", super::index::MAX_RANK, 2);
    /// The largest inner dimension of a sequence; one with a larger is copied first.
    REDUCE_DIM = Size::adjusted("reduce.dim", u32::MAX as usize, 100);
    /// The number of elements from which positions in a sequence are computed in 64 bits.
    REDUCE_WIDE = Size::adjusted("reduce.wide", 1 << 31, 512);
    /// The number of blocks that gives every multiprocessor a few.
    REDUCE_ENOUGH = Size::of_device("reduce.enough", 1);

    /// The most threads of one launch over rows: with the overhang of the last block, thread
    /// numbers stay below 2^31.
    NORM_THREADS = Size::adjusted("norm.threads", 1 << 30, 4096);
    /// The longest row that fits in a block.
    NORM_ROW = Size::of_device("norm.row", 600);
    /// The most units of one launch over channels: with the overhang of the last block, their
    /// numbers stay below 2^31.
    NORM_CHANNELS = Size::adjusted("norm.channels", 1 << 30, 600);
    /// Elements per segment of a long row; determines the result.
    NORM_SEGMENT = Size::fixed("norm.segment", 65_536);
    /// Elements of a long row that one block writes.
    NORM_PART = Size::fixed("norm.part", 4096);

    /// Rows and columns from which tiles are used.
    MATMUL_TILE_FROM = Size::fixed("matmul.tile_from", 16);
    /// The same for products of bytes.
    MATMUL_BYTES_TILE_FROM = Size::fixed("matmul.bytes_tile_from", 2);
    /// The longest k of which no sum of products of signed bytes exceeds 32 bits: a library may
    /// saturate longer ones.
    MATMUL_BYTES_EXACT = Size::adjusted("matmul.bytes_exact", (1 << 17) - 1, 60);
    /// Rows from which the kernel for thin products takes four at a time.
    MATMUL_THIN_ROWS = Size::fixed("matmul.thin_rows", 2);
    /// Rows and columns from which block products cut integers into digits.
    MATMUL_DIGITS_FROM = Size::fixed("matmul.digits_from", 9);
    /// Rows and columns from which block products of f16 read a packed operand.
    MATMUL_F16_PACKED_FROM = Size::fixed("matmul.f16_packed_from", 5);
    /// The longest side of one launch, so that blocks and indices fit 32 bits.
    MATMUL_SIDE = Size::adjusted("matmul.side", 1 << 24, 40);
    /// The most blocks of one launch, with 256 threads each. Segments do not count: they are only
    /// computed separately if there are few blocks.
    MATMUL_BLOCKS = Size::adjusted("matmul.blocks", 1 << 23, 4);
    /// The most blocks with which segments are computed separately: fewer than 2^32 threads in
    /// blocks of 256, as AMD requires. A result with more segments is the work of one thread, which
    /// at k = 2.3 * 10^9 did not end within 200 s on an H200.
    MATMUL_APART = Size::adjusted("matmul.apart", (1 << 24) - 1, 3);
    /// Results, in tiles of 64 x 64, from which a block product runs on Hopper's warpgroups.
    MATMUL_WARPGROUP = Size::adjusted("matmul.warpgroup", 8, 2);
    /// The number of blocks that fill the device without segments of their own.
    MATMUL_ENOUGH = Size::of_device("matmul.enough", 4);

    /// The bytes of packed operands of a block product above which a batch is computed in parts.
    MATMUL_SCRATCH = Size::adjusted("matmul.scratch", 1 << 30, 1 << 18);

    /// The most rows of attention for which tiles have 16 rows instead of 64.
    ATTENTION_FEW_ROWS = Size::fixed("attention.few_rows", 16);
    /// The rows from which integers of keys and values are made once for all tiles of rows ...
    ATTENTION_FLASH_ROWS = Size::adjusted("attention.flash_rows", 65, 17);
    /// ... if there are so many tiles; fewer are also divided along keys.
    ATTENTION_ENOUGH = Size::of_device("attention.enough", 2);
    /// The most blocks of one launch, so that there are fewer than 2^32 threads.
    ATTENTION_BLOCKS = Size::adjusted("attention.blocks", (1 << 24) - 1, 6);
    /// The most elements of one launch: with the overhang of the last block, they are below 2^31.
    ATTENTION_ELEMENTS = Size::adjusted("attention.elements", 1 << 30, 4096);
    /// The bytes of sums of blocks of keys above which rows are computed in parts.
    ATTENTION_SCRATCH = Size::adjusted("attention.scratch", 1 << 30, 1 << 16);

    /// The most parts of rows that one launch packs or unpacks: with the overhang of the last
    /// block, they are counted in 31 bits.
    PACKED_PARTS = Size::adjusted("packed.parts", 1 << 30, 12);

    /// Elements per strip of a dequantized matrix: 32 MiB.
    QUANTIZED_STRIP = Size::adjusted("quantized.strip", 8 << 20, 2048);
    /// The most rows of float activations for which their own kernel is faster.
    QUANTIZED_FLOAT_ROWS = Size::fixed("quantized.float_rows", 16);
    /// The same for block products, in groups of eight.
    QUANTIZED_BLOCK_ROWS = Size::fixed("quantized.block_rows", 16);
    /// The number of tiles of products through q8_1 from which they fill the device. Fewer leave
    /// multiprocessors idle, and smaller tiles, which decode the matrix more often, are faster.
    QUANTIZED_TILES = Size::of_device("quantized.tiles", 1);
    /// The most rows per matrix, if rows select their matrices, for which the kernel for few rows
    /// is faster.
    QUANTIZED_CHOSEN_ROWS = Size::of_device("quantized.chosen_rows", 4);
    /// The most rows of the result for which each thread block quantizes its own activations.
    QUANTIZED_OWN_ROWS = Size::fixed("quantized.own_rows", 8);
    /// The most rows of a matrix in one launch.
    QUANTIZED_SIDE = Size::adjusted("quantized.side", 1 << 26, 64);
    /// The most thread blocks in a launch of a product ...
    QUANTIZED_BLOCKS = Size::adjusted("quantized.blocks", 1 << 23, 4);
    /// ... that quantizes elements ...
    QUANTIZE_BLOCKS = Size::adjusted("quantized.quantize_blocks", 1 << 23, 1);
    /// ... that quantizes activations ...
    ACTIVATION_BLOCKS = Size::adjusted("quantized.activation_blocks", 1 << 23, 1);
    /// ... and that dequantizes.
    DEQUANTIZE_BLOCKS = Size::adjusted("quantized.dequantize_blocks", 1 << 23, 1);

    /// The longest row that the small tile kernel sorts.
    SORT_SMALL = Size::fixed("sort.small", 1 << crate::manifest::instances::sort::SMALL);
    /// The longest row that one tile holds.
    SORT_TILE = Size::varying("sort.tile");
    /// The longest row of 4-byte positions.
    SORT_ROW = Size::fixed("sort.row", u32::MAX as usize)
        .out_of_reach("longer rows are refused, which needs 2^32 elements");
    /// Tiles from which a row is sorted by digits instead of merged.
    SORT_RADIX_FROM = Size::of_device("sort.radix_from", 2);
    /// Tiles whose counts of a digit are summed in one step.
    SORT_RADIX_TILES = Size::adjusted("sort.radix_tiles", 256, 2);
    /// The records of a merged run that one block writes.
    SORT_STRETCH = Size::fixed("sort.stretch", 256 * 7);
    /// The most blocks of one launch: with 256 threads each, there are fewer than 2^32 threads.
    SORT_BLOCKS = Size::adjusted("sort.blocks", 1 << 23, 64);
    /// The most records of the runs in one launch, if it has more than one row: 1 GiB for 8-byte
    /// records.
    SORT_RECORDS = Size::adjusted("sort.records", 1 << 27, 8192);

    /// The most elements of one launch of a gather: with the last block's overhang, indices stay
    /// below 2^31.
    GATHER = Size::adjusted("gather.elements", 1 << 30, 512);
    /// The longest line of ids for a block that holds a line of the source.
    GATHER_STAGED = Size::adjusted("gather.staged", (1 << 30) - 1, 4096);
    /// Ids per line from which holding the line is worthwhile, or a quarter of the line.
    GATHER_STAGED_FROM = Size::varying("gather.staged_from");
    /// The longest line in bytes that a block may hold, so that shared memory does not limit the
    /// number of threads on a multiprocessor.
    GATHER_STAGED_BYTES = Size::fixed("gather.staged_bytes", 32 << 10);
    /// The most ids that one block takes, if it holds a line.
    GATHER_STAGED_PART = Size::varying("gather.staged_part");
    /// The most blocks of a launch that hold lines, so that threads stay below 2^32.
    GATHER_BLOCKS = Size::adjusted("gather.blocks", (1 << 24) - 1, 1);

    /// The most tuples of ids in one launch: with the last block's overhang, indices stay below
    /// 2^31.
    TUPLES = Size::adjusted("tuples.tuples", 1 << 30, 256);
    /// The most ids of a tuple in one launch.
    TUPLES_IDS = Size::adjusted("tuples.ids", 8, 2);

    /// The most units of a slice for each of which a gather looks at the slice's tuple again.
    GATHER_ND_UNITS = Size::fixed("gather_nd.units", 4);

    /// The most elements of one launch that combines in place: with the last block's overhang,
    /// indices stay below 2^31.
    IN_PLACE = Size::adjusted("in_place.elements", 1 << 30, 512);
    /// Neighbouring lines that are combined in place at a time.
    IN_PLACE_STRIP = Size::fixed("in_place.strip", 32);
    /// The most bytes of a slice that are combined in place: what one memory access transfers.
    SCATTER_SLICE = Size::fixed("scatter.slice", 32);
    /// The number of sources or destinations from which they cannot be sorted.
    SCATTER_SORTED = Size::adjusted("scatter.sorted", (1 << 31) - 1, 65_600);
    /// The most ranges of a line's destinations for which every range reads all ids of the line.
    SCATTER_RANGES = Size::adjusted("scatter.ranges", 8, 1);
    /// The most sources per line that a block processes quickly, even if there are few blocks.
    SCATTER_SHORT = Size::adjusted("scatter.short", 8192, 256);
    /// The number of blocks that keeps every multiprocessor busy.
    SCATTER_ENOUGH = Size::of_device("scatter.enough", 2);
    /// The most destinations per source: all destinations of a line are read and written.
    SCATTER_SPARSE = Size::varying("scatter.sparse");
    /// The most blocks of a launch along lines, so that threads stay below 2^32.
    LINES_BLOCKS = Size::adjusted("lines.blocks", (1 << 24) - 1, 16);
    /// The most sources per line, so that a position plus one fits 32 bits.
    LINES_SOURCES = Size::adjusted("lines.sources", 1 << 31, 300);
    /// The destinations of a line that a block holds in shared memory.
    LINES_RANGE = Size::varying("lines.range");
    /// The most sources and destinations of one sort.
    SORTED = Size::adjusted("sorted.sources", (1 << 31) - 1, 2048);
    /// The most blocks of a launch that moves sorted sources, so that threads stay below 2^32.
    SORTED_BLOCKS = Size::adjusted("sorted.blocks", (1 << 24) - 1, 4);

    /// The number of elements from which positions are computed in 64 bits.
    COMPACT_WIDE = Size::adjusted("compact.wide", 1 << 31, 512);
    /// The most tiles of one launch: with 256 threads each, there are fewer than 2^32 threads.
    COMPACT_TILES = Size::adjusted("compact.tiles", 1 << 23, 1);
    /// The most tiles whose counts each block sums itself, a thread each.
    COMPACT_SUMMED = Size::adjusted("compact.summed", 256, 2);
    /// The number of tiles from which blocks that count only take several: as many blocks as fill
    /// any device.
    COMPACT_COUNTED = Size::adjusted("compact.counted", 1 << 11, 2);
    /// The threads of a block that sums counts before tiles, a power of two ...
    COMPACT_PLACES = Size::of_device("compact.places", 4);
    /// ... and the most of its blocks: each reads all counts before its own.
    COMPACT_PLACES_BLOCKS = Size::adjusted("compact.places_blocks", 128, 2);

    /// Channels per group from which tiles are used.
    CONV_TILE_FROM = Size::fixed("conv.tile_from", 16);
    /// The largest number of blocks in a launch, of at most 256 threads each. Segments do not
    /// count: they are only computed separately if there are few blocks.
    CONV_BLOCKS = Size::adjusted("conv.blocks", 1 << 23, 64);
    /// Limit for the outputs of a launch: with the overhang of the last block they are counted in
    /// 31 bits.
    CONV_OUTPUTS = Size::adjusted("conv.outputs", 1 << 30, 256);
    /// The distance from which a tile cannot hold the positions of several images.
    CONV_FAR = Size::adjusted("conv.far", 1 << 31, 512);
    /// The most blocks with which segments are computed separately.
    CONV_APART = Size::adjusted("conv.apart", (1 << 23) - 1, 3);
    /// The number of blocks that fill the device without segments of their own.
    CONV_ENOUGH = Size::of_device("conv.enough", 4);
    /// The outputs of a group from which a thread computes eight rows of four ...
    CONV_SLIDES = Size::adjusted("conv.slides", 4096, 16);
    /// ... if all groups have so many.
    CONV_SLIDES_ALL = Size::of_device("conv.slides_all", 4096);
    /// The positions that a dimension may span.
    CONV_SPAN = Size::fixed("conv.span", 1 << 29)
        .out_of_reach("a wider dimension is split, and refused if it cannot be");
    /// The bits of positions along two dimensions that are one number.
    CONV_ROW_BITS = Size::fixed("conv.row_bits", 30)
        .out_of_reach("wider dimensions are split, and refused if they cannot be");

    /// The most units of one launch: a grid has fewer than 2^32 threads.
    UPSAMPLE = Size::adjusted("upsample.units", 1 << 30, 128);
    /// The sides from which positions are not computed by bands.
    UPSAMPLE_SIDE = Size::adjusted("upsample.side", 1 << 31, 96);
    /// The most units of one launch: a grid has fewer than 2^32 threads.
    GRID_SAMPLE = Size::adjusted("grid_sample.units", 1 << 30, 128);
    /// The same of a resize.
    RESIZE = Size::adjusted("resize.units", 1 << 30, 128);
    /// The most channels that a thread takes of a position: enough that finding the elements around
    /// it does not count.
    CHANNELS = Size::fixed("channels.most", 16);
    /// The results from which a thread takes several channels of a position.
    CHANNELS_ENOUGH = Size::adjusted("channels.enough", 1 << 18, 32);
    /// The most elements of one launch of a flip, roll or padding: with the last block's overhang,
    /// indices stay below 2^31.
    INDEX_MAP = Size::adjusted("index_map.elements", 1 << 30, 2048);
    /// The shortest row whose position is worth computing once for all its elements: a warp's;
    /// must match map.cu.
    INDEX_MAP_ROW_FROM = Size::fixed("index_map.row_from", 32);
    /// The most elements of a row, with those before it, for which packs count places in 31 bits.
    INDEX_MAP_PACKS = Size::adjusted("index_map.packs", 1 << 29, 100);
    /// The longest row that one block moves.
    INDEX_MAP_ROW_PART = Size::fixed("index_map.row_part", 2048);
    /// The most tensors that one launch joins ...
    CONCAT_INPUTS = Size::adjusted("concat.inputs", 16, 2);
    /// ... and the most elements.
    CONCAT = Size::adjusted("concat.elements", 1 << 30, 2048);
    /// The shortest row, as for maps.
    CONCAT_ROW_FROM = Size::fixed("concat.row_from", 32);
    /// The longest row that one block moves.
    CONCAT_ROW_PART = Size::fixed("concat.row_part", 2048);

    /// The most units of one launch: indices stay below 2^31.
    ROPE = Size::adjusted("rope.units", 1 << 30, 64);
    /// The most dimensions of a draw; numbers for more are drawn in order and copied.
    RANDOM_RANK = Size::adjusted("random.rank", super::index::MAX_RANK, 2);
    /// The number of elements from which their places are computed in 64 bits.
    RANDOM_WIDE = Size::adjusted("random.wide", 1 << 31, 256);
}

/// A size at which launch code changes its path, and about how often each side was taken in this
/// process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchSize {
    /// The name, such as `copy.run_from`.
    pub name: &'static str,
    /// The value of normal launches; `None` if it varies with the device, the dtype or the
    /// operands.
    pub value: Option<usize>,
    /// How often a smaller number was met; for a limit, one within it.
    pub below: u64,
    /// How often the size was met or, for a limit, exceeded.
    pub reached: u64,
    /// Why no small tensor gets to the size, even with small launches.
    pub out_of_reach: Option<&'static str>,
}

/// Returns every size, in the order of the table.
pub fn all() -> Vec<LaunchSize> {
    let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let one = |size: &&Size| LaunchSize {
        name: size.name,
        value: size.normal,
        below: load(&size.below),
        reached: load(&size.reached),
        out_of_reach: size.out_of_reach,
    };
    ALL.iter().map(one).collect()
}

/// Switches small launches on or off on this thread: splits and paths that need huge tensors then
/// happen with small ones. Results are the same. Returns whether they were on.
pub fn set_small(small: bool) -> bool {
    let thread = THREAD.get();
    THREAD.set(Thread { small, ..thread });
    thread.small
}

/// Returns whether small launches decided, or would have decided, anything else than normal ones
/// on this thread since the last call.
pub fn take_differs() -> bool {
    let thread = THREAD.get();
    THREAD.set(Thread { differs: false, ..thread });
    thread.differs
}

#[cfg(test)]
mod tests;
