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
    // Destination, ids, and the source at position 0.
    Index<3> index;
    // The number of positions, and the units from one to the next.
    u64 size;
    u64 step;
    u32 n;
};

// Must match ops/indexing/gather.rs.
static_assert(sizeof(Gather) == 320);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Gather, size) == 296 && ISOBIT_OFFSET(Gather, n) == 312);

template <typename T, typename I>
ISOBIT_FN void gather(const T *src, const I *ids, T *dst, const Gather &g, u32 *flag) {
    const u32 first = block_x() * (GATHER_BLOCK * GATHER_EACH) + thread_x();
    Offsets<3> place[GATHER_EACH];
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
        value[e] = T{};
        if (first + e * GATHER_BLOCK < g.n && is_inside(id[e], g.size, fault))
            value[e] = src[place[e].at[2] + (u64)id[e] * g.step];
    }
#pragma unroll
    for (u32 e = 0; e < GATHER_EACH; e++)
        if (first + e * GATHER_BLOCK < g.n)
            dst[place[e].at[0]] = value[e];
    report_fault(flag, fault);
}

} // namespace isobit

#define ISOBIT_GATHER(NAME, T, I)                                                                                      \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const T *src, const I *ids, T *dst, const Gather g, u32 *flag) {                           \
        gather<T, I>(src, ids, dst, g, flag);                                                                          \
    }                                                                                                                  \
    }
