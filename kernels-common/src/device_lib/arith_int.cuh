// Integer arithmetic, with results for the cases that C++ leaves undefined: overflow wraps,
// division by zero gives 0.
#pragma once

#include "device_lib/limits.cuh"

namespace isobit::arith {

template <int BYTES>
struct wrapping_of {
    using type = u32;
};
template <>
struct wrapping_of<8> {
    using type = u64;
};

// The unsigned type in which arithmetic on T is done, because its overflow is defined.
template <typename T>
using wrapping = typename wrapping_of<(int)sizeof(T)>::type;

template <typename T>
ISOBIT_FN T int_div(T a, T b) {
    if (b == 0)
        return 0;
    if constexpr (limits<T>::IS_SIGNED) {
        // Also covers MIN / -1, which wraps.
        if (b == -1)
            return (T)((wrapping<T>)0 - (wrapping<T>)a);
    }
    return (T)(a / b);
}

template <typename T>
ISOBIT_FN T int_rem(T a, T b) {
    if (b == 0)
        return 0;
    if constexpr (limits<T>::IS_SIGNED) {
        if (b == -1)
            return 0;
    }
    return (T)(a % b);
}

// Exponentiation by squaring. A negative exponent gives the integer part of the real power: 0
// except for bases 1 and -1.
template <typename T>
ISOBIT_FN T int_pow(T base, T exponent) {
    if constexpr (limits<T>::IS_SIGNED) {
        if (exponent < 0)
            return base == 1 ? (T)1 : base == -1 ? (exponent & 1 ? (T)-1 : (T)1) : (T)0;
    }
    wrapping<T> result = 1, power = (wrapping<T>)base;
#pragma unroll 1
    for (wrapping<T> left = (wrapping<T>)exponent; left != 0; left >>= 1) {
        if (left & 1)
            result *= power;
        power *= power;
    }
    return (T)result;
}

} // namespace isobit::arith
