// Positions read from a tensor: checks whether a position selects an element, marks a place to skip
// (padding), or is an error to report.
#pragma once

#include "device_lib/atomic.cuh"
#include "device_lib/limits.cuh"

namespace isobit {

// The id that marks a skipped element is the largest u32, i32 or i64. u8 has no such id.
template <typename I>
ISOBIT_FN bool is_padding(I id) {
    return sizeof(I) > 1 && id == limits<I>::MAX;
}

// The position that an id gives. `from_end` is the size of the dimension if negative ids count from
// its end, else 0: then those give a position beyond any dimension.
template <typename I>
ISOBIT_FN u64 position_of(I id, u64 from_end) {
    return (u64)id + ((i64)id < 0 ? from_end : 0);
}

// Whether an id selects one of `size` positions; `at` becomes the one. An id that is neither valid
// nor padding sets `fault`.
template <typename I>
ISOBIT_FN bool is_inside(I id, u64 size, u64 from_end, u64 &at, bool &fault) {
    at = position_of(id, from_end);
    if (is_padding(id))
        return false;
    fault |= at >= size;
    return at < size;
}

// A flag (`FaultFlag` on the host) holds the first id out of range in the order of the ids. It has
// three words, FAULT_FLAGS apart. In each, the distance of the id's place from the last possible
// one is followed by a part of the id, so that the largest words are those of the first id, whoever
// writes first. Words of 0 mean that there is none.
ISOBIT_CONST u32 FAULT_FLAGS = 1024;
ISOBIT_CONST u32 FAULT_PART_BITS = 24;
ISOBIT_CONST u64 FAULT_PLACES = (u64)1 << (64 - FAULT_PART_BITS);

// Records that the id at number `place` of the ids is out of range.
template <typename I>
ISOBIT_FN void report_fault(u64 *flag, u64 place, I id) {
    const u64 last = FAULT_PLACES - 2;
    const u64 rest = (FAULT_PLACES - 1 - (place < last ? place : last)) << FAULT_PART_BITS;
    u64 bits = (u64)(i64)id;
#pragma unroll 1
    for (u32 part = 0; part < 3; part++) {
        atomic_max(flag + part * FAULT_FLAGS, rest | (bits & (((u64)1 << FAULT_PART_BITS) - 1)));
        bits >>= FAULT_PART_BITS;
    }
}

// Reports the first one out of range of the ids `first`, `first + by`, ... below `end` of a line. A
// thread that has met one calls it at its end: so that places, and what reports them, cost nothing
// otherwise, the ids are read again.
template <typename I>
ISOBIT_FN void report_first(u64 *flag, const I *ids, u64 step, u64 place, u64 place_step, u64 first, u64 end, u64 by,
                            u64 size, u64 from_end) {
    bool fault = false;
#pragma unroll 1
    for (u64 k = first; k < end && !fault; k += by) {
        u64 at;
        const I id = ids[k * step];
        is_inside(id, size, from_end, at, fault);
        if (fault)
            report_fault(flag, place + k * place_step, id);
    }
}

} // namespace isobit
