// pow, sqrt, rsqrt and recip of the narrow types.
#pragma once
#include "dialect/math/narrow_common.cuh"
#include "dialect/math/narrow_exp.cuh"
#include "dialect/math/narrow_log.cuh"

namespace isobit::narrow {

// f32's root and quotient have more than twice the digits of a narrow type and two more, so rounding them again is rounding
// once (Figueroa 1995).
template <typename T>
ISOBIT_FN float sqrt(float x) {
    return isobit::sqrt(x);
}

template <typename T>
ISOBIT_FN float recip(float x) {
    return 1.0f / x;
}

template <typename T>
ISOBIT_FN float rsqrt(float x) {
    return 1.0f / isobit::sqrt(x);
}

// 2^(y log2 |x|), with the edges of C's Annex F.
template <typename T>
ISOBIT_FN float pow(float x, float y) {
    float a = abs(x);
    float t = a == 1.0f ? 0.0f : y * log2<bf16>(a);
    float value = exp2<bf16>(t);
    bool integer = rint(y) == y;
    bool odd = integer && rint(0.5f * y) != 0.5f * y;
    value = odd ? with_sign(value, x) : value;
    // A NaN y is no integer either.
    value = x < 0.0f && a < infinity() && !integer ? infinity() - infinity() : value;
    return x == 1.0f || y == 0.0f ? 1.0f : value;
}

} // namespace isobit::narrow
