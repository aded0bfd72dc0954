// Reductions of magnitudes: the norms of order 1, 2 and infinity.
#pragma once

#include "device_lib/arith.cuh"
#include "ops/reduce/ops.cuh"

namespace isobit {

// Unsigned integers have the kernels of Sum and Max instead.
template <typename T>
struct L1Norm : Sum<T> {
    using typename Sum<T>::Acc;
    using typename Sum<T>::Lane;
    ISOBIT_FN void step(Lane &lane, T x, u32) {
        if constexpr (is_float<T>)
            lane = lane + isobit::abs(to_compute(x));
        else
            lane = lane + (x < 0 ? (Acc)0 - (Acc)x : (Acc)x);
    }
};

template <typename T>
struct L2Norm : Sum<T> {
    using typename Sum<T>::Acc;
    using typename Sum<T>::Lane;
    ISOBIT_FN void step(Lane &lane, T x, u32) {
        const Acc c = to_compute(x);
        lane = lane + c * c;
    }
    ISOBIT_FN T finish(Acc a, double) { return from_compute<T>(isobit::sqrt(a)); }
};

template <typename T>
struct MaxNorm : Max<T> {
    using typename Max<T>::Lane;
    ISOBIT_FN void step(Lane &lane, T x, u32 row) {
        if constexpr (!is_float<T> && sizeof(T) < 4) {
            // The larger one of x and -x, not its magnitude: that of the least i16 wraps, which
            // NVRTC 13.0 forgets, and ptxas of driver 580 too where clang finds a magnitude.
            const i32 wide = x;
            lane = Max<T>::combine(lane, wide);
            lane = Max<T>::combine(lane, wide == (i32)limits<T>::MIN ? wide : -wide);
        } else {
            Max<T>::step(lane, arith::abs(x), row);
        }
    }
};

} // namespace isobit
