// Shared parts of the f32 recipes: exponent scaling, the argument reduction and polynomial of exp,
// and reciprocals and reciprocal square roots by Newton's method from integer estimates. The
// estimates replace division and square root if a recipe can use an error term: they are as long as
// an IEEE division on both vendors, and have no slow-path branch. Recipes and constants:
// docs/numerics/f32.md.
#pragma once
#include "device_lib/base.cuh"

namespace isobit::math::f32 {

// Built from bits, because NVRTC has no builtin for either.
ISOBIT_FN float inf() { return from_bits(0x7f800000u); }
ISOBIT_FN float nan() { return from_bits(0x7fc00000u); }

// Adding 1.5 * 2^23 rounds to an integer, which is then in the low bits of the sum.
ISOBIT_CONST float ROUNDER = 0x1.8p23f;
ISOBIT_CONST float LOG2_E = 0x1.715476p0f;
// ln 2 in two parts; the first has 15 bits, so its product with an exponent is exact.
ISOBIT_CONST float LN2_HI = 0x1.62e4p-1f;
ISOBIT_CONST float LN2_LO = 0x1.7f7d1cp-20f;
ISOBIT_CONST float PIO2_HI = 0x1.921fb6p0f;
ISOBIT_CONST float PIO2_LO = -0x1.777a5cp-25f;

// Clamps that pass NaN through; the limits are not zero.
#if defined(ISOBIT_PTX70) && defined(__clang__) && defined(__NVPTX__)
ISOBIT_FN float at_least(float x, float lo) { return __nvvm_fmax_nan_f(x, lo); }
ISOBIT_FN float at_most(float x, float hi) { return __nvvm_fmin_nan_f(x, hi); }
#else
ISOBIT_FN float at_least(float x, float lo) { return x < lo ? lo : x; }
ISOBIT_FN float at_most(float x, float hi) { return x > hi ? hi : x; }
#endif

// y with the sign of x, for a y that has no other sign, in one instruction. LLVM takes three for
// any y.
ISOBIT_FN float with_sign(float y, float x) { return from_bits(to_bits(y) | (to_bits(x) & 0x80000000u)); }

// a + b and its rounding error.
struct Pair {
    float high, low;
};
ISOBIT_FN Pair two_sum(float a, float b) {
    float sum = a + b;
    float part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
}
// The same for a positive sum of 1 or 2 and a positive b below 2^24: sum - a is exact, as a
// multiple of the unit of the sum that is below it.
ISOBIT_FN Pair one_sum(float a, float b) {
    float sum = a + b;
    return {sum, b - (sum - a)};
}

// 2^n for the rounded t = n + ROUNDER, -126 <= n + bias <= 127; bias is added to the exponent.
ISOBIT_FN float scale_of(float t, i32 bias = 0) { return from_bits((to_bits(t) << 23) + (u32)((127 + bias) << 23)); }

// v * 2^n when 2^n itself may be out of range: v is scaled in two steps and rounded at most once.
struct Scale {
    float first, second;
};
ISOBIT_FN Scale split_scale(float t) {
    bool down = to_bits(t) < to_bits(ROUNDER);
    u32 shift = down ? 64u << 23 : 0u - (64u << 23);
    return {from_bits((to_bits(t) << 23) + (127u << 23) + shift), from_bits((127u << 23) - shift)};
}

// exp(r) - 1 for |r| <= 0.348 as r + r^2 q(r).
ISOBIT_FN float expm1_tail(float r) {
    float q = fma(0x1.a2d3dep-13f, r, 0x1.6d310cp-10f);
    q = fma(q, r, 0x1.110fc4p-7f);
    q = fma(q, r, 0x1.5555p-5f);
    q = fma(q, r, 0x1.555556p-3f);
    return fma(q, r, 0.5f);
}
ISOBIT_FN float expm1_poly(float r) { return fma(r * r, expm1_tail(r), r); }

// (exp(r) - 1) / r for |r| <= 0.348.
ISOBIT_FN float exp_slope(float r) {
    float q = fma(0x1.6d56e6p-10f, r, 0x1.122c0cp-7f);
    q = fma(q, r, 0x1.5554ep-5f);
    q = fma(q, r, 0x1.5554aap-3f);
    q = fma(q, r, 0.5f);
    return fma(q, r, 1.0f);
}

// 2^r - 1 for |r| <= 0.5 as r ln 2 + r q(r).
ISOBIT_FN float exp2m1_poly(float r) {
    float q = fma(0x1.44250ep-13f, r, 0x1.5f08f8p-10f);
    q = fma(q, r, 0x1.3b2a48p-7f);
    q = fma(q, r, 0x1.c6af6cp-5f);
    q = fma(q, r, 0x1.ebfbep-3f);
    q = fma(q, r, 0x1.823288p-28f);
    return fma(r, 0x1.62e43p-1f, r * q);
}

// An estimate of 1/d with a relative error below 0.0506, for |d| from 2^-125 to 2^126 (the sign bit
// passes through the subtraction). Each `recip_step` then cubes the error.
ISOBIT_FN float recip_estimate(float d) { return from_bits(0x7ef31000u - to_bits(d)); }
ISOBIT_FN float recip_step(float w, float e) { return fma(w, fma(e, e, e), w); }
// 1/d with a relative error below 2^-12.
ISOBIT_FN float recip_rough(float d) {
    float w = recip_estimate(d);
    return recip_step(w, fma(-d, w, 1.0f));
}

// 1/sqrt(z) with a relative error below 2^-15.3, for normal z: an integer estimate and one cubic
// step, a minimax fit of (1 - e)^-1/2 for the errors e of the estimate. For zero the result is
// finite.
ISOBIT_FN float rsqrt_rough(float z) {
    float y = from_bits(0x5f360000u - (to_bits(z) >> 1));
    float e = fma(-(z * y), y, 1.0f);
    return y * fma(fma(0x1.8da70ap-2f, e, 0x1.0070a8p-1f), e, 0x1.fffe58p-1f);
}

} // namespace isobit::math::f32
