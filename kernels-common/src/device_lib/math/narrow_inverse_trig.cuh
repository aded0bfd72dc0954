// asin, acos and atan of the narrow types.
#pragma once
#include "device_lib/math/narrow_common.cuh"
#include "device_lib/math/narrow_root.cuh"

namespace isobit::narrow {

ISOBIT_CONST float HALF_PI = 0x1.921fb6p+0f;

// Up to 1/2: a P(a^2). Above: asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)). Above 1: NaN.
template <typename T>
ISOBIT_FN float asin(float x) {
    float a = abs(x);
    bool low = a < 0.5f;
    float z = low ? x * x : fma(a, -0.5f, 0.5f);
    float s = low ? a : -2.0f * root(z);
    float p = horner(z, 0x1.5958bep-5f, 0x1.8c415ap-6f, 0x1.747b68p-5f, 0x1.330214p-4f, 0x1.55545ap-3f, 0x1p+0f);
    float value = xor_sign(fma(p, s, low ? 0.0f : HALF_PI), sign_of(x));
    return a > 1.0f ? infinity() - infinity() : value;
}

// pi/2 - asin(x). For |x| > 1/2 uses the square root: 2 asin(...), or pi - 2 asin(...) for negative
// x.
template <typename T>
ISOBIT_FN float acos(float x) {
    x = moved<T>(x, -0x1.2bcp-4f, -0x1.2bbp-4f);
    float a = abs(x);
    bool low = a < 0.5f;
    float z = low ? x * x : fma(a, -0.5f, 0.5f);
    float s = low ? -x : with_sign(2.0f * root(z), x);
    float p = horner(z, 0x1.5955fp-5f, 0x1.8c469ap-6f, 0x1.7482cep-5f, 0x1.330346p-4f, 0x1.55552cp-3f, 0x1.000002p+0f);
    float base = x < 0.0f ? 2.0f * HALF_PI : 0.0f;
    float value = fma(p, s, low ? HALF_PI : base);
    return a > 1.0f ? infinity() - infinity() : value;
}

// Above 1, atan(a) = pi/2 - atan(1/a).
template <typename T>
ISOBIT_FN float atan(float x) {
    float a = abs(x);
    a = moved<T>(a, 0x1.9b8p+2f, 0x1.9b9p+2f);
    a = moved<T>(a, 0x1.2b8p+3f, 0x1.2b7fp+3f);
    bool high = a > 1.0f;
    float y = high ? -reciprocal(at_most(a, 0x1p40f)) : a;
    float z = y * y;
    float p = horner(
        z, 0x1.7eba42p-9f, -0x1.0c2528p-6f, 0x1.61fa5p-5f, -0x1.35545ap-4f, 0x1.b4e2b8p-4f, -0x1.230b2ap-3f,
        0x1.997816p-3f, -0x1.5554a2p-2f, 0x1p+0f);
    return xor_sign(fma(p, y, high ? HALF_PI : 0.0f), sign_of(x));
}

} // namespace isobit::narrow
