// Units at positions by tuples of ids.
#pragma once

#include "ops/indexing/tuples_ahead.cuh"

namespace isobit {

template <typename T, typename I>
ISOBIT_FN void gather_nd(const T *src, const I *ids, T *dst, const Tuples &t, u64 *flag) {
    TuplesAhead a = tuples_ahead(t);
    add_ids(a, ids, t);
    T value[TUPLES_AHEAD];
#pragma unroll
    for (u32 e = 0; e < TUPLES_AHEAD; e++) {
        value[e] = T{};
        if (a.is_somewhere[e])
            value[e] = src[a.position[e]];
    }
#pragma unroll
    for (u32 e = 0; e < TUPLES_AHEAD; e++)
        if (exists(a, t, e))
            dst[a.place[e].at[3]] = value[e];
    if (a.fault)
        report_tuples(flag, ids, t, a.first);
}

} // namespace isobit
