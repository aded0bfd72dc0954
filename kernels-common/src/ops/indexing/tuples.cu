// Turns tuples of ids into positions in the flattened dimensions that they index.
#include "device_lib/ids.cuh"
#include "device_lib/index.cuh"
#include "device_lib/thread.cuh"

namespace isobit {

ISOBIT_CONST u32 TUPLES_BLOCK = 256;
// Ids of a tuple in one launch.
ISOBIT_CONST u32 TUPLES_IDS = 8;

// The host's `Tuples`.
struct Tuples {
    // The first id of each tuple and its place in the order of the ids, the position of the part of
    // the tensor that the tuple indexes, and where the result goes.
    Index<4> tuples;
    u64 place;
    u64 start;
    // The step from one id of a tuple to the next, and the same of places.
    u64 step;
    u64 place_step;
    // The size of each dimension, and the positions from one element of it to the next.
    u64 size[TUPLES_IDS];
    u64 along[TUPLES_IDS];
    u32 ids;
    u32 n;
    // Whether negative ids count from the end, and whether earlier ids of the tuples have been
    // added.
    u32 negative;
    u32 resumes;
};

// Must match ops/indexing/tuples.rs.
static_assert(sizeof(Tuples) == 536);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Tuples, place) == 360 && ISOBIT_OFFSET(Tuples, size) == 392);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Tuples, along) == 456 && ISOBIT_OFFSET(Tuples, ids) == 520);

// A tuple with an id that is padding or out of range becomes padding.
template <typename I>
ISOBIT_FN void tuples(const I *ids, i64 *positions, const Tuples &t, u64 *flag) {
    const u32 i = block_x() * TUPLES_BLOCK + thread_x();
    if (i >= t.n)
        return;
    const Offsets<4> from = offsets_of(t.tuples, i);
    i64 *to = positions + from.at[3];
    u64 position = t.start + from.at[2];
    bool is_somewhere = true;
    if (t.resumes != 0) {
        position = (u64)*to;
        is_somewhere = !is_padding(*to);
    }
    bool fault = false;
#pragma unroll 1
    for (u32 k = 0; k < t.ids; k++) {
        const I id = ids[from.at[0] + k * t.step];
        u64 at;
        const bool known = fault;
        const bool inside = is_inside(id, t.size[k], t.negative != 0 ? t.size[k] : 0, at, fault);
        if (fault && !known)
            report_fault(flag, t.place + from.at[1] + k * t.place_step, id);
        is_somewhere = is_somewhere && inside;
        position += at * t.along[k];
    }
    *to = is_somewhere ? (i64)position : limits<i64>::MAX;
}

} // namespace isobit

#define ISOBIT_TUPLES(NAME, I)                                                                                         \
    namespace isobit {                                                                                                 \
    ISOBIT_KERNEL(256) NAME(const I *ids, i64 *positions, const Tuples t, u64 *flag) {                                 \
        tuples<I>(ids, positions, t, flag);                                                                            \
    }                                                                                                                  \
    }
