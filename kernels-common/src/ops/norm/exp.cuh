// e^x for x of at most 0, as softmax needs it: NaN stays NaN, and -infinity gives 0. Recipes:
// docs/numerics/norm.md.
#pragma once

#include "device_lib/extreme.cuh"
#include "device_lib/limits.cuh"
#include "device_lib/math/f32_exp.cuh"
#include "device_lib/math/f64_exp.cuh"
#include "device_lib/math/narrow_exp.cuh"

namespace isobit {

// Below this value e^x rounds to 0 in f32.
ISOBIT_CONST float NORM_EXP_LEAST = -104.0f;

ISOBIT_FN float exp_limited(float x) {
#if ISOBIT_MAXIMUM
    return machine_maximum(x, NORM_EXP_LEAST);
#else
    return x < NORM_EXP_LEAST ? NORM_EXP_LEAST : x;
#endif
}

// The f32 exp without the parts for positive arguments. The scale is 2^64 times too large, which
// keeps it normal; the last factor corrects that and rounds once.
ISOBIT_FN float exp_down(float x, type_tag<float>) {
    using namespace math::f32;
    x = exp_limited(x);
    const float t = fma(x, LOG2_E, ROUNDER);
    const float n = t - ROUNDER;
    const float r = fma(n, -LN2_LO, fma(n, -LN2_HI, x));
    const float scale = scale_of(t, 64);
    return fma(expm1_poly(r), scale, scale) * 0x1p-64f;
}

ISOBIT_FN double exp_down(double x, type_tag<double>) { return math::exp(x); }

template <typename T>
ISOBIT_FN float exp_down(float x, type_tag<T>) {
    x = exp_limited(x);
    const float t = fma(x, narrow::LOG2_E, narrow::MAGIC_BIASED);
    const float r = fma(t - narrow::MAGIC_BIASED, -narrow::LN_2, x);
    const float p = narrow::horner(r, 0x1.0f891p-7f, 0x1.5733c6p-5f, 0x1.55665cp-3f, 0x1.ffff34p-2f, 0x1.ffffdp-1f, 1.0f);
    return p * from_bits((to_bits(t) << 23) + (64u << 23)) * 0x1p-64f;
}

template <typename T>
ISOBIT_FN compute_t<T> exp_down(compute_t<T> x) {
    return exp_down(x, type_tag<T>{});
}

} // namespace isobit
