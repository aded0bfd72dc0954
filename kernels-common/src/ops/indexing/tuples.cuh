// Tuples of ids, and the position that each gives in the dimensions that it indexes.
#pragma once

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
    // Whether negative ids count from the end, whether earlier ids of the tuples have been added,
    // and whether ids can be loaded in pairs.
    u32 negative;
    u32 resumes;
    u32 pairs;
};

// Must match ops/indexing/tuples.rs.
static_assert(sizeof(Tuples) == 544);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Tuples, place) == 360 && ISOBIT_OFFSET(Tuples, size) == 392);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Tuples, along) == 456 && ISOBIT_OFFSET(Tuples, ids) == 520);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Tuples, pairs) == 536);

// Adds what the id at number `k` of a tuple contributes to its position. A tuple with an id that is
// padding or out of range is nowhere.
template <typename I>
ISOBIT_FN void add_id(const Tuples &t, u32 k, I id, u64 &position, bool &is_somewhere, bool &fault) {
    u64 at;
    const bool inside = is_inside(id, t.size[k], t.negative != 0 ? t.size[k] : 0, at, fault);
    is_somewhere = is_somewhere && inside;
    position += at * t.along[k];
}

} // namespace isobit
