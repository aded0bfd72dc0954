// Moves elements by a map of their indices: flips, rolls and padding.
#include "ops/index_map/map.cuh"

namespace isobit {

// Must match ops/index_map/mod.rs.
ISOBIT_CONST u32 MAP_BLOCK = 256;
// Elements that a thread has in flight at once.
ISOBIT_CONST u32 MAP_EACH = 4;

template <typename T>
ISOBIT_FN void map_elements(const T *src, T *dst, const IndexMap &map, u32 n, T constant) {
    const u32 first = block_x() * (MAP_BLOCK * MAP_EACH) + thread_x();
    Moved moved[MAP_EACH];
    T value[MAP_EACH];
#pragma unroll
    for (u32 e = 0; e < MAP_EACH; e++)
        moved[e] = moved_of(map, map.index.rank, first + e * MAP_BLOCK);
#pragma unroll
    for (u32 e = 0; e < MAP_EACH; e++) {
        value[e] = constant;
        if (first + e * MAP_BLOCK < n && !moved[e].constant)
            value[e] = src[moved[e].from];
    }
#pragma unroll
    for (u32 e = 0; e < MAP_EACH; e++)
        if (first + e * MAP_BLOCK < n)
            dst[moved[e].to] = value[e];
}

// Long rows of the innermost dimension; the host's `Rows` in index_map/map.rs. A thread computes
// the position of its row once for all elements that it moves.
struct Rows {
    IndexMap map;
    u32 count;
    u32 length;
    // Parts of a row. A group of 2^across_shift threads moves each part.
    Divisor parts;
    u32 across_shift;
};

// Must match ops/index_map/map.rs.
static_assert(sizeof(Rows) == 416);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Rows, count) == 392 && ISOBIT_OFFSET(Rows, parts) == 400);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Rows, across_shift) == 412);

ISOBIT_CONST u32 ROW_EACH = 8;

template <typename T>
ISOBIT_FN void map_rows(const T *src, T *dst, const Rows &rows, T constant) {
    const u32 across = 1u << rows.across_shift, last = rows.map.index.rank - 1;
    const u32 group = divide(block_x(), rows.parts), part = block_x() - group * rows.parts.size;
    const u32 row = group * (MAP_BLOCK >> rows.across_shift) + (thread_x() >> rows.across_shift);
    const u32 first = part * across * ROW_EACH + (thread_x() & (across - 1));
    if (row >= rows.count)
        return;
    const Moved moved = moved_of(rows.map, last, row);
    const u64 from_step = rows.map.index.stride[0][last], to_step = rows.map.index.stride[1][last];
    dst += moved.to;
    T value[ROW_EACH];
#pragma unroll
    for (u32 e = 0; e < ROW_EACH; e++) {
        const u32 i = first + e * across;
        const i64 from = source_index(rows.map, last, i);
        value[e] = constant;
        if (i < rows.length && !moved.constant && from >= 0)
            value[e] = src[moved.from + (u64)from * from_step];
    }
#pragma unroll
    for (u32 e = 0; e < ROW_EACH; e++) {
        const u32 i = first + e * across;
        if (i < rows.length)
            dst[i * to_step] = value[e];
    }
}

} // namespace isobit

#define ISOBIT_MAP(NAME, T)                                                                                            \
    ISOBIT_KERNEL(256)                                                                                                 \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::IndexMap map, isobit::u32 n, isobit::u32 low,             \
         isobit::u32 high) {                                                                                           \
        isobit::map_elements(src, dst, map, n, isobit::repeated<isobit::T>(low, high));                                \
    }
#define ISOBIT_MAP_ROWS(NAME, T)                                                                                       \
    ISOBIT_KERNEL(256)                                                                                                 \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::Rows rows, isobit::u32 low, isobit::u32 high) {           \
        isobit::map_rows(src, dst, rows, isobit::repeated<isobit::T>(low, high));                                      \
    }
