// Sources sorted by destination, as sort/radix.cu leaves them, and the slices that each of them
// moves.
#pragma once

#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"

namespace isobit {

ISOBIT_CONST u32 SORTED_BLOCK = 256;

// The host's `Sorted`. If a kernel moves packs, units are packs of elements.
struct Sorted {
    // Destination and source of a line, and of the units of a slice.
    Index<2> lines;
    Index<2> slice;
    // The step from one element of a line to the next, in destination and source.
    u64 dst_step;
    u64 src_step;
    // Sources and destinations per line.
    Divisor n;
    Divisor size;
    // The number of sources, and the key of sources without a destination.
    u32 count;
    u32 nowhere;
    // Units per slice; a group of 2^across_shift threads takes a strip of them.
    u32 width;
    u32 across_shift;
    Divisor strips;
};

// Must match ops/indexing/sorted.rs.
static_assert(sizeof(Sorted) == 536);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Sorted, slice) == 232 && ISOBIT_OFFSET(Sorted, dst_step) == 464);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Sorted, n) == 480 && ISOBIT_OFFSET(Sorted, count) == 504);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Sorted, strips) == 520);

// A thread's source and its unit of the slice.
struct SortedItem {
    u32 item;
    u32 column;
    bool exists;
};

ISOBIT_FN SortedItem sorted_item(const Sorted &s) {
    const u32 group = divide(block_x(), s.strips), strip = block_x() - group * s.strips.size;
    const u32 across = 1u << s.across_shift;
    SortedItem i;
    i.item = group * (SORTED_BLOCK >> s.across_shift) + (thread_x() >> s.across_shift);
    i.column = strip * across + (thread_x() & (across - 1));
    i.exists = i.item < s.count && i.column < s.width;
    return i;
}

ISOBIT_FN u64 destination_of(const Sorted &s, u32 key) {
    const u32 line = divide(key, s.size);
    return offsets_of(s.lines, line).at[0] + (key - line * s.size.size) * s.dst_step;
}

ISOBIT_FN u64 source_of(const Sorted &s, u32 source) {
    const u32 line = divide(source, s.n);
    return offsets_of(s.lines, line).at[1] + (source - line * s.n.size) * s.src_step;
}

} // namespace isobit
