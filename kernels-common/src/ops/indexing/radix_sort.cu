// Sorts the sources of a scatter by destination and keeps their order if destinations are equal: a
// stable radix sort with 8 bits per pass. A pass counts the digits of each tile, sums the counts
// over the tiles of each digit, and moves every element to its place.
#include "device_lib/bits.cuh"
#include "device_lib/ids.cuh"
#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"
#include "ops/sum_before.cuh"

namespace isobit {

ISOBIT_CONST u32 ORDER_BLOCK = 256;
// Elements per tile; must match radix_sort.rs.
ISOBIT_CONST u32 ORDER_TILE = 2048;
// One digit per thread.
ISOBIT_CONST u32 DIGITS = ORDER_BLOCK;
ISOBIT_CONST u32 ORDER_WORDS = ORDER_BLOCK / WORD_BITS;

// The host's `Keys`: lines of `n` ids, each with `size` destinations along it. Fewer than 2^31 ids
// and destinations in total.
struct Keys {
    // Also the places of the lines' first ids in the order of the ids, and the steps of both.
    Index<4> lines;
    u64 step;
    u64 place_step;
    u64 place;
    Divisor n;
    u32 size;
    // The number of destinations per line if negative ids count from the end, else 0.
    u32 from_end;
    u32 count;
    // The key of sources without a destination: one more than all other keys.
    u32 nowhere;
};

// Must match ops/indexing/radix_sort.rs.
static_assert(sizeof(Keys) == 416);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Keys, step) == 360 && ISOBIT_OFFSET(Keys, n) == 384);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Keys, size) == 396);

template <typename I>
ISOBIT_FN void order_keys(const I *ids, u32 *keys, u32 *order, const Keys &k, u64 *flag) {
    const u32 i = block_x() * ORDER_BLOCK + thread_x();
    if (i >= k.count)
        return;
    const u32 line = divide(i, k.n), along = i - line * k.n.size;
    const Offsets<4> start = offsets_of(k.lines, line);
    const I id = ids[start.at[1] + along * k.step];
    u64 at;
    bool fault = false;
    const bool inside = is_inside(id, k.size, k.from_end, at, fault);
    keys[i] = inside ? line * k.size + (u32)at : k.nowhere;
    order[i] = i;
    if (fault)
        report_fault(flag, k.place + start.at[3] + along * k.place_step, id);
}

ISOBIT_FN u32 digit_of(u32 key, u32 shift) { return key >> shift & (DIGITS - 1); }

// Counts each digit in a tile: `counts[digit][tile]`.
ISOBIT_FN void order_count(const u32 *keys, u32 *counts, u32 n, u32 shift) {
    __shared__ u32 count[DIGITS];
    count[thread_x()] = 0;
    barrier();
    const u32 first = block_x() * ORDER_TILE + thread_x();
#pragma unroll
    for (u32 e = 0; e < ORDER_TILE; e += ORDER_BLOCK)
        if (first + e < n)
            atomic_add(&count[digit_of(keys[first + e], shift)], 1);
    barrier();
    counts[(u64)thread_x() * grid_dim_x() + block_x()] = count[thread_x()];
}

// Replaces the counts of a digit, which 2^log_width threads share, with sums over the preceding
// tiles, and writes their total.
ISOBIT_FN void order_scan(u32 *counts, u32 *totals, u32 tiles, u32 log_width) {
    __shared__ u32 shared[2 * ORDER_BLOCK];
    const u32 width = 1u << log_width, lane = thread_x() & (width - 1);
    const u32 digit = (block_x() * ORDER_BLOCK + thread_x()) >> log_width;
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

// Moves the elements of a tile to their places. Among the threads of a step with the same digit,
// the number of preceding threads gives the place.
ISOBIT_FN void order_place(const u32 *keys, const u32 *order, u32 *keys_out, u32 *order_out, const u32 *counts,
                           const u32 *totals, u32 n, u32 shift) {
    __shared__ u32 masks[DIGITS][ORDER_WORDS];
    __shared__ u32 next[DIGITS];
    const u32 me = thread_x(), word = me / WORD_BITS, bit = 1u << (me % WORD_BITS);
    u32 total;
    const u32 begin = sum_before(totals[me], masks[0], ORDER_BLOCK, total);
    next[me] = begin + counts[(u64)me * grid_dim_x() + block_x()];
#pragma unroll
    for (u32 w = 0; w < ORDER_WORDS; w++)
        masks[me][w] = 0;
    barrier();
    const u32 first = block_x() * ORDER_TILE;
#pragma unroll 1
    for (u32 e = first; e < first + ORDER_TILE && e < n; e += ORDER_BLOCK) {
        const bool present = e + me < n;
        u32 key = 0, digit = 0;
        if (present) {
            key = keys[e + me];
            digit = digit_of(key, shift);
            atomic_or(&masks[digit][word], bit);
        }
        barrier();
        u32 before = 0, all = 0;
        if (present) {
#pragma unroll
            for (u32 w = 0; w < ORDER_WORDS; w++) {
                const u32 mask = masks[digit][w], count = count_bits(mask);
                before += w < word ? count : w == word ? count_bits(mask & (bit - 1)) : 0;
                all += count;
            }
            const u32 to = next[digit] + before;
            keys_out[to] = key;
            order_out[to] = order[e + me];
        }
        barrier();
        if (present && before == 0) {
            next[digit] += all;
#pragma unroll
            for (u32 w = 0; w < ORDER_WORDS; w++)
                masks[digit][w] = 0;
        }
        barrier();
    }
}

} // namespace isobit

#define ISOBIT_ORDER_KEYS(NAME, I)                                                                                     \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const I *ids, u32 *keys, u32 *order, const Keys k, u64 *flag) {                            \
        order_keys(ids, keys, order, k, flag);                                                                         \
    }                                                                                                                  \
    }
#define ISOBIT_ORDER_COUNT(NAME)                                                                                       \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const u32 *keys, u32 *counts, u32 n, u32 shift) { order_count(keys, counts, n, shift); }   \
    }
#define ISOBIT_ORDER_SCAN(NAME)                                                                                        \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(u32 *counts, u32 *totals, u32 tiles, u32 log_width) {                                      \
        order_scan(counts, totals, tiles, log_width);                                                                  \
    }                                                                                                                  \
    }
#define ISOBIT_ORDER_PLACE(NAME)                                                                                       \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256)                                                                                                 \
    NAME(const u32 *keys, const u32 *order, u32 *keys_out, u32 *order_out, const u32 *counts, const u32 *totals,       \
         u32 n, u32 shift) {                                                                                           \
        order_place(keys, order, keys_out, order_out, counts, totals, n, shift);                                       \
    }                                                                                                                  \
    }
