// Elements at positions along a dimension, in any layout: units of up to 16 bytes, each with its
// own id.
#include "device_lib/ids.cuh"
#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"
#include "device_lib/vector.cuh"

namespace isobit {

ISOBIT_CONST u32 GATHER_BLOCK = 256;
// Elements that a thread has in flight at once.
ISOBIT_CONST u32 GATHER_EACH = 4;

// The host's `Gather`.
struct Gather {
    // Destination, ids, the source at position 0, and the places of the ids in their order.
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
static_assert(sizeof(Gather) == 400);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Gather, place) == 360 && ISOBIT_OFFSET(Gather, n) == 392);

template <typename T, typename I>
ISOBIT_FN void gather(const T *src, const I *ids, T *dst, const Gather &g, u64 *flag) {
    const u32 first = block_x() * (GATHER_BLOCK * GATHER_EACH) + thread_x();
    Offsets<4> place[GATHER_EACH];
    I id[GATHER_EACH];
    T value[GATHER_EACH];
    bool fault = false;
#pragma unroll
    for (u32 e = 0; e < GATHER_EACH; e++)
        place[e] = offsets_of(g.index, first + e * GATHER_BLOCK);
#pragma unroll
    for (u32 e = 0; e < GATHER_EACH; e++)
        if (first + e * GATHER_BLOCK < g.n)
            id[e] = ids[place[e].at[1]];
#pragma unroll
    for (u32 e = 0; e < GATHER_EACH; e++) {
        u64 at;
        value[e] = T{};
        if (first + e * GATHER_BLOCK < g.n && is_inside(id[e], g.size, g.from_end, at, fault))
            value[e] = src[place[e].at[2] + at * g.step];
    }
#pragma unroll
    for (u32 e = 0; e < GATHER_EACH; e++)
        if (first + e * GATHER_BLOCK < g.n)
            dst[place[e].at[0]] = value[e];
    if (!fault)
        return;
    // Only now are places computed, so that they cost nothing otherwise.
#pragma unroll 1
    for (u32 e = 0; e < GATHER_EACH && first + e * GATHER_BLOCK < g.n; e++) {
        const Offsets<4> from = offsets_of(g.index, first + e * GATHER_BLOCK);
        report_first(flag, ids + from.at[1], 1, g.place + from.at[3], 0, 0, 1, 1, g.size, g.from_end);
    }
}

} // namespace isobit

#define ISOBIT_GATHER(NAME, T, I)                                                                                      \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const T *src, const I *ids, T *dst, const Gather g, u64 *flag) {                           \
        gather<T, I>(src, ids, dst, g, flag);                                                                          \
    }                                                                                                                  \
    }
