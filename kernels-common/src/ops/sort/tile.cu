// Rows that a block sorts in shared memory, and the tiles of longer rows. A word of the network
// holds a slice of the key above a place, so a key with more bits is sorted slice by slice from the
// lowest: the minimum and the maximum of 32-bit words take one instruction each, while pairs of key
// and position would take six.
#include "ops/sort/network.cuh"
#include "ops/sort/sort_keys.cuh"

namespace isobit {

// The host's `Tiles`.
struct Tiles {
    SortRows rows;
    // A row has 2^shift places in the tile, and the tile's other rows follow.
    u32 shift;
    // Slices of the key.
    u32 slices;
    // Tiles of a longer row. They go to `runs`: `run` records of each tile, `row_records` per row.
    Divisor tiles;
    u32 run;
    u64 row_records;
};

// Must match ops/sort/rows.rs.
static_assert(sizeof(Tiles) == 320);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Tiles, shift) == 288 && ISOBIT_OFFSET(Tiles, tiles) == 296);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Tiles, run) == 308 && ISOBIT_OFFSET(Tiles, row_records) == 312);

template <typename U, u32 LOG>
ISOBIT_FN void sort_tile(const U *src, void *dst, Record<U> *runs, const Tiles &t) {
    constexpr u32 TILE = 1u << LOG, THREADS = TILE >> SORT_EACH_LOG;
    // Where the element at each place of the order so far lies. Keys of one slice need no such
    // array, because the words contain it. Keys of two slices need one; longer keys need one to
    // read and one to write.
    constexpr u32 ORDERS = sizeof(U) / 4;
    __shared__ U keys[TILE];
    __shared__ u32 words[slots_for(TILE)];
    __shared__ u16 order[ORDERS > 0 ? ORDERS * TILE : 1];

    const SortRows &s = t.rows;
    const u32 thread = thread_x(), mask = (1u << t.shift) - 1;
    const u32 group = divide(block_x(), t.tiles), tile = block_x() - group * t.tiles.size;
    const u32 first_row = group << (LOG - t.shift);
    const u64 start = (u64)tile << LOG, left = s.length - start;
    const u32 length = left < TILE ? (u32)left : TILE;
    const bool one = t.shift == LOG;
    const u64 from = one ? row_place(s, first_row, 0) + start * s.src_step : 0;
    const u32 slice_bits = 8 * sizeof(u32) - t.shift;

    // Whether a place has an element. The elements of a row come before empty places, also after
    // sorting.
    const auto has_element = [&](u32 i) { return (i & mask) < length && first_row + (i >> t.shift) < s.count; };
    const auto element_at = [&](u32 i) {
        const u64 row = one ? from : row_place(s, first_row + (i >> t.shift), 0);
        return src[row + (i & mask) * s.src_step];
    };

#pragma unroll 4
    for (u32 c = 0; c < SORT_EACH; c++) {
        const u32 i = thread + c * THREADS;
        // An empty place has a key with all bits set, and comes after all places with elements.
        const U key = has_element(i) ? key_of<U>(element_at(i), s.order) : (U)~(U)0;
        keys[i] = key;
        words[slot_of(i)] = (u32)key << t.shift | (i & mask);
    }
    barrier();
    sort_words<LOG>(words, t.shift);

    // The place of the element that is at place `i` once the slices up to this one are sorted.
    const auto origin = [&](u32 i, u32 slice) {
        const u32 place = (i & ~mask) | (words[slot_of(i)] & mask);
        if constexpr (ORDERS > 0)
            return slice == 0 ? place : (u32)order[slice % ORDERS * TILE + place];
        else
            return place;
    };

    if constexpr (ORDERS > 0) {
#pragma unroll 1
        for (u32 slice = 1; slice < t.slices; slice++) {
#pragma unroll 4
            for (u32 c = 0; c < SORT_EACH; c++) {
                const u32 i = thread + c * THREADS;
                const u32 place = origin(i, slice - 1);
                order[slice % ORDERS * TILE + i] = (u16)place;
                words[slot_of(i)] = (u32)(keys[place] >> (slice * slice_bits)) << t.shift | (i & mask);
            }
            barrier();
            sort_words<LOG>(words, t.shift);
        }
    }

#pragma unroll 4
    for (u32 c = 0; c < SORT_EACH; c++) {
        const u32 i = thread + c * THREADS;
        if (has_element(i)) {
            const u32 result = i & mask, place = origin(i, t.slices - 1);
            if (t.tiles.size > 1) {
                if (result < t.run) {
                    const u64 at = first_row * t.row_records + (u64)tile * t.run + result;
                    runs[at] = Record<U>::of(keys[place], start + place);
                }
            } else if (result < s.keep) {
                const u32 row = first_row + (i >> t.shift);
                const U element = s.output == SORT_VALUES ? element_at(place) : (U)0;
                write_result<U>(dst, s, row_place(s, row, 1), result, place & mask, element);
            }
        }
    }
}

} // namespace isobit

#define ISOBIT_SORT_TILE(NAME, U, LOG)                                                                                 \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(1 << (LOG - SORT_EACH_LOG), 1 << (14 - LOG))                                                \
    NAME(const U *src, void *dst, Record<U> *runs, const Tiles t) { sort_tile<U, LOG>(src, dst, runs, t); }            \
    }
