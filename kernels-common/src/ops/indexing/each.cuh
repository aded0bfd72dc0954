// A walk over elements that each have their own id, for gathers of them and for scatters that
// combine them where they are.
#pragma once

#include "device_lib/ids.cuh"
#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"

namespace isobit {

ISOBIT_CONST u32 EACH_BLOCK = 256;
// Elements that a thread has in flight at once.
ISOBIT_CONST u32 EACH_AHEAD = 4;

// The host's `Each`.
struct Each {
    // Destination, ids, source, and the places of the ids in their order. The operand that the ids
    // index is at position 0.
    Index<4> index;
    u64 place;
    // The number of positions, and the units from one to the next.
    u64 size;
    u64 step;
    // The number of positions if negative ids count from the end, else 0.
    u64 from_end;
    u32 n;
};

// Must match ops/indexing/gather.rs.
static_assert(sizeof(Each) == 400);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Each, place) == 360 && ISOBIT_OFFSET(Each, n) == 392);

// Reports the ids out of range of a thread that has met one. Only now are places computed, so that
// they cost nothing otherwise.
template <typename I>
ISOBIT_FN void report_each(u64 *flag, const I *ids, const Each &g, u32 first) {
#pragma unroll 1
    for (u32 e = 0; e < EACH_AHEAD && first + e * EACH_BLOCK < g.n; e++) {
        const Offsets<4> from = offsets_of(g.index, first + e * EACH_BLOCK);
        report_first(flag, ids + from.at[1], 1, g.place + from.at[3], 0, 0, 1, 1, g.size, g.from_end);
    }
}

} // namespace isobit
