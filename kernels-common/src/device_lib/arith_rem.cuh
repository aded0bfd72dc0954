// The exact remainder of floats with the sign of the dividend (C's fmod), computed with IEEE
// operations only.
#pragma once

#include "device_lib/base.cuh"
#include "device_lib/math/f32_core.cuh"

namespace isobit::arith {

// x mod y = (x mod (y 2^k)) mod y, so each step takes STEP bits of the quotient. For one step, with
// 0 <= x < t 2^STEP: x / t rounds up to at most the next integer, so q is the integer part of the
// true quotient or one more. q t - x is a multiple of t's last place and less than 2 t, so the fma
// is exact, and a q that is too large gives a negative remainder.
template <typename T>
ISOBIT_FN T float_rem_steps(T x, T y, T up, T down) {
    const T ax = abs(x), ay = abs(y);
    // Infinite or NaN dividends, zero or NaN divisors.
    if (!(ax - ax == 0) || !(ay > 0))
        return (x - x) / (ay - ay);
    if (ax < ay)
        return x;
    T r = ax, t = ay;
    // Every product is exact. If it overflows to infinity, the loop ends, because r is finite.
#pragma unroll 1
    while (r >= t * up)
        t *= up;
#pragma unroll 1
    for (;;) {
        const T q = trunc(r / t);
        r = fma(-q, t, r);
        r = r < 0 ? r + t : r;
        if (t == ay)
            return copysign(r, x);
        t *= down;
    }
}

ISOBIT_FN float float_rem(float x, float y) { return float_rem_steps(x, y, 0x1p22f, 0x1p-22f); }
ISOBIT_FN double float_rem(double x, double y) { return float_rem_steps(x, y, 0x1p51, 0x1p-51); }

// The same for multiples of one unit that are below 2^22 of it: one step, without a branch. Such a
// quotient is too far below the next integer to round to it.
ISOBIT_FN float float_rem_step(float x, float y) {
    const float ax = abs(x), ay = abs(y);
    return copysign(fma(-trunc(ax / ay), ay, ax), x);
}

// Remainders of numbers of at most 11 bits, if the quotient is below 2^20 and y is not an extreme
// of f32: without a division and without branches, with which floor_mod of f16 took a third longer
// than moving its elements on an H200. The reciprocal has a relative error below 2^-22, so q is an
// integer next to the quotient, and r, of either sign, is below 3/4 |y|. It is exact: a multiple of
// the lesser operand's last place that is below 2^13 of them.
ISOBIT_FN bool is_narrow_rem(float x, float y) {
    return abs(x) < abs(y) * 0x1p20f && abs(y) >= 0x1p-125f && abs(y) <= 0x1p125f;
}
// The remainder with the sign of `side`, which is x or y.
ISOBIT_FN float narrow_rem(float x, float y, float side) {
    const float rough = math::f32::recip_rough(y);
    const float reciprocal = fma(fma(-y, rough, 1.0f), rough, rough);
    const float q = fma(x, reciprocal, math::f32::ROUNDER) - math::f32::ROUNDER;
    const float r = fma(-q, y, x);
    const float forward = from_bits(to_bits(r) ^ (to_bits(side) & 0x80000000u));
    return copysign(forward < 0 ? forward + abs(y) : forward, side);
}

// The quotient `q` of x and y rounded down. Rounding to an integer may have lifted it above the
// exact quotient; the remainder, an exact fma, tells by its sign.
template <typename T>
ISOBIT_FN T float_floor_div(T x, T y, T q) {
    const T r = fma(-q, y, x);
    if (abs(y) - abs(y) != 0)
        // An infinite or NaN divisor: a finite dividend of the other sign lies below zero.
        return x != 0 && abs(x) - abs(x) == 0 && !is_nan(y) && (x < 0) != (y < 0) ? (T)-1 : q;
    if (abs(x) - abs(x) != 0)
        return q - q;
    const T down = floor(q);
    return down == q && r != 0 && (r < 0) != (y < 0) ? q - 1 : down;
}

// The remainder of the quotient rounded down, where `r` is that of the truncated one. A zero has
// the sign of the divisor.
template <typename T>
ISOBIT_FN T float_floor_mod(T r, T y) {
    if (r == 0)
        return copysign((T)0, y);
    return (r < 0) != (y < 0) ? r + y : r;
}

} // namespace isobit::arith
