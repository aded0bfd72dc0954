// Writes what marked elements give, in order: the elements themselves, their coordinates, or for
// every element how many values begin up to it. Each block takes a tile, and knows how many marks
// come before it.
#include "device_lib/bits.cuh"
#include "device_lib/vector.cuh"
#include "ops/compact/tile.cuh"

namespace isobit::compact {

// The host's `Write`.
struct Write {
    // The elements' layout, the dimensions of coordinates with the step from one coordinate to the
    // next, or the destination's layout.
    Walk walk;
    u64 n;
    // The tile of the first block, and the tiles of all launches.
    u64 first;
    u64 tiles;
    // Results of marks, at most; those after the last mark get `fill`.
    u64 end;
    u64 step;
    u64 fill;
    // The elements that share the coordinates of the walk.
    u64 inner;
    u32 wide;
    // Nonzero: `places` has the sum of the counts before each tile, not the count of each tile.
    u32 summed;
    // Nonzero: the elements, or the results, are contiguous, and aligned to 16 bytes.
    u32 src_packs;
    u32 dst_packs;
    // Nonzero: the rows of coordinates are contiguous.
    u32 flat;
    // The units of a row of coordinates, and the coordinates of each, 1 or 2; 0 if positions do not
    // fit 32 bits or other elements share the coordinates.
    u32 unit;
    Divisor units;
};

// Must match ops/compact/write.rs.
static_assert(sizeof(Write) == 328);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Write, n) == 232 && ISOBIT_OFFSET(Write, end) == 256);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Write, inner) == 280 && ISOBIT_OFFSET(Write, wide) == 288);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Write, dst_packs) == 300 && ISOBIT_OFFSET(Write, units) == 312);

// The marks before a tile, and all of them.
struct Places {
    u64 before;
    u64 all;
};

ISOBIT_FN Places places_of(const u64 *places, u64 tile, const Write &w, u32 *sums) {
    if (w.summed != 0)
        return Places{places[tile], places[w.tiles]};
    // So few tiles that a thread takes each: a launch would take longer than this sum.
    __shared__ u32 found;
    u32 total;
    const u32 before = sum_before(thread_x() < w.tiles ? (u32)places[thread_x()] : 0, sums, BLOCK, total);
    if (thread_x() == tile)
        found = before;
    barrier();
    return Places{found, total};
}

// A block's tile: its first element, the marks before it, and how many marks it has; of the thread,
// its marks, and how many of the tile come before them.
struct TileMarks {
    u64 start;
    Places at;
    u32 total, bits, before;
};

ISOBIT_FN TileMarks marks_of(const u16 *words, const u64 *places, const Write &w) {
    __shared__ u32 sums[2 * BLOCK];
    const u64 tile = w.first + block_x();
    TileMarks t;
    t.start = tile * TILE;
    t.bits = words[tile * BLOCK + thread_x()];
    t.at = places_of(places, tile, w, sums);
    t.before = sum_before(count_bits(t.bits), sums, BLOCK, t.total);
    return t;
}

// Lists the places of a tile's marked elements in order.
ISOBIT_FN void list_marks(const TileMarks &t, u16 *list) {
    u32 at = t.before;
#pragma unroll 1
    for (u32 bits = t.bits; bits != 0; bits &= bits - 1)
        list[at++] = (u16)(thread_x() * EACH + lowest_bit(bits));
    barrier();
}

// Calls `pack` or `one` with the numbers of elements `from` to `to`: `pack` with the first of `W`
// that begin at a multiple of it, if the row `packs`.
template <u32 W, typename AllOf, typename One>
ISOBIT_FN void each_pack(u64 from, u64 to, bool packs, AllOf pack, One one) {
    const u32 me = thread_x();
    if (!packs) {
#pragma unroll 1
        for (u64 i = from + me; i < to; i += BLOCK)
            one(i);
        return;
    }
    const u64 up = (from + W - 1) / W * W, down = to / W * W;
    const u64 low = up < to ? up : to, high = down < low ? low : down;
#pragma unroll 1
    for (u64 i = low + me * W; i < high; i += BLOCK * W)
        pack(i);
    // A thread each, of less than a pack: one after the other, clang would load them as a pack.
    if (from + me < low)
        one(from + me);
    if (high + me < to)
        one(high + me);
}

