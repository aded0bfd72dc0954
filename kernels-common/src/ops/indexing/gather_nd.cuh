// Units at positions by tuples of ids that one launch can take whole. With positions from tuples.cu
// and a gather from those, a position would be written and read again for each unit.
#pragma once

#include "device_lib/vector.cuh"
#include "ops/indexing/tuples.cuh"

namespace isobit {

// Tuples that a thread has in flight at once.
ISOBIT_CONST u32 TUPLES_AHEAD = 4;

template <typename T, typename I>
ISOBIT_FN void gather_nd(const T *src, const I *ids, T *dst, const Tuples &t, u64 *flag) {
    const u32 first = block_x() * (TUPLES_BLOCK * TUPLES_AHEAD) + thread_x();
    Offsets<4> place[TUPLES_AHEAD];
    u64 position[TUPLES_AHEAD];
    bool is_somewhere[TUPLES_AHEAD];
    T value[TUPLES_AHEAD];
    bool fault = false;
#pragma unroll
    for (u32 e = 0; e < TUPLES_AHEAD; e++) {
        place[e] = offsets_of(t.tuples, first + e * TUPLES_BLOCK);
        position[e] = t.start + place[e].at[2];
        is_somewhere[e] = first + e * TUPLES_BLOCK < t.n;
    }
    if (t.pairs != 0) {
#pragma unroll 1
        for (u32 k = 0; k < t.ids; k += 2) {
            Pack<2, I> id[TUPLES_AHEAD];
#pragma unroll
            for (u32 e = 0; e < TUPLES_AHEAD; e++)
                if (first + e * TUPLES_BLOCK < t.n)
                    id[e] = load<2>(ids + place[e].at[0] + k);
#pragma unroll
            for (u32 e = 0; e < TUPLES_AHEAD; e++)
                if (first + e * TUPLES_BLOCK < t.n) {
                    add_id(t, k, id[e].v[0], position[e], is_somewhere[e], fault);
                    add_id(t, k + 1, id[e].v[1], position[e], is_somewhere[e], fault);
                }
        }
    } else {
#pragma unroll 1
        for (u32 k = 0; k < t.ids; k++) {
            I id[TUPLES_AHEAD];
#pragma unroll
            for (u32 e = 0; e < TUPLES_AHEAD; e++)
                if (first + e * TUPLES_BLOCK < t.n)
                    id[e] = ids[place[e].at[0] + k * t.step];
#pragma unroll
            for (u32 e = 0; e < TUPLES_AHEAD; e++)
                if (first + e * TUPLES_BLOCK < t.n)
                    add_id(t, k, id[e], position[e], is_somewhere[e], fault);
        }
    }
#pragma unroll
    for (u32 e = 0; e < TUPLES_AHEAD; e++) {
        value[e] = T{};
        if (is_somewhere[e])
            value[e] = src[position[e]];
    }
#pragma unroll
    for (u32 e = 0; e < TUPLES_AHEAD; e++)
        if (first + e * TUPLES_BLOCK < t.n)
            dst[place[e].at[3]] = value[e];
    if (!fault)
        return;
    // Only now are places computed, so that they cost nothing otherwise.
#pragma unroll 1
    for (u32 e = 0; e < TUPLES_AHEAD && first + e * TUPLES_BLOCK < t.n; e++) {
        const Offsets<4> from = offsets_of(t.tuples, first + e * TUPLES_BLOCK);
#pragma unroll 1
        for (u32 k = 0; k < t.ids; k++) {
            const I id = ids[from.at[0] + k * t.step];
            u64 at;
            bool is_wrong = false;
            is_inside(id, t.size[k], t.negative != 0 ? t.size[k] : 0, at, is_wrong);
            if (is_wrong)
                report_fault(flag, t.place + from.at[1] + k * t.place_step, id);
        }
    }
}

} // namespace isobit
