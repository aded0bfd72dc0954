// exp, exp2 and expm1 of the narrow types.
#pragma once
#include "device_lib/math/narrow_common.cuh"

namespace isobit::narrow {

ISOBIT_CONST float LOG2_E = 0x1.715476p+0f;
ISOBIT_CONST float LN_2 = 0x1.62e43p-1f;

// x = k ln 2 + r, with scale = 2^k, for |x| < 87. One constant is enough for ln 2: its error is
// 2^-29 times k.
struct ExpSplit {
    float r;
    float scale;
};

ISOBIT_FN ExpSplit exp_split(float x) {
    float t = fma(x, LOG2_E, MAGIC_BIASED);
    return ExpSplit{fma(t - MAGIC_BIASED, -LN_2, x), power_of_two(t)};
}

// e^(x/2) for |x| < 174. Its square reaches every power in the range of bf16, subnormals included,
// at the cost of one more rounding.
ISOBIT_FN float exp_half(float x) {
    float t = fma(x, 0.5f * LOG2_E, MAGIC_BIASED);
    float r = fma(t - MAGIC_BIASED, -2.0f * LN_2, x);
    float p = horner(r, 0x1.0f9f9cp-12f, 0x1.573a1ap-9f, 0x1.555a8p-6f, 0x1.fffdccp-4f, 0x1.ffffe6p-2f, 1.0f);
    return p * power_of_two(t);
}

template <typename T>
ISOBIT_FN float exp(float x) {
    if constexpr (is_wide<T>) {
        float h = exp_half(at_least(at_most(x, 100.0f), -100.0f));
        return h * h;
    } else {
        x = at_least(at_most(x, 20.0f), -20.0f);
        x = moved<T>(x, 0x1.de4p-8f, 0x1.de3p-8f);
        ExpSplit s = exp_split(x);
        float p = horner(s.r, 0x1.0f891p-7f, 0x1.5733c6p-5f, 0x1.55665cp-3f, 0x1.ffff34p-2f, 0x1.ffffdp-1f, 1.0f);
        return p * s.scale;
    }
}

template <typename T>
ISOBIT_FN float exp2(float x) {
    // exp2 of x for f16; of x/2 for bf16, squared afterwards.
    float half = is_wide<T> ? 0.5f : 1.0f;
    if constexpr (is_wide<T>) {
        x = at_least(at_most(x, 140.0f), -140.0f);
    } else {
        x = at_least(at_most(x, 30.0f), -30.0f);
        x = moved<T>(x, 0x1.714p-11f, 0x1.715p-11f);
    }
    float t = fma(x, half, MAGIC_BIASED);
    float r = fma(x, half, -(t - MAGIC_BIASED));
    float p = horner(r, 0x1.5bfbeep-10f, 0x1.3ced3cp-7f, 0x1.c6b6a4p-5f, 0x1.ebf9b2p-3f, 0x1.62e434p-1f, 1.0f);
    p = p * power_of_two(t);
    return is_wide<T> ? p * p : p;
}

// 2^k (e^r - 1) + (2^k - 1): nothing cancels, and for k = 0 only the term in r is left. The result
// for -0 is 0. WIDE: up to the largest f32.
template <bool WIDE>
ISOBIT_FN float expm1_unsigned(float x) {
    float within = at_least(at_most(x, WIDE ? 88.8f : 20.0f), -20.0f);
    float offset = WIDE ? MAGIC_BIASED - 1.0f : MAGIC_BIASED;
    float t = fma(within, LOG2_E, offset);
    float r = fma(t - offset, -LN_2, within);
    float q = horner(r, 0x1.11231cp-7f, 0x1.56fa44p-5f, 0x1.55591cp-3f, 0x1.fffebp-2f, 0x1p+0f);
    q = q * r;
    // 2^k, or, so that k = 128 is representable too, 2^(k-1).
    float scale = power_of_two(t);
    float value = fma(scale, q, scale - (WIDE ? 0.5f : 1.0f));
    return WIDE ? 2.0f * value : value;
}

// The result has the sign of x, also for -0.
template <typename T>
ISOBIT_FN float expm1(float x) {
    return with_sign(expm1_unsigned<is_wide<T>>(x), x);
}

} // namespace isobit::narrow
