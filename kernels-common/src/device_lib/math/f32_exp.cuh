// exp, exp2 and expm1 of f32. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_core.cuh"

namespace isobit::math {

ISOBIT_FN float exp(float x) {
    x = f32::at_most(f32::at_least(x, -104.0f), 89.0f);
    float t = fma(x, f32::LOG2_E, f32::ROUNDER);
    float n = t - f32::ROUNDER;
    float r = fma(n, -f32::LN2_LO, fma(n, -f32::LN2_HI, x));
    f32::Scale s = f32::split_scale(t);
    return fma(f32::expm1_poly(r), s.first, s.first) * s.second;
}

ISOBIT_FN float exp2(float x) {
    x = f32::at_most(f32::at_least(x, -151.0f), 128.0f);
    float t = x + f32::ROUNDER;
    float r = x - (t - f32::ROUNDER);
    f32::Scale s = f32::split_scale(t);
    return fma(f32::exp2m1_poly(r), s.first, s.first) * s.second;
}

namespace f32 {

// exp(x) - 1 for x from -18 to 88: 2^n (1 + r + r^2 q) - 1. Keeps the rounding error of the leading
// 2^n r + (2^n - 1), because it cancels when n is -1 or 1. The result is the leading sum and the
// rest.
ISOBIT_FN Pair expm1_parts(float x) {
    float t = fma(x, LOG2_E, ROUNDER);
    float n = t - ROUNDER;
    float high = fma(n, -LN2_HI, x);
    float low = n * -LN2_LO;
    float r = high + low;
    float s = scale_of(t);
    float base = s - 1.0f;
    float u = fma(s, high, base);
    float error = fma(s, high, (base - u) + ((s - base) - 1.0f));
    return {u, fma(s, fma(r * r, expm1_tail(r), low), error)};
}
ISOBIT_FN float expm1_below(float x) {
    Pair p = expm1_parts(x);
    return p.high + p.low;
}

} // namespace f32

ISOBIT_FN float expm1(float x) {
    float y = f32::with_sign(f32::expm1_below(f32::at_least(x, -18.0f)), x);
    // The 1 is negligible.
    if (x > 88.0f) y = exp(x);
    return y;
}

} // namespace isobit::math
