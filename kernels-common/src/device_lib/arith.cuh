// The exact operations on every dtype: arithmetic, comparison and rounding. Floats compute in their
// compute type and round once more; integers wrap.
#pragma once

#include "device_lib/arith_int.cuh"
#include "device_lib/arith_rem.cuh"
#include "device_lib/limits.cuh"
#include "device_lib/math/narrow_root.cuh"
#include "device_lib/vector.cuh"

namespace isobit::arith {

template <typename T>
ISOBIT_FN T add(T a, T b) {
    if constexpr (is_float<T>)
        return from_compute<T>(to_compute(a) + to_compute(b));
    else
        return (T)((wrapping<T>)a + (wrapping<T>)b);
}

template <typename T>
ISOBIT_FN T sub(T a, T b) {
    if constexpr (is_float<T>)
        return from_compute<T>(to_compute(a) - to_compute(b));
    else
        return (T)((wrapping<T>)a - (wrapping<T>)b);
}

template <typename T>
ISOBIT_FN T mul(T a, T b) {
    if constexpr (is_float<T>)
        return from_compute<T>(to_compute(a) * to_compute(b));
    else
        return (T)((wrapping<T>)a * (wrapping<T>)b);
}

// LLVM folds the f32 quotient of two widened f16 values, rounded to f16, into one f16 division. The
// fold itself is correct, but LLVM's AMD backend expands an f16 division to an approximation
// (v_rcp_f16, 0.51 ulp). Scaled operands are no longer widened f16 values, which prevents the fold;
// the scale is exact and cancels.
template <typename T>
ISOBIT_FN compute_t<T> ratio(compute_t<T> a, compute_t<T> b) {
    constexpr compute_t<T> SCALE = is_same<T, f16> ? 256 : 1;
    return (a * SCALE) / (b * SCALE);
}

template <typename T>
ISOBIT_FN T quotient(compute_t<T> a, compute_t<T> b) {
    return from_compute<T>(ratio<T>(a, b));
}

template <typename T>
ISOBIT_FN T div(T a, T b) {
    if constexpr (is_float<T>)
        return quotient<T>(to_compute(a), to_compute(b));
    else
        return int_div(a, b);
}

// The remainder of two elements of T.
template <typename T>
ISOBIT_FN compute_t<T> remainder(compute_t<T> x, compute_t<T> y) {
    // Finite f8e4m3 are below 2^9, and multiples of 2^-9.
    if constexpr (is_same<T, f8e4m3>)
        return float_rem_step(x, y);
    else
        return float_rem(x, y);
}

// f16 and bf16, whose remainders are usually found without a division.
template <typename T>
constexpr bool has_narrow_rem = is_float<T> && sizeof(T) == 2;

template <typename T>
ISOBIT_FN T rem(T a, T b) {
    if constexpr (is_float<T>) {
        const compute_t<T> x = to_compute(a), y = to_compute(b);
        if constexpr (has_narrow_rem<T>) {
            if (is_narrow_rem(x, y))
                return from_compute<T>(narrow_rem(x, y, x));
        }
        return from_compute<T>(remainder<T>(x, y));
    } else {
        return int_rem(a, b);
    }
}

template <typename T>
ISOBIT_FN T floor_div(T a, T b) {
    if constexpr (is_float<T>) {
        const compute_t<T> x = to_compute(a), y = to_compute(b);
        return from_compute<T>(float_floor_div(x, y, ratio<T>(x, y)));
    } else {
        return int_floor_div(a, b);
    }
}

template <typename T>
ISOBIT_FN T floor_mod(T a, T b) {
    if constexpr (is_float<T>) {
        const compute_t<T> x = to_compute(a), y = to_compute(b);
        if constexpr (has_narrow_rem<T>) {
            if (is_narrow_rem(x, y))
                return from_compute<T>(narrow_rem(x, y, y));
        }
        return from_compute<T>(float_floor_mod(remainder<T>(x, y), y));
    } else {
        return int_floor_mod(a, b);
    }
}

// x * mul + add: one fma in the compute type, or wrapping.
template <typename T>
ISOBIT_FN T affine(T x, compute_t<T> factor, compute_t<T> summand) {
    if constexpr (is_float<T>)
        return from_compute<T>(fma(to_compute(x), factor, summand));
    else
        return add(mul(x, factor), summand);
}

// IEEE 754-2019 maximum: NaN propagates, and -0 is less than +0. Equal operands differ at most in
// the sign of a zero, so the bits that they share are those of the larger one.
ISOBIT_FN float larger(float a, float b) {
    const float other = a == b ? from_bits(to_bits(a) & to_bits(b)) : a + b;
    return a > b ? a : b > a ? b : other;
}
ISOBIT_FN double larger(double a, double b) {
    const double other = a == b ? from_bits(to_bits(a) & to_bits(b)) : a + b;
    return a > b ? a : b > a ? b : other;
}
ISOBIT_FN float smaller(float a, float b) {
    const float other = a == b ? from_bits(to_bits(a) | to_bits(b)) : a + b;
    return a < b ? a : b < a ? b : other;
}
ISOBIT_FN double smaller(double a, double b) {
    const double other = a == b ? from_bits(to_bits(a) | to_bits(b)) : a + b;
    return a < b ? a : b < a ? b : other;
}

template <typename T>
ISOBIT_FN T maximum(T a, T b) {
    if constexpr (is_float<T>)
        return from_compute<T>(larger(to_compute(a), to_compute(b)));
    else
        return a > b ? a : b;
}

template <typename T>
ISOBIT_FN T minimum(T a, T b) {
    if constexpr (is_float<T>)
        return from_compute<T>(smaller(to_compute(a), to_compute(b)));
    else
        return a < b ? a : b;
}

// The sign bit of a float.
template <typename T>
constexpr u64 SIGN = 1ull << (8 * sizeof(T) - 1);

template <typename T>
ISOBIT_FN T neg(T x) {
    if constexpr (is_narrow<T>)
        return T{(decltype(x.bits))(x.bits ^ SIGN<T>)};
    else if constexpr (is_float<T>)
        return -x;
    else
        return sub((T)0, x);
}

template <typename T>
ISOBIT_FN T abs(T x) {
    if constexpr (is_narrow<T>)
        return T{(decltype(x.bits))(x.bits & ~SIGN<T>)};
    else if constexpr (is_float<T>)
        return isobit::abs(x);
    else if constexpr (limits<T>::IS_SIGNED)
        return x < 0 ? neg(x) : x;
    else
        return x;
}

template <typename T>
ISOBIT_FN T sign(T x) {
    if constexpr (is_float<T>) {
        const compute_t<T> c = to_compute(x);
        return from_compute<T>(c > 0 ? 1 : c < 0 ? -1 : is_nan(c) ? c : 0);
    } else if constexpr (limits<T>::IS_SIGNED) {
        return (T)((x > 0) - (x < 0));
    } else {
        return (T)(x != 0);
    }
}

// The next value after x in the direction of y. The bits of positive floats are in the order of
// their values, so the neighbour of a magnitude is one more or one less.
template <typename T>
ISOBIT_FN T nextafter(T x, T y) {
    const compute_t<T> from = to_compute(x), to = to_compute(y);
    if (is_nan(from) || is_nan(to))
        return from_compute<T>(from + to);
    const u64 bits = bits_of_element(x);
    if (from == to)
        return y;
    if (from == 0)
        return element_of_bits<T>((bits_of_element(y) & SIGN<T>) | 1);
    const bool grows = (from < to) == (from > 0);
    return element_of_bits<T>(grows ? bits + 1 : bits - 1);
}

template <typename T>
ISOBIT_FN T bitwise_not(T x) {
    return (T)~x;
}

template <typename T>
ISOBIT_FN T bitwise_and(T a, T b) {
    return (T)(a & b);
}

template <typename T>
ISOBIT_FN T bitwise_or(T a, T b) {
    return (T)(a | b);
}

template <typename T>
ISOBIT_FN T bitwise_xor(T a, T b) {
    return (T)(a ^ b);
}

template <typename T>
ISOBIT_FN T bitwise_left_shift(T a, T b) {
    return int_left_shift(a, b);
}

template <typename T>
ISOBIT_FN T bitwise_right_shift(T a, T b) {
    return int_right_shift(a, b);
}

// The bits of minus infinity, or of the lowest number in a type without infinities. The bit
// patterns of negative numbers run from the sign bit to this value.
template <typename T>
ISOBIT_CONST u32 LOWEST_BITS = is_same<T, f16> ? 0xfc00 : is_same<T, bf16> ? 0xff80 : 0xfe;

template <typename T>
ISOBIT_FN T relu(T x) {
    if constexpr (is_narrow<T>) {
        // Compares bits, because ptxas (13.0, sm_90) compiles "x > 0 ? x : 0" of a bf16 in the
        // upper half of a word to an f32 maximum. The NaN that this returns has all bits set and
        // overwrites the element in the lower half.
        constexpr u32 SIGN = 1u << (8 * sizeof(T) - 1);
        return (u32)x.bits - SIGN <= LOWEST_BITS<T> - SIGN ? T{} : x;
    } else if constexpr (is_float<T>) {
        return x <= 0 ? T{} : x;
    } else {
        return x > 0 ? x : (T)0;
    }
}

// Applies a function in the compute type and rounds the result back to T.
#define ISOBIT_ARITH_FLOAT_UNARY(NAME, EXPRESSION)                                                                     \
    template <typename T>                                                                                              \
    ISOBIT_FN T NAME(T value) {                                                                                        \
        const compute_t<T> x = to_compute(value);                                                                      \
        return from_compute<T>(EXPRESSION);                                                                            \
    }
ISOBIT_ARITH_FLOAT_UNARY(ceil, isobit::ceil(x))
ISOBIT_ARITH_FLOAT_UNARY(floor, isobit::floor(x))
ISOBIT_ARITH_FLOAT_UNARY(trunc, isobit::trunc(x))
ISOBIT_ARITH_FLOAT_UNARY(round_even, isobit::rint(x))
#undef ISOBIT_ARITH_FLOAT_UNARY

// The root of an element of T.
template <typename T>
ISOBIT_FN compute_t<T> root(compute_t<T> x) {
    if constexpr (is_same<T, f16> || is_same<T, bf16> || is_same<T, f8e4m3>)
        return narrow::sqrt<T>(x);
    else
        return isobit::sqrt(x);
}

template <typename T>
ISOBIT_FN T sqrt(T x) {
    return from_compute<T>(root<T>(to_compute(x)));
}

// Rounds to the nearest integer, halves away from zero. The difference from the integer part is
// exact.
template <typename T>
ISOBIT_FN T round(T value) {
    using C = compute_t<T>;
    const C x = to_compute(value), t = isobit::trunc(x);
    const C r = isobit::abs(x - t) >= (C)0.5 ? t + copysign((C)1, x) : t;
    return from_compute<T>(copysign(r, x));
}

template <typename T>
ISOBIT_FN T recip(T x) {
    return quotient<T>(1, to_compute(x));
}

template <typename T>
ISOBIT_FN T sqr(T x) {
    return mul(x, x);
}

} // namespace isobit::arith
