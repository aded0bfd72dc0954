// Casts from every dtype to every dtype. A cast rounds once from the exact value. Floats to
// integers truncate and saturate, and NaN gives 0; integers to integers wrap.
#pragma once

#include "device_lib/limits.cuh"

namespace isobit {

// 2^bits as a float of type C, exact.
template <typename C>
ISOBIT_FN constexpr C power_of_two(int bits) {
    C p = 1;
    for (int i = 0; i < bits; i++)
        p *= 2;
    return p;
}

// Saturates explicitly: the C++ conversion is undefined outside the range, and the vendors'
// instructions differ there.
template <typename To, typename C>
ISOBIT_FN To saturate(C x) {
    constexpr int BITS = 8 * (int)sizeof(To) - (limits<To>::IS_SIGNED ? 1 : 0);
    constexpr C END = power_of_two<C>(BITS), START = limits<To>::IS_SIGNED ? -END : (C)0;
    if (!(x > START))
        return x <= START ? limits<To>::MIN : (To)0;
    return x >= END ? limits<To>::MAX : (To)x;
}

template <typename To, typename From>
ISOBIT_FN To cast(From x) {
    if constexpr (is_same<To, From>) {
        return x;
    } else if constexpr (is_narrow<To>) {
        if constexpr (is_narrow<From>)
            return round_to<To>(to_f32(x));
        else
            return round_to<To>(x);
    } else if constexpr (!is_float<To> && is_float<From>) {
        return saturate<To>(to_compute(x));
    } else if constexpr (is_float<From>) {
        return (To)to_compute(x);
    } else {
        return (To)x;
    }
}

} // namespace isobit
