// A scatter as lines along its dimension. Lines share no destination. This file determines which
// lines belong to a block, and where they lie.
#pragma once

#include "device_lib/ids.cuh"
#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

// The host's `Lines`. A block has a range of the destinations of a strip of neighbouring lines. The
// number of lines in a strip is a power of two; the last strip may have fewer.
struct Lines {
    // Where strips begin in destination, ids and source, and the place of their first id in the
    // order of the ids. `across` is the step from one line to the next, `along` the step from one
    // element to the next.
    Index<4> groups;
    u64 across[4];
    u64 along[4];
    u64 place;
    // Sources per line, and destinations per line.
    u64 n;
    u64 size;
    // The number of destinations if negative ids count from the end, else 0.
    u64 from_end;
    // Lines per group, and the number of strips that they are divided into.
    u32 lines;
    u32 across_shift;
    Divisor strips;
    // Ranges that the destinations are divided into, and the destinations of a line per range.
    Divisor ranges;
    u32 range;
    // Whether a block's destinations belong to one line, are contiguous, and begin at multiples of
    // 16 bytes.
    u32 vectors;
};

// Must match ops/indexing/lines.rs.
static_assert(sizeof(Lines) == 496);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Lines, across) == 360 && ISOBIT_OFFSET(Lines, lines) == 456);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Lines, strips) == 464 && ISOBIT_OFFSET(Lines, range) == 488);

// What one thread needs: its line, to which all of its elements belong.
struct Line {
    // The first element in destination, ids and source, and the place of the first id.
    u64 at[4];
    bool exists;
    // The position of the line in the strip, and that of the thread's first element along the line.
    u32 column;
    u32 row;
    // The distance from one element of the thread to its next.
    u32 rows;
    // The block's destinations.
    u64 low;
    u32 range;
};

ISOBIT_FN Line line_of(const Lines &l, u32 block) {
    const u32 part = divide(block_x(), l.ranges), range = block_x() - part * l.ranges.size;
    const u32 group = divide(part, l.strips), strip = part - group * l.strips.size;
    const Offsets<4> start = offsets_of(l.groups, group);
    const u32 across = 1u << l.across_shift;
    Line line;
    line.column = thread_x() & (across - 1);
    line.row = thread_x() >> l.across_shift;
    line.rows = block >> l.across_shift;
    const u32 number = strip * across + line.column;
    line.exists = number < l.lines;
#pragma unroll
    for (int o = 0; o < 4; o++)
        line.at[o] = start.at[o] + number * l.across[o];
    line.at[3] += l.place;
    line.low = (u64)range * l.range;
    line.range = l.size - line.low < l.range ? (u32)(l.size - line.low) : l.range;
    return line;
}

// Whether an id selects one of the block's destinations; `key` becomes its position among them.
template <typename I>
ISOBIT_FN bool is_ours(I id, const Lines &l, const Line &line, u64 &key, bool &fault) {
    u64 at;
    const bool inside = is_inside(id, l.size, l.from_end, at, fault);
    key = at - line.low;
    return inside && key < line.range;
}

// Reports the first id out of range of a thread that has met one; `ids` are those of its line.
template <typename I>
ISOBIT_FN void report_line(u64 *flag, const I *ids, const Lines &l, const Line &line) {
    report_first(flag, ids, l.along[1], line.at[3], l.along[3], line.row, l.n, line.rows, l.size, l.from_end);
}

} // namespace isobit
