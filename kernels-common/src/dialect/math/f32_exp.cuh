// exp, exp2 and expm1 of f32. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "dialect/math/f32_core.cuh"

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

// 2^n (1 + r + r^2 q) - 1, with the leading 2^n r + (2^n - 1) kept with its error: it cancels when n is -1 or 1.
ISOBIT_FN float expm1(float x) {
    float c = f32::at_most(f32::at_least(x, -18.0f), 89.0f);
    float t = fma(c, f32::LOG2_E, f32::ROUNDER);
    float n = t - f32::ROUNDER;
    float high = fma(n, -f32::LN2_HI, c);
    float low = n * -f32::LN2_LO;
    float r = high + low;
    bool top = n == 128.0f;
    float s = f32::scale_of(t - (top ? 1.0f : 0.0f));
    float one = top ? 0.0f : 1.0f;
    float base = s - one;
    float u = fma(s, high, base);
    float error = fma(s, high, (base - u) + ((s - base) - one));
    float y = u + fma(s, fma(r * r, f32::expm1_tail(r), low), error);
    return copysign(y * (top ? 2.0f : 1.0f), x);
}

} // namespace isobit::math
