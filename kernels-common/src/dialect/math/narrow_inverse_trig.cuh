// asin, acos and atan of the narrow types.
#pragma once
#include "dialect/math/narrow_common.cuh"

namespace isobit::narrow {

ISOBIT_CONST float HALF_PI = 0x1.921fb6p+0f;

// Above 1/2, asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)); above 1 the root is a NaN.
template <typename T>
ISOBIT_FN float asin(float x) {
    float a = abs(x);
    bool low = a < 0.5f;
    float z = low ? x * x : fma(a, -0.5f, 0.5f);
    float p = horner(z, 0x1.5958bep-5f, 0x1.8c415ap-6f, 0x1.747b68p-5f, 0x1.330214p-4f, 0x1.55545ap-3f, 0x1.000000p+0f);
    float value = p * (low ? a : isobit::sqrt(z));
    value = low ? value : fma(value, -2.0f, HALF_PI);
    return xor_sign(value, sign_of(x));
}

template <typename T>
ISOBIT_FN float acos(float x) {
    float a = abs(x);
    bool low = a < 0.5f;
    float z = low ? x * x : fma(a, -0.5f, 0.5f);
    float p = horner(z, 0x1.5959aap-5f, 0x1.8c415ap-6f, 0x1.747b72p-5f, 0x1.330206p-4f, 0x1.5555c8p-3f, 0x1.000000p+0f);
    float value = p * (low ? x : isobit::sqrt(z));
    float high = x < 0.0f ? fma(value, -2.0f, 0x1.921fb6p+1f) : 2.0f * value;
    return low ? 0x1.921fb6p+0f - value : high;
}

// Above 1, atan(a) = pi/2 - atan(1/a).
template <typename T>
ISOBIT_FN float atan(float x) {
    float a = abs(x);
    bool high = a > 1.0f;
    float y = high ? reciprocal(at_most(a, 0x1p40f)) : a;
    float z = y * y;
    float p = horner(z, 0x1.7ec1c4p-9f, -0x1.0c23fep-6f, 0x1.61f756p-5f, -0x1.3553f4p-4f, 0x1.b4dfdcp-4f, -0x1.230abp-3f, 0x1.9978eep-3f, -0x1.5554dcp-2f, 0x1.000000p+0f);
    float value = p * y;
    return xor_sign(high ? HALF_PI - value : value, sign_of(x));
}

} // namespace isobit::narrow