// Fills what of a row the marks leave to a tile: each takes as many results as it has elements.
// A result has `units` elements.
template <typename U>
ISOBIT_FN void fill_rest(U *dst, u64 step, u64 start, u64 units, u64 all, const Write &w) {
    constexpr u32 W = 16 / sizeof(U);
    const u64 from = start < all ? all : start, to = start + TILE < w.end ? start + TILE : w.end;
    Pack<W, U> filled;
#pragma unroll
    for (u32 v = 0; v < W; v++)
        filled.v[v] = (U)w.fill;
    each_pack<W>(
        from * units, to * units, w.dst_packs != 0, [&](u64 i) { store(dst + i, filled); },
        [&](u64 i) { dst[i * step] = (U)w.fill; });
}

// Marked elements are collected in shared memory if a tile has so many that reading all of them
// costs no more; 8-byte elements would leave an AMD multiprocessor a single block.
template <typename U>
constexpr bool collects = sizeof(U) < 8;
ISOBIT_CONST u32 COLLECTED = TILE / 16;

// Writes a whole tile's marked elements through `kept`, up to result `end`.
template <typename U>
ISOBIT_FN void collect(const U *src, U *dst, U *kept, const TileMarks &t, u64 end, const Write &w) {
    constexpr u32 W = 16 / sizeof(U);
    __shared__ u32 marks[BLOCK];
    const u32 me = thread_x();
    Pack<W, U> x[EACH / W];
#pragma unroll
    for (u32 c = 0; c < EACH / W; c++)
        x[c] = load<W>(src + t.start + (c * BLOCK + me) * W);
    // In shared memory, results have the alignment that they have in the destination.
    const u64 first = t.at.before, base = first / W * W;
    marks[me] = ((u32)(first - base) + t.before) << 16 | t.bits;
    barrier();
#pragma unroll
    for (u32 c = 0; c < EACH / W; c++) {
        const u32 i = (c * BLOCK + me) * W, mark = marks[i / EACH], below = (1u << i % EACH) - 1;
        u32 to = (mark >> 16) + count_bits(mark & below);
#pragma unroll
        for (u32 v = 0; v < W; v++)
            if ((mark >> (i % EACH + v) & 1) != 0)
                kept[to++] = x[c].v[v];
    }
    barrier();
    each_pack<W>(
        first, end, w.dst_packs != 0, [&](u64 i) { store(dst + i, load<W>(kept + (u32)(i - base))); },
        [&](u64 i) { dst[i * w.step] = kept[(u32)(i - base)]; });
}

template <typename U>
ISOBIT_FN void select(const U *src, const u16 *words, const u64 *places, U *dst, const Write &w) {
    constexpr u32 W = 16 / sizeof(U), AHEAD = 4;
    union Space {
        u16 list[TILE];
        U kept[collects<U> ? TILE + W : 1];
    };
    alignas(16) __shared__ Space space;
    const TileMarks t = marks_of(words, places, w);
    // The whole block decides alike.
    if (t.at.before < w.end) {
        const u64 end = t.at.before + t.total < w.end ? t.at.before + t.total : w.end;
        const bool is_whole = w.src_packs != 0 && t.start + TILE <= w.n;
        if (collects<U> && is_whole && t.total >= COLLECTED) {
            if constexpr (collects<U>)
                collect(src, dst, space.kept, t, end, w);
        } else {
            list_marks(t, space.list);
            const u32 results = (u32)(end - t.at.before);
#pragma unroll 1
            for (u32 first = thread_x(); first < results; first += AHEAD * BLOCK) {
                U x[AHEAD];
#pragma unroll
                for (u32 u = 0; u < AHEAD; u++)
                    if (first + u * BLOCK < results)
                        x[u] = src[offset_of(w.walk, t.start + space.list[first + u * BLOCK], w.wide != 0)];
#pragma unroll
                for (u32 u = 0; u < AHEAD; u++)
                    if (first + u * BLOCK < results)
                        dst[(t.at.before + first + u * BLOCK) * w.step] = x[u];
            }
        }
    }
    fill_rest(dst, w.step, t.start, 1, t.at.all, w);
}

