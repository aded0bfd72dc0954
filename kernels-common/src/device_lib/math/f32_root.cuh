// rsqrt and recip of f32. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_core.cuh"

namespace isobit::math {
namespace f32 {

// 1/sqrt(z) for normal z: one more Newton step, with the exact error of z y^2.
ISOBIT_FN float rsqrt_normal(float z) {
    float y = rsqrt_rough(z);
    float h = z * y;
    float e = fma(-fma(z, y, -h), y, fma(-h, y, 1.0f));
    return fma(0.5f * y, e, y);
}

} // namespace f32

// Negative numbers are common and take no branch. Zeros, subnormals, infinities and NaN are rare
// and take one.
ISOBIT_FN float rsqrt(float x) {
    float y = f32::rsqrt_normal(x);
    y = x < 0.0f ? f32::nan() : y;
    if ((to_bits(x) << 1) - 0x01000000u >= 0xfe000000u) {
        y = f32::rsqrt_normal(x * 0x1p24f) * 0x1p12f;
        y = x > 0.0f && x < f32::inf() ? y : 0.0f;
        y = x < 0.0f ? f32::nan() : y;
        y = is_nan(x) ? x : y;
        y = x == 0.0f ? copysign(f32::inf(), x) : y;
    }
    return y;
}

ISOBIT_FN float recip(float x) { return 1.0f / x; }

} // namespace isobit::math
