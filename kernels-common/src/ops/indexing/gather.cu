// Elements at positions along a dimension, or at positions by tuples of ids, in any layout: units
// of up to 16 bytes, each with its own id or tuple.
#include "ops/indexing/each.cuh"
#include "ops/indexing/gather_nd.cuh"

namespace isobit {

template <typename T, typename I>
ISOBIT_FN void gather(const T *src, const I *ids, T *dst, const Each &g, u64 *flag) {
    const u32 first = block_x() * (EACH_BLOCK * EACH_AHEAD) + thread_x();
    Offsets<4> place[EACH_AHEAD];
    I id[EACH_AHEAD];
    T value[EACH_AHEAD];
    bool fault = false;
#pragma unroll
    for (u32 e = 0; e < EACH_AHEAD; e++)
        place[e] = offsets_of(g.index, first + e * EACH_BLOCK);
#pragma unroll
    for (u32 e = 0; e < EACH_AHEAD; e++)
        if (first + e * EACH_BLOCK < g.n)
            id[e] = ids[place[e].at[1]];
#pragma unroll
    for (u32 e = 0; e < EACH_AHEAD; e++) {
        u64 at;
        value[e] = T{};
        if (first + e * EACH_BLOCK < g.n && is_inside(id[e], g.size, g.from_end, at, fault))
            value[e] = src[place[e].at[2] + at * g.step];
    }
#pragma unroll
    for (u32 e = 0; e < EACH_AHEAD; e++)
        if (first + e * EACH_BLOCK < g.n)
            dst[place[e].at[0]] = value[e];
    if (fault)
        report_each(flag, ids, g, first);
}

} // namespace isobit

#define ISOBIT_GATHER(NAME, T, I)                                                                                      \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const T *src, const I *ids, T *dst, const Each g, u64 *flag) {                             \
        gather<T, I>(src, ids, dst, g, flag);                                                                          \
    }                                                                                                                  \
    }

#define ISOBIT_GATHER_ND(NAME, T, I)                                                                                   \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const T *src, const I *ids, T *dst, const Tuples t, u64 *flag) {                           \
        gather_nd<T, I>(src, ids, dst, t, flag);                                                                       \
    }                                                                                                                  \
    }
