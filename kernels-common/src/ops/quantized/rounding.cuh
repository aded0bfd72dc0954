// Shared code of the quantizers: the element with the greatest magnitude, whether all elements are
// finite, and roundings to an integer within limits. NaN rounds to 0.
#pragma once

#include "device_lib/base.cuh"

namespace isobit {

// The first number with the greatest magnitude among those taken; +0 if there are only zeros. The
// magnitude is stored separately, because LLVM (19) loses the absolute value of a select between
// the first number and zero.
struct Top {
    float value = 0, magnitude = 0;
};

ISOBIT_FN void take_top(Top &top, float x) {
    if (abs(x) > top.magnitude) {
        top.magnitude = abs(x);
        top.value = x;
    }
}

template <u32 N>
ISOBIT_FN Top top_of(const float (&x)[N]) {
    Top top;
#pragma unroll
    for (u32 i = 0; i < N; i++)
        take_top(top, x[i]);
    return top;
}

// Whether no element is infinite or NaN.
template <u32 N>
ISOBIT_FN bool all_finite(const float (&x)[N]) {
    constexpr u32 INFINITE = 0x7f800000u;
    bool finite = true;
#pragma unroll
    for (u32 i = 0; i < N; i++)
        finite = finite && to_bits(abs(x[i])) < INFINITE;
    return finite;
}

namespace rounding_detail {

// Cuts v to an integer.
ISOBIT_FN i32 between(float v, i32 lowest, i32 highest) {
    return v >= (float)lowest ? (v < (float)highest ? (i32)v : highest) : v < (float)lowest ? lowest : 0;
}

} // namespace rounding_detail

// Rounds toward zero.
ISOBIT_FN i32 round_trunc(float v, i32 lowest, i32 highest) {
    return rounding_detail::between(trunc(v), lowest, highest);
}

// Rounds to nearest, ties to even.
ISOBIT_FN i32 round_even(float v, i32 lowest, i32 highest) { return rounding_detail::between(rint(v), lowest, highest); }

// Rounds to nearest, ties away from zero: the number next below one half takes every tie, and no
// number below one, over the next integer, which is where the conversion cuts.
ISOBIT_FN i32 round_away(float v, i32 lowest, i32 highest) {
    constexpr u32 SIGN = 0x80000000u, BELOW_HALF = 0x3effffffu;
    return rounding_detail::between(v + from_bits((to_bits(v) & SIGN) | BELOW_HALF), lowest, highest);
}

} // namespace isobit
