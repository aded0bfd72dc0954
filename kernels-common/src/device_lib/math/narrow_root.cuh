// sqrt, rsqrt and recip of the narrow types. sqrt and rsqrt avoid the square root and division of
// f32, which branch for every input that is not a positive normal number.
#pragma once
#include "device_lib/math/narrow_common.cuh"

namespace isobit::narrow {

// 1 / sqrt(x) for x > 0, with an error of at most 2^-13: an estimate from the bits with 3.5 %
// error, and one third-order step.
ISOBIT_FN float inverse_root(float x) {
    float y = from_bits(0x5f375a86u - (to_bits(x) >> 1));
    float e = fma(-(x * y), y, 1.0f);
    return fma(y * e, fma(e, 0.375f, 0.5f), y);
}

// sqrt(x) for a positive normal x below 2^120. Returns 0 at 0, with its sign.
ISOBIT_FN float root(float x) {
    float y = inverse_root(x);
    float s = x * y;
    return fma(fma(-s, s, x), 0.5f * y, s);
}

// bf16 shares the subnormals of f32, for which the estimate from the bits does not work. f16 rounds
// 2^30 to infinity.
template <typename T>
ISOBIT_FN float sqrt(float x) {
    float s;
    if constexpr (is_wide<T>) {
        bool tiny = x < 0x1p-126f;
        s = root(tiny ? x * 0x1p64f : x);
        s = tiny ? s * 0x1p-32f : s;
        s = x < infinity() ? s : x;
    } else {
        s = root(at_most(x, 0x1p60f));
    }
    return x < 0.0f ? infinity() - infinity() : s;
}

// An f32 quotient has more than twice the digits of a narrow type plus two, so rounding it again is
// the same as rounding once (Figueroa 1995).
template <typename T>
ISOBIT_FN float recip(float x) {
    return 1.0f / x;
}

template <typename T>
ISOBIT_FN float rsqrt(float x) {
    float a = abs(x);
    bool tiny = is_wide<T> && a < 0x1p-126f;
    if constexpr (is_wide<T>) {
        a = tiny ? a * 0x1p64f : a;
    } else {
        a = at_most(a, 0x1p60f);
    }
    float y = inverse_root(a);
    y = fma(y, fma(-0.5f * a * y, y, 0.5f), y);
    if constexpr (is_wide<T>) {
        y = tiny ? y * 0x1p32f : y;
        // Infinity at 0, 0 at infinity, and NaN.
        y = to_bits(a) - 1u < 0x7f7fffffu ? y : (a == 0.0f ? infinity() : a - a);
        y = a == infinity() ? 0.0f : y;
    }
    return x < 0.0f ? infinity() - infinity() : xor_sign(y, sign_of(x));
}

} // namespace isobit::narrow
