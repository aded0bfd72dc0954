// rsqrt and recip of f32. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "dialect/math/f32_core.cuh"

namespace isobit::math {

// Newton's method, the last step with the error of x y^2 taken exactly.
ISOBIT_FN float rsqrt(float x) {
    bool small = x < 0x1p-100f;
    float z = small ? x * 0x1p48f : x;
    float y = f32::rsqrt_newton(z);
    float h = z * y;
    float e = fma(-fma(z, y, -h), y, fma(-h, y, 1.0f));
    y = fma(0.5f * y, e, y) * (small ? 0x1p24f : 1.0f);
    y = x == f32::inf() ? 0.0f : y;
    y = x < 0.0f ? f32::nan() : y;
    y = is_nan(x) ? x : y;
    float pole = copysign(f32::inf(), x);
    return x == 0.0f ? pole : y;
}

ISOBIT_FN float recip(float x) { return 1.0f / x; }

} // namespace isobit::math
