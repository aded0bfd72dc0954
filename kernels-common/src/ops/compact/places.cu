// Sums the counts of all tiles before each tile. Each block sums those before its part once more,
// which takes less time than a launch that others would have to wait for.
#include "ops/compact/tile.cuh"

namespace isobit::compact {

// Must match ops/compact/instances.rs.
ISOBIT_CONST u32 PLACES_BLOCK = 1024;

// Writes what comes before each of `tiles` tiles, and the sum of all behind it. A block has `part`
// places, a multiple of its threads.
ISOBIT_FN void places(const u64 *counts, u64 *places, u64 tiles, u64 part) {
    constexpr u32 AHEAD = 8;
    __shared__ u64 sums[2 * PLACES_BLOCK];
    const u32 me = thread_x(), threads = block_dim_x();
    const u64 first = block_x() * part, end = first + part < tiles + 1 ? first + part : tiles + 1;
    u64 own = 0;
#pragma unroll 1
    for (u64 tile = me; tile < first; tile += AHEAD * threads) {
        u64 x[AHEAD];
#pragma unroll
        for (u32 u = 0; u < AHEAD; u++)
            x[u] = tile + u * threads < first ? counts[tile + u * threads] : 0;
#pragma unroll
        for (u32 u = 0; u < AHEAD; u++)
            own += x[u];
    }
    u64 before;
    sum_before(own, sums, threads, before);
#pragma unroll 1
    for (u64 start = first; start < end; start += threads) {
        const u64 tile = start + me;
        u64 all;
        const u64 of_round = sum_before(tile < tiles ? counts[tile] : 0, sums, threads, all);
        if (tile < end)
            places[tile] = before + of_round;
        before += all;
    }
}

} // namespace isobit::compact

#define ISOBIT_COMPACT_PLACES(NAME)                                                                                    \
    ISOBIT_KERNEL(isobit::compact::PLACES_BLOCK)                                                                       \
    NAME(const isobit::u64 *counts, isobit::u64 *places, isobit::u64 tiles, isobit::u64 part) {                        \
        isobit::compact::places(counts, places, tiles, part);                                                          \
    }
