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
};

// Must match ops/compact/write.rs.
static_assert(sizeof(Write) == 296);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Write, n) == 232 && ISOBIT_OFFSET(Write, end) == 256);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Write, inner) == 280 && ISOBIT_OFFSET(Write, wide) == 288);

// Lists the places of the marked elements of a tile, and returns how many there are.
ISOBIT_FN u32 list_marks(const u16 *words, u64 tile, u16 *list, u32 *sums) {
    const u32 me = thread_x();
    u32 bits = words[tile * BLOCK + me], total;
    u32 at = sum_before(count_bits(bits), sums, BLOCK, total);
#pragma unroll 1
    for (; bits != 0; bits &= bits - 1)
        list[at++] = (u16)(me * EACH + lowest_bit(bits));
    barrier();
    return total;
}

// Calls `result` with the number of each result of the tile's marks and the position of its
// element, and `rest` with the numbers of results that no mark gives. Each block takes as many of
// these as its tile has elements.
template <typename Result, typename Rest>
ISOBIT_FN void each_result(const u16 *words, const u64 *places, const Write &w, Result result, Rest rest) {
    __shared__ u16 list[TILE];
    __shared__ u32 sums[2 * BLOCK];
    const u64 tile = w.first + block_x(), start = tile * TILE;
    const u64 before = places[tile], all = places[w.tiles];
    // The whole block decides alike.
    if (before < w.end) {
        const u32 total = list_marks(words, tile, list, sums);
#pragma unroll 1
        for (u32 k = thread_x(); k < total && before + k < w.end; k += BLOCK)
            result(before + k, start + list[k]);
    }
#pragma unroll 1
    for (u64 i = start + thread_x(); i < start + TILE && i < w.end; i += BLOCK)
        if (i >= all)
            rest(i);
}

template <typename U>
ISOBIT_FN void select(const U *src, const u16 *words, const u64 *places, U *dst, const Write &w) {
    each_result(
        words, places, w,
        [&](u64 i, u64 position) { dst[i * w.step] = src[offset_of(w.walk, position, w.wide != 0)]; },
        [&](u64 i) { dst[i * w.step] = (U)w.fill; });
}

template <typename I>
ISOBIT_FN void coordinates(const u16 *words, const u64 *places, I *dst, const Write &w) {
    const Walk &walk = w.walk;
    each_result(
        words, places, w,
        [&](u64 i, u64 position) {
            I *row = dst + i * w.step;
            if (w.wide != 0) {
                position /= w.inner;
#pragma unroll 1
                for (u32 d = walk.rank; d-- > 0;) {
                    const u64 size = walk.stride[1][d], q = position / size;
                    row[walk.stride[0][d]] = (I)(position - q * size);
                    position = q;
                }
            } else {
                u32 left = (u32)position / (u32)w.inner;
#pragma unroll 1
                for (u32 d = walk.rank; d-- > 0;) {
                    const u32 q = divide(left, walk.dim[d]);
                    row[walk.stride[0][d]] = (I)(left - q * walk.dim[d].size);
                    left = q;
                }
            }
        },
        [&](u64 i) {
#pragma unroll 1
            for (u32 d = 0; d < walk.rank; d++)
                dst[i * w.step + walk.stride[0][d]] = (I)w.fill;
        });
}

// For each element of a sorted row, the number of its value, which goes to where the element was
// before sorting.
template <typename I>
ISOBIT_FN void ranks(const u16 *words, const u64 *places, const u32 *order, I *dst, const Write &w) {
    __shared__ u32 marks[BLOCK];
    __shared__ u32 before[BLOCK];
    __shared__ u32 sums[2 * BLOCK];
    const u32 me = thread_x();
    const u64 tile = w.first + block_x(), start = tile * TILE;
    const u32 bits = words[tile * BLOCK + me];
    u32 total;
    marks[me] = bits;
    before[me] = sum_before(count_bits(bits), sums, BLOCK, total);
    barrier();
    const u64 first = places[tile];
#pragma unroll 1
    for (u32 i = me; i < TILE && start + i < w.n; i += BLOCK) {
        const u32 word = i / EACH, up_to = (2u << (i % EACH)) - 1;
        const u64 values = first + before[word] + count_bits(marks[word] & up_to);
        dst[offset_of(w.walk, order[start + i], w.wide != 0)] = (I)(values - 1);
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
