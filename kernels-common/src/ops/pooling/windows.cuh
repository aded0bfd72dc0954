// The windows of pools, and the elements that they cover.
#pragma once

#include "device_lib/elementwise.cuh"
#include "device_lib/index.cuh"

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
    // The divisors for numbers below 2^31, if there are no others.
    Divisor narrow_dilation[3];
    Divisor narrow_sharing[3];
    Divisor narrow_rows;
    u32 is_narrow;
};

// Must match ops/pooling/mod.rs.
static_assert(sizeof(Windows) == 296);
ISOBIT_LAYOUT(ISOBIT_OFFSET(Windows, count) == 192 && ISOBIT_OFFSET(Windows, is_narrow) == 292);

// The channels of a position that a thread computes, so that finding the position's windows counts
// less: the steps between them in the result and in each array that is read.
struct Channels {
    u64 to;
    u64 from[2];
    u64 count;
};

static_assert(sizeof(Channels) == 32);

// The channels that are computed at once: enough loads are on their way then to hide memory
// latency. With fewer of them, compilers keep an address for each, which takes more registers.
ISOBIT_CONST int SEVERAL = 8;

// Calls `f.run<N>(c)` for the first of each N channels, and `f.run<1>(c)` for each that is left.
template <int N, typename F>
ISOBIT_FN void for_channels(const Channels &channels, const F &f) {
    u64 c = 0;
    if constexpr (N > 1) {
#pragma unroll 1
        for (; c + N <= channels.count; c += N)
            f.template run<N>(c);
    }
#pragma unroll 1
    for (; c < channels.count; c++)
        f.template run<1>(c);
}

// Puts a value before others, which move on.
template <int N, typename X>
ISOBIT_FN void push_front(X (&values)[N], const X &first) {
#pragma unroll
    for (int i = N; --i > 0;)
        values[i] = values[i - 1];
    values[0] = first;
}

// A quotient. The branch is the same for every thread.
ISOBIT_FN u64 quotient(const Windows &w, u64 n, u64 divisor, const Divisor &narrow) {
    return w.is_narrow != 0 ? divide((u32)n, narrow) : n / divisor;
}

// The slice of a row of a volume; a plane has one.
ISOBIT_FN u64 slice_of(const Windows &w, u64 row) {
    return w.rows != 0 ? quotient(w, row, w.rows, w.narrow_rows) : 0;
}

// How many elements of a window lie before a position.
ISOBIT_FN u64 elements_before(const Windows &w, int d, u64 start, u64 end) {
    if (end <= start)
        return 0;
    const u64 count = quotient(w, end - start - 1, w.dilation[d], w.narrow_dilation[d]) + 1;
    return count < w.kernel[d] ? count : w.kernel[d];
}

// The elements that a window covers along a dimension of the source, the position of the first, and
// by how many an average divides.
struct Covered {
    u64 start;
    u64 count;
    u64 counted;
};
ISOBIT_FN Covered covered(const Windows &w, int d, u64 index) {
    if (w.sharing[d] != 0) {
        const u64 at = quotient(w, index * w.end[d], w.sharing[d], w.narrow_sharing[d]);
        const u64 last = quotient(w, (index + 1) * w.end[d] - 1, w.sharing[d], w.narrow_sharing[d]);
        return Covered{at, last + 1 - at, last + 1 - at};
    }
    const u64 start = index * w.stride[d], first = elements_before(w, d, start, w.begin[d]);
    const u64 count = elements_before(w, d, start, w.end[d]) - first;
    const u64 at = start + first * w.dilation[d] - w.begin[d];
    return Covered{at, count, w.padded[d] != 0 ? elements_before(w, d, start, w.padded[d]) : count};
}

} // namespace isobit
