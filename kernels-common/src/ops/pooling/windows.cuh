// The windows of pools, and the elements that they cover.
#pragma once

#include "device_lib/elementwise.cuh"

namespace isobit {

// The windows, and how they lie in a volume of the source; the host's `Windows` in pooling/mod.rs.
struct Windows {
    // Slices, rows and columns, in every array. A plane has one slice.
    u64 step[3];
    u64 kernel[3];
    u64 stride[3];
    u64 dilation[3];
    // Positions count from the padding before the source: where the source begins and ends ...
    u64 begin[3];
    u64 end[3];
    // ... and, if an average counts padding, where the padding after it ends; else 0.
    u64 padded[3];
    // So many windows share a dimension, if the pool is adaptive; else 0.
    u64 sharing[3];
    // The divisor of an average, 0 if it depends on the window; or the order of a norm.
    double count;
    // Rows of a slice of the result; 0 if it has no slices.
    u64 rows;
};

// Must match ops/pooling/mod.rs.
static_assert(sizeof(Windows) == 208);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Windows, count) == 192);

// How many elements of a window lie before a position, if they are neighbours or with any dilation.
template <bool DILATED>
ISOBIT_FN u64 elements_before(const Windows &w, int d, u64 start, u64 end) {
    if (end <= start)
        return 0;
    const u64 positions = end - start;
    // Most windows of volumes have no dilation: the branch saves a division, and is the same for
    // every thread.
    const bool has_gaps = DILATED && w.dilation[d] != 1;
    const u64 count = has_gaps ? (positions - 1) / w.dilation[d] + 1 : positions;
    return count < w.kernel[d] ? count : w.kernel[d];
}

// The elements that a window covers along a dimension of the source, the position of the first, and
// by how many an average divides.
struct Covered {
    u64 start;
    u64 count;
    u64 counted;
};
template <bool DILATED>
ISOBIT_FN Covered covered(const Windows &w, int d, u64 index) {
    if (DILATED && w.sharing[d] != 0) {
        const u64 at = index * w.end[d] / w.sharing[d];
        const u64 count = ((index + 1) * w.end[d] - 1) / w.sharing[d] + 1 - at;
        return Covered{at, count, count};
    }
    const u64 start = index * w.stride[d], first = elements_before<DILATED>(w, d, start, w.begin[d]);
    const u64 count = elements_before<DILATED>(w, d, start, w.end[d]) - first;
    const u64 at = start + (DILATED ? first * w.dilation[d] : first) - w.begin[d];
    const bool counts_padding = DILATED && w.padded[d] != 0;
    return Covered{at, count, counts_padding ? elements_before<DILATED>(w, d, start, w.padded[d]) : count};
}

} // namespace isobit
