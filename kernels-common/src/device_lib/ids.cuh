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

// Whether an id selects one of `size` positions. An id that is neither valid nor padding sets
// `fault`. Negative ids are always out of range.
template <typename I>
ISOBIT_FN bool is_inside(I id, u64 size, bool &fault) {
    if (is_padding(id))
        return false;
    const bool inside = (u64)id < size;
    fault |= !inside;
    return inside;
}

// Records in the operation's flag (`FaultFlag` on the host) that a thread met an id out of range.
ISOBIT_FN void report_fault(u32 *flag, bool fault) {
    if (fault)
        atomic_or(flag, 1);
}

} // namespace isobit
