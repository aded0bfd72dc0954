// A stable radix sort of long rows with 8 bits per pass, from the lowest. A pass counts the digits
// of each tile, sums the counts over the tiles of each digit, and moves every element to its place.
// The elements' own bits move, and keys are made of them again in each pass, because elements with
// the same key may differ. The module also has the merges, by which other long rows are sorted.
#include "device_lib/atomic.cuh"
#include "ops/sort/merge.cuh"
#include "ops/sort/sort_keys.cuh"
#include "ops/sum_before.cuh"

namespace isobit {

ISOBIT_CONST u32 RADIX_BLOCK = 256;
// Elements per thread and tile; must match radix.rs.
ISOBIT_CONST u32 RADIX_EACH = 8, RADIX_TILE = RADIX_BLOCK * RADIX_EACH;
// One digit per thread.
ISOBIT_CONST u32 DIGITS = RADIX_BLOCK;
// A tile is sorted by one half of the digit after the other: each thread has a counter for each
// value of a half.
ISOBIT_CONST u32 HALVES = 16;

// The host's `Digits`.
struct Digits {
    // Offsets and steps hold for elements and positions alike.
    SortRows rows;
    // Tiles per row.
    Divisor tiles;
    // The digit's lowest bit in the key.
    u32 shift;
};

// Must match ops/sort/radix.rs.
static_assert(sizeof(Digits) == 304);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Digits, tiles) == 288 && ISOBIT_OFFSET(Digits, shift) == 300);

// The tile of a block.
struct DigitTile {
    u32 row, tile;
    // The position of its first element in the row, and how many it has.
    u32 first, length;

    ISOBIT_FN DigitTile of_block(const Digits &d) {
        const u32 row = divide(block_x(), d.tiles), tile = block_x() - row * d.tiles.size;
        const u32 first = tile * RADIX_TILE, left = (u32)d.rows.length - first;
        return DigitTile{row, tile, first, left < RADIX_TILE ? left : RADIX_TILE};
    }
    // Where the tile's count of a digit is, and the row's: the tiles of a digit are neighbours.
    ISOBIT_FN u64 count_at(const DigitTile &t, const Digits &d, u32 digit) {
        return ((u64)t.row * DIGITS + digit) * d.tiles.size + t.tile;
    }
};

// Loads a thread's elements, a block's width apart, from those that begin at `from`; elements that
// do not exist become 0. All loads begin before anything waits for one.
template <typename T>
ISOBIT_FN void load_tile(T (&x)[RADIX_EACH], const T *from, u64 step, u32 length) {
    const u64 apart = RADIX_BLOCK * step;
    from += thread_x() * step;
#pragma unroll
    for (u32 e = 0; e < RADIX_EACH; e++)
        x[e] = thread_x() + e * RADIX_BLOCK < length ? from[e * apart] : (T)0;
}

template <typename U>
ISOBIT_FN u32 digit_of(U element, const Digits &d) {
    return (u32)(key_of<U>(element, d.rows.order) >> d.shift) & (DIGITS - 1);
}

template <typename U>
ISOBIT_FN void radix_count(const U *src, u32 *counts, const Digits &d) {
    __shared__ u32 count[DIGITS];
    const DigitTile t = DigitTile::of_block(d);
    const u32 me = thread_x();
    U own[RADIX_EACH];
    load_tile(own, src + row_place(d.rows, t.row, 0) + t.first * d.rows.src_step, d.rows.src_step, t.length);
    count[me] = 0;
    barrier();
#pragma unroll
    for (u32 e = 0; e < RADIX_EACH; e++)
        if (me + e * RADIX_BLOCK < t.length)
            atomic_add(&count[digit_of<U>(own[e], d)], 1);
    barrier();
    counts[DigitTile::count_at(t, d, me)] = count[me];
}

// Replaces the counts of a row's digit, which 2^log_width threads share, with sums over the
// preceding tiles, and writes their total.
ISOBIT_FN void radix_scan(u32 *counts, u32 *totals, u32 tiles, u32 log_width) {
    __shared__ u32 shared[2 * RADIX_BLOCK];
    const u32 width = 1u << log_width, lane = thread_x() & (width - 1);
    const u32 digit = (block_x() * RADIX_BLOCK + thread_x()) >> log_width;
    counts += (u64)digit * tiles;
    u32 before = 0;
#pragma unroll 1
    for (u32 first = 0; first < tiles; first += width) {
        const u32 tile = first + lane;
        u32 total;
        const u32 sum = sum_before(tile < tiles ? counts[tile] : 0, shared, width, total);
        if (tile < tiles)
            counts[tile] = before + sum;
        before += total;
    }
    if (lane == 0)
        totals[digit] = before;
}

