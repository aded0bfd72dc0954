// The logarithm of a sum of powers of e. Max has written the maximum to the place of the result.
#pragma once

#include "device_lib/math/f32_log.cuh"
#include "device_lib/math/f64_log.cuh"
#include "ops/norm/exp.cuh"
#include "ops/reduce/seed.cuh"

namespace isobit {

template <typename C>
struct ScaledSum {
    C largest;
    C sum;
};

template <typename T>
struct LogSumExp : Sum<T> {
    using First = Max<T>;
    using typename Sum<T>::Acc;
    using Lane = ScaledSum<Acc>;
    ISOBIT_FN Lane start(const T *, const T *result) { return Lane{to_compute(*result), Sum<T>::none()}; }
    ISOBIT_FN void step(Lane &lane, T x, u32) { lane.sum = lane.sum + exp_down<T>(to_compute(x) - lane.largest); }
    ISOBIT_FN Acc of_lane(Lane lane, u32, u32) { return lane.sum; }
    // A maximum that is infinite or NaN is the result.
    ISOBIT_FN T finish(Acc sum, double, const T *result) {
        const Acc largest = to_compute(*result);
        return from_compute<T>(largest - largest == 0 ? largest + math::log(sum) : largest);
    }
};
template <typename T>
constexpr bool starts_from_seed<LogSumExp<T>> = true;
template <typename T>
constexpr bool ends_with_seed<LogSumExp<T>> = true;
template <typename T>
constexpr bool has_first_pass<LogSumExp<T>> = true;

} // namespace isobit