template <typename I>
ISOBIT_FN void coordinates(const u16 *words, const u64 *places, I *dst, const Write &w) {
    __shared__ u16 list[TILE];
    const Walk &walk = w.walk;
    const u32 me = thread_x();
    const TileMarks t = marks_of(words, places, w);
    // The whole block decides alike.
    if (t.at.before < w.end) {
        list_marks(t, list);
        const u32 results = t.at.before + t.total < w.end ? t.total : (u32)(w.end - t.at.before);
        I *rows = dst + t.at.before * w.step;
        if (w.unit != 0) {
            // Neighbours write neighbours, whichever row they are in: with a row for each thread, a
            // store would write parts of many sectors.
            const u32 all = results * w.units.size;
#pragma unroll 1
            for (u32 j = me; j < all; j += BLOCK) {
                const u32 k = divide(j, w.units), first = (j - k * w.units.size) * w.unit;
                u32 left = (u32)t.start + list[k];
                Pack<2, I> own{};
#pragma unroll 1
                for (u32 d = walk.rank; d-- > first;) {
                    const u32 q = divide(left, walk.dim[d]);
                    own.v[1] = own.v[0];
                    own.v[0] = (I)(left - q * walk.dim[d].size);
                    left = q;
                }
                if (w.unit == 2)
                    store(rows + (u64)j * 2, own);
                else
                    rows[k * w.step + walk.stride[0][first]] = own.v[0];
            }
        } else {
#pragma unroll 1
            for (u32 k = me; k < results; k += BLOCK) {
                u64 left = (t.start + list[k]) / w.inner;
#pragma unroll 1
                for (u32 d = walk.rank; d-- > 0;) {
                    const u64 size = walk.stride[1][d], q = left / size;
                    rows[k * w.step + walk.stride[0][d]] = (I)(left - q * size);
                    left = q;
                }
            }
        }
    }
    if (w.flat != 0) {
        fill_rest(dst, 1, t.start, w.step, t.at.all, w);
    } else {
#pragma unroll 1
        for (u32 d = 0; d < walk.rank; d++)
            fill_rest(dst + walk.stride[0][d], w.step, t.start, 1, t.at.all, w);
    }
}

// For each element of a sorted row, the number of its value, which goes to where the element was
// before sorting.
template <typename I>
ISOBIT_FN void ranks(const u16 *words, const u64 *places, const u32 *order, I *dst, const Write &w) {
    __shared__ u32 marks[BLOCK];
    __shared__ u32 before[BLOCK];
    const u32 me = thread_x();
    const TileMarks t = marks_of(words, places, w);
    marks[me] = t.bits;
    before[me] = t.before;
    barrier();
#pragma unroll 1
    for (u32 i = me; i < TILE && t.start + i < w.n; i += BLOCK) {
        const u32 word = i / EACH, up_to = (2u << (i % EACH)) - 1;
        const u64 values = t.at.before + before[word] + count_bits(marks[word] & up_to);
        dst[offset_of(w.walk, order[t.start + i], w.wide != 0)] = (I)(values - 1);
    }
}

} // namespace isobit::compact

#define ISOBIT_COMPACT_SELECT(NAME, U)                                                                                 \
    ISOBIT_KERNEL(isobit::compact::BLOCK)                                                                              \
    NAME(const isobit::U *src, const isobit::u16 *words, const isobit::u64 *places, isobit::U *dst,                    \
         const isobit::compact::Write w) {                                                                             \
        isobit::compact::select<isobit::U>(src, words, places, dst, w);                                                \
    }
#define ISOBIT_COMPACT_COORDINATES(NAME, I)                                                                            \
    ISOBIT_KERNEL(isobit::compact::BLOCK)                                                                              \
    NAME(const isobit::u16 *words, const isobit::u64 *places, isobit::I *dst, const isobit::compact::Write w) {        \
        isobit::compact::coordinates<isobit::I>(words, places, dst, w);                                                \
    }
#define ISOBIT_COMPACT_RANKS(NAME, I)                                                                                  \
    ISOBIT_KERNEL(isobit::compact::BLOCK)                                                                              \
    NAME(const isobit::u16 *words, const isobit::u64 *places, const isobit::u32 *order, isobit::I *dst,                \
         const isobit::compact::Write w) {                                                                             \
        isobit::compact::ranks<isobit::I>(words, places, order, dst, w);                                               \
    }
