// The order of running sums: runs of 16 elements, runs of 16 of their totals, and so on. Before an
// element there are complete runs of every level. Their sums are added from the highest level down,
// and then the running sum of the element's own run.
#pragma once

#include "device_lib/arith_int.cuh"
#include "device_lib/elementwise.cuh"

namespace isobit::scan {

// Elements per run, and runs per run of the next level.
ISOBIT_CONST u32 RADIX = 16;

template <typename T, bool FLOAT = is_float<T>>
struct accumulator {
    using type = compute_t<T>;
};
template <typename T>
struct accumulator<T, false> {
    using type = arith::wrapping<T>;
};
template <typename T>
using Acc = typename accumulator<T>::type;

// The sum of nothing: adding it changes nothing, not even the sign of a zero.
template <typename A>
ISOBIT_FN A none() {
    return is_float<A> ? (A)-0.0f : (A)0;
}

template <typename T>
ISOBIT_FN Acc<T> widen(T x) {
    return (Acc<T>)to_compute(x);
}

template <typename T>
ISOBIT_FN T narrow(Acc<T> x) {
    if constexpr (is_float<T>)
        return from_compute<T>(x);
    else
        return (T)x;
}

// For each level, the sum of the complete parts of the current, incomplete run. `LEVELS` levels
// hold 16^LEVELS parts.
template <typename A, int LEVELS>
struct Levels {
    A sum[LEVELS];
    u32 parts;

    ISOBIT_METHOD void start() {
        parts = 0;
#pragma unroll
        for (int l = 0; l < LEVELS; l++)
            sum[l] = none<A>();
    }

    ISOBIT_METHOD A before() const {
        A all = sum[LEVELS - 1];
#pragma unroll
        for (int l = LEVELS - 2; l >= 0; l--)
            all = all + sum[l];
        return all;
    }

    // Adds a complete part. If it completes a run, the run's total goes to the next level.
    ISOBIT_METHOD void complete(A total) {
        parts++;
        u32 left = parts;
        bool carries = true;
#pragma unroll
        for (int l = 0; l < LEVELS; l++) {
            const A joined = carries ? sum[l] + total : sum[l];
            const bool full = carries && left % RADIX == 0;
            total = full ? joined : total;
            sum[l] = full ? none<A>() : joined;
            carries = full;
            left /= RADIX;
        }
    }
};

// Computes the running sums of a run in place.
template <typename A>
ISOBIT_FN void run_sums(A (&x)[RADIX]) {
#pragma unroll
    for (u32 j = 1; j < RADIX; j++)
        x[j] = x[j - 1] + x[j];
}

} // namespace isobit::scan
