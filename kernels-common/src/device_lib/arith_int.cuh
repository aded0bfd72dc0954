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

// The bits of an integer, not extended by its sign.
template <typename T>
ISOBIT_FN wrapping<T> unsigned_of(T x) {
    constexpr u32 SPARE = 8 * (u32)(sizeof(wrapping<T>) - sizeof(T));
    return (wrapping<T>)x << SPARE >> SPARE;
}

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

// The quotient rounded down.
template <typename T>
ISOBIT_FN T int_floor_div(T a, T b) {
    const T q = int_div(a, b);
    if constexpr (limits<T>::IS_SIGNED) {
        const T r = int_rem(a, b);
        return r != 0 && (r < 0) != (b < 0) ? (T)(q - 1) : q;
    } else {
        return q;
    }
}

// The remainder of the quotient rounded down, which has the sign of the divisor.
template <typename T>
ISOBIT_FN T int_floor_mod(T a, T b) {
    const T r = int_rem(a, b);
    if constexpr (limits<T>::IS_SIGNED)
        return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;
    else
        return r;
}

// Shifts by any amount, which counts as unsigned; C++ leaves those from the number of bits on
// undefined.
template <typename T>
ISOBIT_FN T int_left_shift(T x, T amount) {
    constexpr u32 BITS = 8 * (u32)sizeof(T);
    const wrapping<T> by = unsigned_of(amount);
    return by < BITS ? (T)((wrapping<T>)x << by) : (T)0;
}

template <typename T>
ISOBIT_FN T int_right_shift(T x, T amount) {
    constexpr u32 BITS = 8 * (u32)sizeof(T);
    const wrapping<T> by = unsigned_of(amount);
    if constexpr (limits<T>::IS_SIGNED)
        return (T)(x >> (by < BITS ? by : BITS - 1));
    else
        return by < BITS ? (T)(x >> by) : (T)0;
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
