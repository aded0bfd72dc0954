// The order of scans: runs of 16 elements, runs of 16 of their totals, and so on. Before an element
// there are complete runs of every level. Their totals are combined from the highest level down,
// and then with what the element's own run has up to it.
#pragma once

#include "device_lib/elementwise.cuh"
#include "ops/scan/ops.cuh"

namespace isobit::scan {

// Elements per run, and runs per run of the next level.
ISOBIT_CONST u32 RADIX = 16;

// For each level, the total of the complete parts of the current, incomplete run. `LEVELS` levels
// hold 16^LEVELS parts. Only one part in 16 changes more than the lowest level.
template <typename Op, int LEVELS>
struct Levels {
    using A = typename Op::Acc;
    A part[LEVELS];
    // All levels but the lowest.
    A above;
    u32 parts;

    ISOBIT_METHOD void start() {
        parts = 0;
        above = Op::none();
#pragma unroll
        for (int l = 0; l < LEVELS; l++)
            part[l] = Op::none();
    }

    ISOBIT_METHOD A before() const { return Op::combine(above, part[0]); }

    // Adds a complete part. If it completes a run, the run's total goes to the next level.
    ISOBIT_METHOD void complete(A total) {
        parts++;
        part[0] = Op::combine(part[0], total);
        if (parts % RADIX == 0)
            carry();
    }

    ISOBIT_METHOD void carry() {
        A total = part[0];
        part[0] = Op::none();
        u32 left = parts / RADIX;
        bool carries = true;
#pragma unroll
        for (int l = 1; l < LEVELS; l++) {
            const A joined = carries ? Op::combine(part[l], total) : part[l];
            const bool full = carries && left % RADIX == 0;
            total = full ? joined : total;
            part[l] = full ? Op::none() : joined;
            carries = full;
            left /= RADIX;
        }
        above = part[LEVELS - 1];
#pragma unroll
        for (int l = LEVELS - 2; l > 0; l--)
            above = Op::combine(above, part[l]);
    }
};

// Computes the inclusive results of a run in place.
template <typename Op>
ISOBIT_FN void scan_run(typename Op::Acc (&x)[RADIX]) {
#pragma unroll
    for (u32 j = 1; j < RADIX; j++)
        x[j] = Op::combine(x[j - 1], x[j]);
}

// Element `j` of a run with inclusive results: without the element itself if the scan is exclusive.
template <typename Op>
ISOBIT_FN typename Op::Acc up_to(const typename Op::Acc (&x)[RADIX], u32 j, bool exclusive) {
    return !exclusive ? x[j] : j > 0 ? x[j - 1] : Op::none();
}

} // namespace isobit::scan
