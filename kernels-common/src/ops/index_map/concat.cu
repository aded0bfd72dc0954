// Joins several tensors in one launch. A block takes elements of one of them.
#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

// Must match ops/index_map/concat.rs.
ISOBIT_CONST u32 CONCAT_INPUTS = 16;
ISOBIT_CONST u32 CONCAT_BLOCK = 256;
// Elements that a thread has in flight at once.
ISOBIT_CONST u32 CONCAT_EACH = 4;
ISOBIT_CONST u32 CONCAT_ROW_EACH = 8;

// An input; the host's `Part` in index_map/concat.rs.
struct Part {
    u64 src;
    u64 stride[INDEX_RANK];
    // The offset in the destination of its first element.
    u64 to;
    Divisor dim[INDEX_RANK];
    u32 first_block;
    // The number of its elements or, if rows are moved, of its rows.
    u32 count;
    // Rows: as in copy_runs.
    u32 length;
    Divisor parts;
    u32 across_shift;
};

// The host's `Parts`.
struct Parts {
    u32 rank;
    u32 inputs;
    u64 stride[INDEX_RANK];
    Part part[CONCAT_INPUTS];
    // Packs: the elements of a row of the destination, and of all rows.
    Divisor row;
    u32 elements;
};

static_assert(sizeof(Part) == 208 && sizeof(Parts) == 3416);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Part, to) == 72 && ISOBIT_OFFSET(Part, dim) == 80);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Part, first_block) == 176 && ISOBIT_OFFSET(Part, parts) == 188);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Parts, stride) == 8 && ISOBIT_OFFSET(Parts, part) == 72);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Parts, row) == 3400 && ISOBIT_OFFSET(Parts, elements) == 3412);

ISOBIT_FN u32 part_of_block(const Parts &parts) {
    u32 p = 0;
#pragma unroll 1
    while (p + 1 < parts.inputs && parts.part[p + 1].first_block <= block_x())
        p++;
    return p;
}

// The offsets of an input's element or row with number `i` in the input and in the destination.
ISOBIT_FN Offsets<2> joined_offsets(const Parts &parts, u32 p, u32 rank, u32 i) {
    Offsets<2> offsets{0, parts.part[p].to};
#pragma unroll 1
    for (u32 d = rank; d-- > 0;) {
        const u32 q = divide(i, parts.part[p].dim[d]);
        const u32 r = i - q * parts.part[p].dim[d].size;
        i = q;
        offsets.at[0] += r * parts.part[p].stride[d];
        offsets.at[1] += r * parts.stride[d];
    }
    return offsets;
}

template <typename T>
ISOBIT_FN void concat_elements(T *dst, const Parts &parts) {
    const u32 p = part_of_block(parts);
    const T *src = (const T *)parts.part[p].src;
    const u32 n = parts.part[p].count;
    const u32 first = (block_x() - parts.part[p].first_block) * (CONCAT_BLOCK * CONCAT_EACH) + thread_x();
    Offsets<2> place[CONCAT_EACH];
    T value[CONCAT_EACH];
#pragma unroll
    for (u32 e = 0; e < CONCAT_EACH; e++)
        place[e] = joined_offsets(parts, p, parts.rank, first + e * CONCAT_BLOCK);
#pragma unroll
    for (u32 e = 0; e < CONCAT_EACH; e++)
        if (first + e * CONCAT_BLOCK < n)
            value[e] = src[place[e].at[0]];
#pragma unroll
    for (u32 e = 0; e < CONCAT_EACH; e++)
        if (first + e * CONCAT_BLOCK < n)
            dst[place[e].at[1]] = value[e];
}

// Rows of elements that are adjacent on both sides.
template <typename T>
ISOBIT_FN void concat_rows(T *dst, const Parts &parts) {
    const u32 p = part_of_block(parts), shift = parts.part[p].across_shift, across = 1u << shift;
    const u32 block = block_x() - parts.part[p].first_block, length = parts.part[p].length;
    const u32 group = divide(block, parts.part[p].parts), part = block - group * parts.part[p].parts.size;
    const u32 row = group * (CONCAT_BLOCK >> shift) + (thread_x() >> shift);
    const u32 first = part * across * CONCAT_ROW_EACH + (thread_x() & (across - 1));
    if (row >= parts.part[p].count)
        return;
    const Offsets<2> place = joined_offsets(parts, p, parts.rank - 1, row);
    const T *src = (const T *)parts.part[p].src + place.at[0] + first;
    dst += place.at[1] + first;
    T value[CONCAT_ROW_EACH];
#pragma unroll
    for (u32 e = 0; e < CONCAT_ROW_EACH; e++)
        if (first + e * across < length)
            value[e] = src[e * across];
#pragma unroll
    for (u32 e = 0; e < CONCAT_ROW_EACH; e++)
        if (first + e * across < length)
            dst[e * across] = value[e];
}

// Rows of elements of up to 4 bytes, a pack of adjacent ones per thread. The destination is
// contiguous and aligned to 16 bytes, and a row has at least a pack of each input. Rows that are
// moved one by one begin within a sector of memory: f32 took 1.26 times the time of aligned ones.
template <typename T>
ISOBIT_FN void concat_packs(T *dst, const Parts &parts) {
    constexpr u32 W = 16 / sizeof(T);
    const u32 first = (block_x() * CONCAT_BLOCK + thread_x()) * W;
    if (first >= parts.elements)
        return;
    const u32 row = divide(first, parts.row), at = first - row * parts.row.size;
    u32 p = 0;
#pragma unroll 1
    while (p + 1 < parts.inputs && parts.part[p + 1].to <= at)
        p++;
    const auto source = [&](u32 input, u32 of) {
        return (const T *)parts.part[input].src + joined_offsets(parts, input, parts.rank - 1, of).at[0];
    };
    const u32 begin = at - (u32)parts.part[p].to, own = parts.part[p].length - begin;
    const T *here = source(p, row) + begin, *next = here;
    const bool is_whole = first + W <= parts.elements;
    if (own < W && is_whole)
        next = (p + 1 < parts.inputs ? source(p + 1, row) : source(0, row + 1)) - own;
    if (is_whole) {
        Pack<W, T> x;
#pragma unroll
        for (u32 v = 0; v < W; v++)
            x.v[v] = (v < own ? here : next)[v];
        store(dst + first, x);
    } else {
        // The last elements are of the last input.
#pragma unroll
        for (u32 v = 0; v < W; v++)
            if (first + v < parts.elements)
                dst[first + v] = here[v];
    }
}

} // namespace isobit

#define ISOBIT_CONCAT(NAME, T)                                                                                         \
    ISOBIT_KERNEL(256) NAME(isobit::T *dst, const isobit::Parts parts) {                                               \
        isobit::concat_elements(dst, parts);                                                                           \
    }
#define ISOBIT_CONCAT_ROWS(NAME, T)                                                                                    \
    ISOBIT_KERNEL(256) NAME(isobit::T *dst, const isobit::Parts parts) {                                               \
        isobit::concat_rows(dst, parts);                                                                               \
    }
#define ISOBIT_CONCAT_PACKS(NAME, T)                                                                                   \
    ISOBIT_KERNEL(256) NAME(isobit::T *dst, const isobit::Parts parts) {                                               \
        isobit::concat_packs(dst, parts);                                                                              \
    }
