// softplus and mish of the narrow types.
#pragma once
#include "device_lib/math/narrow_common.cuh"
#include "device_lib/math/narrow_exp.cuh"

namespace isobit::narrow {

// max(x, 0) + log(1 + z) with z = e^-|x|, as a polynomial for all z from 0 to 1.
template <typename T>
ISOBIT_FN float softplus(float x) {
    float z;
    if constexpr (is_wide<T>) {
        float h = exp_half(at_least(-abs(x), -100.0f));
        z = h * h;
    } else {
        ExpSplit s = exp_split(at_least(-abs(x), -20.0f));
        z = s.scale * horner(
            s.r, 0x1.0f96b2p-7f, 0x1.574d3ep-5f, 0x1.555bbep-3f, 0x1.fffd2p-2f, 0x1.ffffd6p-1f, 0x1.fffffap-1f);
    }
    float q = horner(
        z, 0x1.56ea56p-8f, -0x1.e36522p-6f, 0x1.4068bep-4f, -0x1.17d2bp-3f, 0x1.874a78p-3f, -0x1.fcc896p-3f,
        0x1.552fdcp-2f, -0x1.fffea8p-2f, 0x1.000004p+0f);
    return fma(z, q, at_least(x, 0.0f));
}

// x E (E + 2) / (E (E + 2) + 2) with E = e^x. At most 20 is the factor 1, and E^2 is far from the
// largest f32.
template <typename T>
ISOBIT_FN float mish(float x) {
    x = moved<T>(x, -0x1.efcp-12f, -0x1.efbffp-12f);
    x = at_least(x, is_wide<T> ? -110.0f : -30.0f);
    float a = at_most(x, 20.0f);
    float power;
    if constexpr (is_wide<T>) {
        float h = exp_half(a);
        power = h * h;
    } else {
        ExpSplit s = exp_split(a);
        power = s.scale * horner(
            s.r, 0x1.0f9c7ep-7f, 0x1.574c9cp-5f, 0x1.555b06p-3f, 0x1.fffdd4p-2f, 0x1.fffffp-1f, 0x1.fffffep-1f);
    }
    float sum = power + 2.0f;
    return x * reciprocal(fma(power, sum, 2.0f)) * (power * sum);
}

} // namespace isobit::narrow
