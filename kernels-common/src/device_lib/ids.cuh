// Positions read from a tensor: which of them name an element, which mark a place to leave out, and
// which are reported.
#pragma once

#include "device_lib/atomic.cuh"
#include "device_lib/limits.cuh"

namespace isobit {

// The mark of an element that is left out: the largest u32 and i64. A u8 has none.
template <typename I>
ISOBIT_FN bool is_padding(I id) {
    return sizeof(I) > 1 && id == limits<I>::MAX;
}

// Whether an id names one of `size` positions. One that neither does nor marks padding sets
// `fault`. Negative ids are beyond any size.
template <typename I>
ISOBIT_FN bool is_inside(I id, u64 size, bool &fault) {
    if (is_padding(id))
        return false;
    const bool inside = (u64)id < size;
    fault |= !inside;
    return inside;
}

// Records in the operation's flag (`FaultFlag` of the host) that a thread met an id out of range.
ISOBIT_FN void report_fault(u32 *flag, bool fault) {
    if (fault)
        atomic_or(flag, 1);
}

} // namespace isobit
