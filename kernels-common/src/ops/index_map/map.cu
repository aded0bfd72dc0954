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

// Moves elements `first`, `first + across` ... of a row whose dimension has a rule.
template <u32 RULE, typename T>
ISOBIT_FN void map_row(const T *src, T *dst, const Rows &rows, const Moved &moved, u32 first, T constant) {
    const u32 across = 1u << rows.across_shift, last = rows.map.index.rank - 1;
    const u64 from_step = rows.map.index.stride[0][last], to_step = rows.map.index.stride[1][last];
    const i64 start = rows.map.start[last], size = rows.map.size[last];
    dst += moved.to;
    T value[ROW_EACH];
#pragma unroll
    for (u32 e = 0; e < ROW_EACH; e++) {
        const u32 i = first + e * across;
        const i64 from = by_rule<RULE>(start + (i64)i, size);
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

template <typename T>
ISOBIT_FN void map_rows(const T *src, T *dst, const Rows &rows, T constant) {
    const u32 across = 1u << rows.across_shift, last = rows.map.index.rank - 1;
    const u32 group = divide(block_x(), rows.parts), part = block_x() - group * rows.parts.size;
    const u32 row = group * (MAP_BLOCK >> rows.across_shift) + (thread_x() >> rows.across_shift);
    const u32 first = part * across * ROW_EACH + (thread_x() & (across - 1));
    if (row >= rows.count)
        return;
    const Moved moved = moved_of(rows.map, last, row);
    // Chosen for each element, the rule would be a jump for each.
    switch (rows.map.rule[last]) {
    case RULE_WRAP:
        return map_row<RULE_WRAP>(src, dst, rows, moved, first, constant);
    case RULE_CLAMP:
        return map_row<RULE_CLAMP>(src, dst, rows, moved, first, constant);
    case RULE_REFLECT:
        return map_row<RULE_REFLECT>(src, dst, rows, moved, first, constant);
    case RULE_CONSTANT:
        return map_row<RULE_CONSTANT>(src, dst, rows, moved, first, constant);
    default:
        return map_row<RULE_ALONG>(src, dst, rows, moved, first, constant);
    }
}

// Elements of up to 4 bytes, a pack of adjacent ones per thread: with a position of 64 bits for
// each, computing them takes longer than moving the elements. The destination is contiguous and
// aligned to 16 bytes, its rows are at least PACKS_ROW long, and neighbours in a row of the source
// are adjacent.
ISOBIT_CONST u32 PACKS_ROW = 32;

// The rows that a pack from element `begin` of a row is in: its own, for `own` elements or more,
// and the next one.
template <typename T>
struct PackRows {
    const T *row[2];
    bool constant[2];
    i32 begin;
    i32 own;
};

// Loads those elements `from` to `to` of a pack that exist.
template <int W, typename T>
ISOBIT_FN void load_part(Pack<W, T> &x, const T *src, i32 from, i32 to) {
#pragma unroll
    for (i32 v = 0; v < W; v++)
        if ((v >= from) & (v < to))
            x.v[v] = src[v];
}

// A pack of what is in the source, and constants.
template <int W, typename T>
ISOBIT_FN Pack<W, T> pack_among_constants(const PackRows<T> &rows, i32 start, i32 size, T constant) {
    Pack<W, T> x;
#pragma unroll
    for (u32 v = 0; v < W; v++)
        x.v[v] = constant;
    if (!rows.constant[0]) {
        const i32 at = start + rows.begin, end = size - at;
        load_part(x, rows.row[0] + at, -at, end < rows.own ? end : rows.own);
    }
    if (rows.own < W && !rows.constant[1]) {
        const i32 at = start - rows.own;
        load_part(x, rows.row[1] + at, start < 0 ? -at : rows.own, size - at);
    }
    return x;
}

// A pack of elements of which each comes from one of the source. Loaded under a condition, each
// would have a branch of its own.
template <u32 RULE, int W, typename T>
ISOBIT_FN Pack<W, T> pack_by_rule(const PackRows<T> &rows, i32 start, i32 size) {
    Pack<W, T> x;
#pragma unroll
    for (i32 v = 0; v < W; v++) {
        const bool own = v < rows.own;
        const i32 at = start + v + (own ? rows.begin : -rows.own);
        x.v[v] = (own ? rows.row[0] : rows.row[1])[by_rule<RULE>(at, size)];
    }
    return x;
}

template <typename T>
ISOBIT_FN void map_packs(const T *src, T *dst, const IndexMap &map, u32 n, T constant) {
    constexpr u32 W = 16 / sizeof(T), BLOCK = MAP_BLOCK * W, ROWS = BLOCK / PACKS_ROW + 2;
    static_assert(ROWS <= MAP_BLOCK && W <= PACKS_ROW);
    // Where the block's rows come from, and one more: a pack may begin in the last.
    __shared__ u64 starts[ROWS];
    __shared__ u32 constants[ROWS];
    const u32 last = map.index.rank - 1, length = map.index.dim[last].size;
    const u32 block = block_x() * BLOCK, top = divide(block, map.index.dim[last]);
    if (thread_x() < ROWS) {
        const u32 row = top + thread_x();
        // The last pack may be partly of no row: it has elements of its own in their place.
        const bool exists = (u64)row * length < n;
        const Moved moved = moved_of(map, last, exists ? row : top);
        starts[thread_x()] = moved.from;
        constants[thread_x()] = moved.constant || !exists;
    }
    barrier();
    const u32 first = block + thread_x() * W;
    if (first >= n)
        return;
    const u32 number = divide(first, map.index.dim[last]), row = number - top;
    const i32 begin = (i32)(first - number * length), own = (i32)length - begin;
    const PackRows<T> rows{{src + starts[row], src + starts[row + 1]},
                           {constants[row] != 0, constants[row + 1] != 0},
                           begin,
                           own};
    const i32 start = (i32)map.start[last], size = (i32)map.size[last];
    Pack<W, T> x;
    switch (map.rule[last]) {
    case RULE_WRAP:
        x = pack_by_rule<RULE_WRAP, W>(rows, start, size);
        break;
    case RULE_CLAMP:
        x = pack_by_rule<RULE_CLAMP, W>(rows, start, size);
        break;
    case RULE_REFLECT:
        x = pack_by_rule<RULE_REFLECT, W>(rows, start, size);
        break;
    case RULE_CONSTANT:
        x = pack_among_constants<W>(rows, start, size, constant);
        break;
    default:
        x = pack_among_constants<W>(rows, start, start + (i32)length, constant);
    }
    if (first + W <= n) {
        store(dst + first, x);
    } else {
#pragma unroll
        for (u32 v = 0; v < W; v++)
            if (first + v < n)
                dst[first + v] = x.v[v];
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
#define ISOBIT_MAP_PACKS(NAME, T)                                                                                      \
    ISOBIT_KERNEL(256)                                                                                                 \
    NAME(const isobit::T *src, isobit::T *dst, const isobit::IndexMap map, isobit::u32 n, isobit::u32 low,             \
         isobit::u32 high) {                                                                                           \
        isobit::map_packs(src, dst, map, n, isobit::repeated<isobit::T>(low, high));                                   \
    }