// Sorts the words of a tile by the four bits from bit `LOW` on, and keeps the order of those that
// are equal. A thread counts its own words, so that no two threads write to the same counter; a sum
// over all counters that come before one, those of smaller values and those of the same value in
// preceding threads, is the place of its first word.
template <u32 LOW>
ISOBIT_FN void sort_by_half(u32 *words, u32 *counters) {
    const u32 me = thread_x();
    u16 *const own_counters = (u16 *)counters + me;
    u32 own[RADIX_EACH], place[RADIX_EACH];
#pragma unroll
    for (u32 e = 0; e < RADIX_EACH; e++)
        own[e] = words[me * RADIX_EACH + e];
#pragma unroll
    for (u32 value = 0; value < HALVES; value++)
        own_counters[value * RADIX_BLOCK] = 0;
    const auto counter_of = [&](u32 word) -> u16 & { return own_counters[(word >> LOW & (HALVES - 1)) * RADIX_BLOCK]; };
#pragma unroll
    for (u32 e = 0; e < RADIX_EACH; e++) {
        u16 &counter = counter_of(own[e]);
        place[e] = counter;
        counter = (u16)(place[e] + 1);
    }
    barrier();
    // Two counters at a time.
    constexpr u32 PAIRS = HALVES / 2;
    u32 pairs[PAIRS], sums = 0, total;
#pragma unroll
    for (u32 p = 0; p < PAIRS; p++) {
        pairs[p] = counters[me * PAIRS + p];
        sums += pairs[p];
    }
    u32 before = sum_before((sums & 0xffff) + (sums >> 16), words, RADIX_BLOCK, total);
#pragma unroll
    for (u32 p = 0; p < PAIRS; p++) {
        const u32 between = before + (pairs[p] & 0xffff);
        counters[me * PAIRS + p] = before | between << 16;
        before = between + (pairs[p] >> 16);
    }
    barrier();
#pragma unroll
    for (u32 e = 0; e < RADIX_EACH; e++)
        words[counter_of(own[e]) + place[e]] = own[e];
    barrier();
}

// Moves the elements of a tile to their places. `dst` or `positions_to` may be null; without
// `positions`, those of the row are meant. The tile is sorted first, so that neighbours write to
// neighbouring places.
template <typename U>
ISOBIT_FN void radix_place(const U *src, const u32 *positions, U *dst, u32 *positions_to, const u32 *counts,
                           const u32 *totals, const Digits &d) {
    // A word has the place of an element in the tile, and above it the element's digit.
    alignas(16) __shared__ u32 words[RADIX_TILE];
    alignas(16) __shared__ u32 counters[HALVES * RADIX_BLOCK / 2];
    __shared__ U elements[RADIX_TILE];
    __shared__ u32 next[DIGITS];
    const DigitTile t = DigitTile::of_block(d);
    const SortRows &s = d.rows;
    const u32 me = thread_x();
    const u64 from = row_place(s, t.row, 0) + t.first * s.src_step;
    U own[RADIX_EACH];
    load_tile(own, src + from, s.src_step, t.length);
    const u32 of_digit = totals[t.row * DIGITS + me], before = counts[DigitTile::count_at(t, d, me)];
#pragma unroll
    for (u32 e = 0; e < RADIX_EACH; e++) {
        const u32 i = me + e * RADIX_BLOCK;
        elements[i] = own[e];
        // Empty places have the largest digit, and come after all elements.
        words[i] = i | (i < t.length ? digit_of<U>(own[e], d) : DIGITS - 1) << 16;
    }
    u32 all;
    next[me] = before + sum_before(of_digit, counters, RADIX_BLOCK, all);
    sort_by_half<16>(words, counters);
    sort_by_half<20>(words, counters);
    // From the digit's begin in the row and in the tile, the place of an element in the row
    // follows from that in the tile.
#pragma unroll
    for (u32 e = 0; e < RADIX_EACH; e++) {
        const u32 i = me + e * RADIX_BLOCK, digit = words[i] >> 16;
        if (i == 0 || words[i - 1] >> 16 != digit)
            next[digit] -= i;
    }
    // The same memory, which the tile's order no longer needs.
    u32 *const moved = counters;
    if (positions_to != nullptr) {
        u32 of_elements[RADIX_EACH];
        if (positions != nullptr)
            load_tile(of_elements, positions + from, s.src_step, t.length);
#pragma unroll
        for (u32 e = 0; e < RADIX_EACH; e++) {
            const u32 i = me + e * RADIX_BLOCK;
            moved[i] = positions != nullptr ? of_elements[e] : t.first + i;
        }
    }
    barrier();
    const u64 to = row_place(s, t.row, 1);
    // Unrolled whole, it has 20 bytes more than 64 registers hold (sm_90).
#pragma unroll 4
    for (u32 e = 0; e < RADIX_EACH; e++) {
        const u32 i = me + e * RADIX_BLOCK;
        if (i < t.length) {
            const u32 word = words[i], place = word & 0xffff;
            const u64 at = to + (u64)(next[word >> 16] + i) * s.dst_step;
            if (dst != nullptr)
                dst[at] = elements[place];
            if (positions_to != nullptr)
                positions_to[at] = moved[place];
        }
    }
}

} // namespace isobit

#define ISOBIT_RADIX_COUNT(NAME, U)                                                                                    \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const U *src, u32 *counts, const Digits d) { radix_count<U>(src, counts, d); }             \
    }
#define ISOBIT_RADIX_SCAN(NAME)                                                                                        \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(u32 *counts, u32 *totals, u32 tiles, u32 log_width) {                                      \
        radix_scan(counts, totals, tiles, log_width);                                                                  \
    }                                                                                                                  \
    }
#define ISOBIT_RADIX_PLACE(NAME, U)                                                                                    \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL_RESIDENT(256, 4)                                                                                     \
    NAME(const U *src, const u32 *positions, U *dst, u32 *positions_to, const u32 *counts, const u32 *totals,          \
         const Digits d) {                                                                                             \
        radix_place<U>(src, positions, dst, positions_to, counts, totals, d);                                          \
    }                                                                                                                  \
    }
