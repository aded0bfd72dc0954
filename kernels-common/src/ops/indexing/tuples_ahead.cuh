// Tuples of ids that a kernel takes itself, several per thread at once: for units at positions by
// tuples that one launch can take whole. With positions from tuples.cu, a position would be written
// and read again for each unit.
#pragma once

#include "device_lib/vector.cuh"
#include "ops/indexing/tuples.cuh"

namespace isobit {

// Tuples that a thread has in flight at once.
ISOBIT_CONST u32 TUPLES_AHEAD = 4;

// What a thread's tuples give: their places in the walk, and positions if they are somewhere.
struct TuplesAhead {
    u32 first;
    Offsets<4> place[TUPLES_AHEAD];
    u64 position[TUPLES_AHEAD];
    bool is_somewhere[TUPLES_AHEAD];
    bool fault;
};

ISOBIT_FN bool exists(const TuplesAhead &a, const Tuples &t, u32 e) { return a.first + e * TUPLES_BLOCK < t.n; }

ISOBIT_FN TuplesAhead tuples_ahead(const Tuples &t) {
    TuplesAhead a;
    a.first = block_x() * (TUPLES_BLOCK * TUPLES_AHEAD) + thread_x();
    a.fault = false;
#pragma unroll
    for (u32 e = 0; e < TUPLES_AHEAD; e++) {
        a.place[e] = offsets_of(t.tuples, a.first + e * TUPLES_BLOCK);
        a.position[e] = t.start + a.place[e].at[2];
        a.is_somewhere[e] = exists(a, t, e);
    }
    return a;
}

// Adds what the ids contribute to the positions.
template <typename I>
ISOBIT_FN void add_ids(TuplesAhead &a, const I *ids, const Tuples &t) {
    if (t.pairs != 0) {
#pragma unroll 1
        for (u32 k = 0; k < t.ids; k += 2) {
            Pack<2, I> id[TUPLES_AHEAD];
#pragma unroll
            for (u32 e = 0; e < TUPLES_AHEAD; e++)
                if (exists(a, t, e))
                    id[e] = load<2>(ids + a.place[e].at[0] + k);
#pragma unroll
            for (u32 e = 0; e < TUPLES_AHEAD; e++)
                if (exists(a, t, e)) {
                    add_id(t, k, id[e].v[0], a.position[e], a.is_somewhere[e], a.fault);
                    add_id(t, k + 1, id[e].v[1], a.position[e], a.is_somewhere[e], a.fault);
                }
        }
    } else {
#pragma unroll 1
        for (u32 k = 0; k < t.ids; k++) {
            I id[TUPLES_AHEAD];
#pragma unroll
            for (u32 e = 0; e < TUPLES_AHEAD; e++)
                if (exists(a, t, e))
                    id[e] = ids[a.place[e].at[0] + k * t.step];
#pragma unroll
            for (u32 e = 0; e < TUPLES_AHEAD; e++)
                if (exists(a, t, e))
                    add_id(t, k, id[e], a.position[e], a.is_somewhere[e], a.fault);
        }
    }
}

// Reports the ids out of range of a thread that has met one. Only now are places computed, so that
// they cost nothing otherwise.
template <typename I>
ISOBIT_FN void report_tuples(u64 *flag, const I *ids, const Tuples &t, u32 first) {
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
