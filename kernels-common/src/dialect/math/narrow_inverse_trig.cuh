// asin, acos and atan of the narrow types.
#pragma once
#include "narrow_common.cuh"

namespace isobit::narrow {

ISOBIT_CONST float HALF_PI = 0x1.921fb6p+0f;

// asin(s) for 0 <= s <= 1/2, given z = s^2.
ISOBIT_FN float asin_reduced(float s, float z) {
    float p = 0x1.5959aap-5f;
    p = fma(p, z, 0x1.8c415ap-6f);
    p = fma(p, z, 0x1.747b72p-5f);
    p = fma(p, z, 0x1.330206p-4f);
    p = fma(p, z, 0x1.5555c8p-3f);
    return fma(s * z, p, s);
}

// Above 1/2, asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)); above 1 the root is a NaN.
template <typename T>
ISOBIT_FN float asin(float x) {
    float a = abs(x);
    bool low = a < 0.5f;
    float z = low ? x * x : fma(a, -0.5f, 0.5f);
    float value = asin_reduced(low ? a : sqrt(z), z);
    value = low ? value : fma(value, -2.0f, HALF_PI);
    return xor_sign(value, sign_of(x));
}

template <typename T>
ISOBIT_FN float acos(float x) {
    float a = abs(x);
    bool low = a < 0.5f;
    float z = low ? x * x : fma(a, -0.5f, 0.5f);
    float value = asin_reduced(low ? x : sqrt(z), z);
    float high = x < 0.0f ? fma(value, -2.0f, 2.0f * HALF_PI) : 2.0f * value;
    return low ? HALF_PI - value : high;
}

// Above 1, atan(a) = pi/2 - atan(1/a).
template <typename T>
ISOBIT_FN float atan(float x) {
    float a = abs(x);
    bool high = a > 1.0f;
    float y = high ? reciprocal(at_most(a, 0x1p40f)) : a;
    float z = y * y;
    float p = 0x1.7ec1c4p-9f;
    p = fma(p, z, -0x1.0c23fep-6f);
    p = fma(p, z, 0x1.61f756p-5f);
    p = fma(p, z, -0x1.3553f4p-4f);
    p = fma(p, z, 0x1.b4dfdcp-4f);
    p = fma(p, z, -0x1.230abp-3f);
    p = fma(p, z, 0x1.9978eep-3f);
    p = fma(p, z, -0x1.5554dcp-2f);
    float value = fma(y * z, p, y);
    return xor_sign(high ? HALF_PI - value : value, sign_of(x));
}

} // namespace isobit::narrow
