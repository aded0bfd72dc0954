// exp, exp2 and expm1 of the narrow types.
#pragma once
#include "narrow_common.cuh"

namespace isobit::narrow {

ISOBIT_CONST float LOG2_E = 0x1.715476p+0f;
ISOBIT_CONST float LN_2 = 0x1.62e43p-1f;

// e^x as scale * power, for |x| < 87: x = k ln 2 + r, scale = 2^k. One constant is enough for ln 2: it is off by 2^-29 of k.
ISOBIT_FN float exp_f16(float x) {
    float t = fma(x, LOG2_E, MAGIC_BIASED);
    float r = fma(t - MAGIC_BIASED, -LN_2, x);
    float p = 0x1.0f9f9cp-7f;
    p = fma(p, r, 0x1.573a1ap-5f);
    p = fma(p, r, 0x1.555a8p-3f);
    p = fma(p, r, 0x1.fffdc6p-2f);
    p = fma(p, r, 0x1.fffff6p-1f);
    p = fma(p, r, 1.0f);
    return p * power_of_two(t);
}

// e^(x/2) for |x| < 174: its square reaches every power that bf16 has, subnormals included, with one rounding more.
ISOBIT_FN float exp_half(float x) {
    float t = fma(x, 0.5f * LOG2_E, MAGIC_BIASED);
    float r = fma(t - MAGIC_BIASED, -2.0f * LN_2, x);
    float p = 0x1.0f9f9cp-12f;
    p = fma(p, r, 0x1.573a1ap-9f);
    p = fma(p, r, 0x1.555a8p-6f);
    p = fma(p, r, 0x1.fffdc6p-4f);
    p = fma(p, r, 0x1.fffff6p-2f);
    p = fma(p, r, 1.0f);
    return p * power_of_two(t);
}

template <typename T>
ISOBIT_FN float exp(float x) {
    if constexpr (is_wide<T>) {
        float h = exp_half(at_least(at_most(x, 100.0f), -100.0f));
        return h * h;
    } else {
        return exp_f16(at_least(at_most(x, 20.0f), -20.0f));
    }
}

template <typename T>
ISOBIT_FN float exp2(float x) {
    // Of x for f16; of x/2 for bf16, then squared.
    float half = is_wide<T> ? 0.5f : 1.0f;
    x = is_wide<T> ? at_least(at_most(x, 140.0f), -140.0f) : at_least(at_most(x, 30.0f), -30.0f);
    float t = fma(x, half, MAGIC_BIASED);
    float r = fma(x, half, -(t - MAGIC_BIASED));
    float p = 0x1.5bfd58p-10f;
    p = fma(p, r, 0x1.3ceaf8p-7f);
    p = fma(p, r, 0x1.c6b69ap-5f);
    p = fma(p, r, 0x1.ebf9bap-3f);
    p = fma(p, r, 0x1.62e42ap-1f);
    p = fma(p, r, 1.0f);
    p = p * power_of_two(t);
    return is_wide<T> ? p * p : p;
}

// 2^k (e^r - 1) + (2^k - 1): no cancellation, and r alone where k = 0.
template <typename T>
ISOBIT_FN float expm1(float x) {
    x = at_least(at_most(x, is_wide<T> ? 88.8f : 20.0f), -20.0f);
    float t = fma(x, LOG2_E, is_wide<T> ? MAGIC_BIASED - 1.0f : MAGIC_BIASED);
    float k = t - (is_wide<T> ? MAGIC_BIASED - 1.0f : MAGIC_BIASED);
    float r = fma(k, -LN_2, x);
    float q = 0x1.11378p-7f;
    q = fma(q, r, 0x1.5704dcp-5f);
    q = fma(q, r, 0x1.555634p-3f);
    q = fma(q, r, 0x1.fffe7p-2f);
    q = fma(r * r, q, r);
    float scale = power_of_two(t);
    if constexpr (is_wide<T>) {
        // scale is 2^(k-1), so that k = 128 has one.
        return 2.0f * fma(scale, q, scale - 0.5f);
    } else {
        return fma(scale, q, scale - 1.0f);
    }
}

} // namespace isobit::narrow
