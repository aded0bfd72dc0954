// A scatter as lines along its dimension, which share no destination: which of them are a block's,
// and where they lie.
#pragma once

#include "device_lib/ids.cuh"
#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

// The host's `Lines`. A block has a range of the destinations of a strip of neighbouring lines: a
// power of two of them, of which the last strip may lack some.
struct Lines {
    // Strips begin at these places in destination, ids and source; from a line to the next is a
    // step across, from an element to the next a step along.
    Index<3> groups;
    u64 across[3];
    u64 along[3];
    // Sources of a line, and its destinations.
    u64 n;
    u64 size;
    // Lines of a group, and strips they are cut into.
    u32 lines;
    u32 across_shift;
    Divisor strips;
    // Ranges that the destinations are cut into, and how many of a line's are in one.
    Divisor ranges;
    u32 range;
    // Whether a block's destinations are one line's, lie without gaps and begin at multiples of 16
    // bytes.
    u32 vectors;
};

// As in ops/indexing/lines.rs.
static_assert(sizeof(Lines) == 400);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Lines, across) == 296 && ISOBIT_OFFSET(Lines, lines) == 360);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Lines, strips) == 368 && ISOBIT_OFFSET(Lines, range) == 392);

// What one thread needs of it: its line, which is that of every element it meets.
struct Line {
    // The first element in destination, ids and source.
    u64 at[3];
    bool exists;
    // Its place among the strip's lines, and the place of the thread's first element along it.
    u32 column;
    u32 row;
    // From one element of the thread to its next.
    u32 rows;
    // The block's destinations.
    u64 low;
    u32 range;
};

ISOBIT_FN Line line_of(const Lines &l, u32 block) {
    const u32 part = divide(block_x(), l.ranges), range = block_x() - part * l.ranges.size;
    const u32 group = divide(part, l.strips), strip = part - group * l.strips.size;
    const Offsets<3> start = offsets_of(l.groups, group);
    const u32 across = 1u << l.across_shift;
    Line line;
    line.column = thread_x() & (across - 1);
    line.row = thread_x() >> l.across_shift;
    line.rows = block >> l.across_shift;
    const u32 number = strip * across + line.column;
    line.exists = number < l.lines;
#pragma unroll
    for (int o = 0; o < 3; o++)
        line.at[o] = start.at[o] + number * l.across[o];
    line.low = (u64)range * l.range;
    line.range = l.size - line.low < l.range ? (u32)(l.size - line.low) : l.range;
    return line;
}

// Whether an id names one of the block's destinations.
template <typename I>
ISOBIT_FN bool is_ours(I id, const Lines &l, const Line &line, bool &fault) {
    return is_inside(id, l.size, fault) && (u64)id - line.low < line.range;
}

} // namespace isobit
