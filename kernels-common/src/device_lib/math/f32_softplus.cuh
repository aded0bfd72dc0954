// softplus and mish of f32, from exp(-|x|) in two parts. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_core.cuh"
#include "device_lib/math/f32_log.cuh"

namespace isobit::math {
namespace f32 {

// Below this, log(1 + E) is E to 2^-32, as is mish's factor.
ISOBIT_CONST float LOG1P_BELOW = -22.0f;

// exp(x) for x from -120 to 0, times 2^64 if `deep`, so that nothing is subnormal.
ISOBIT_FN Pair exp_pair(float x, bool deep) {
    float t = fma(x, LOG2_E, ROUNDER + 127.0f);
    float n = t - (ROUNDER + 127.0f);
    float high = fma(n, -LN2_HI, x);
    float low = n * -LN2_LO;
    float r = high + low;
    float s = from_bits((to_bits(t) << 23) + (deep ? 64u << 23 : 0u));
    float u = fma(s, high, s);
    float v = fma(s, fma(r * r, expm1_tail(r), low), fma(s, high, s - u));
    float sum = u + v;
    return {sum, (u - sum) + v};
}

// log1p_pair for x from exp(-22) to 1, where e is 0 or 1.
ISOBIT_FN Pair log1p_pair_below(float x, float x_low) {
    // 1 + x >= 4/3, after rounding
    bool one = x > 0x1.555554p-2f;
    float down = one ? 0.5f : 1.0f;
    float offset = one ? -0.5f : 0.0f;
    float f = fma(x, down, offset);
    float f_low = fma(x_low, down, fma(x, down, -(f - offset)));
    float e_high = one ? LN2_HI : 0.0f;
    float u = e_high + f;
    float error = (e_high - u) + f;
    float weighted = fma(-f, fma(-f, f_low, f_low), f_low);
    return {u, fma(f * f, log_tail(f), (one ? LN2_LO : 0.0f) + (weighted + error))};
}

} // namespace f32

// max(x, 0) + log(1 + exp(-|x|))
ISOBIT_FN float softplus(float x) {
    bool deep = x < f32::LOG1P_BELOW;
    f32::Pair power = f32::exp_pair(f32::at_least(-abs(x), -120.0f), deep);
    f32::Pair log = f32::log1p_pair_below(power.high, power.low);
    f32::Pair sum = f32::two_sum(f32::at_least(x, 0.0f), log.high);
    float y = sum.high + (sum.low + log.low);
    y = deep ? power.high * 0x1p-64f : y;
    return x > 22.0f ? x : y;
}

// x times (1 + 2 E) / (1 + 2 E + 2 E^2), or E (2 + E) / (2 + 2 E + E^2) below zero, with E =
// exp(-|x|).
ISOBIT_FN float mish(float x) {
    bool below = x < 0.0f;
    bool deep = x < f32::LOG1P_BELOW;
    x = f32::at_least(x, -120.0f);
    f32::Pair power = f32::exp_pair(-abs(x), deep);
    // E beside 1 and 2.
    float high = deep ? 0.0f : power.high;
    float low = deep ? 0.0f : power.low;
    float one = below ? 2.0f : 1.0f;
    float times = below ? 1.0f : 2.0f;
    float share = times * high;
    f32::Pair n = f32::one_sum(one, share);
    float n_low = fma(times, low, n.low);
    f32::Pair d = f32::one_sum(one, fma(share, high, 2.0f * high));
    float d_low = fma(2.0f, low, d.low);
    float w = f32::recip_rough(d.high);
    float q = n.high * w;
    q = fma(fma(-q, d.high, n.high), w, q);
    float q_low = (fma(-q, d_low, fma(-q, d.high, n.high)) + n_low) * w;
    float g = power.high * q;
    float g_low = fma(power.high, q, -g) + fma(power.low, q, power.high * q_low);
    float y = f32::with_sign(fma(x, below ? g : q, x * (below ? g_low : q_low)), x);
    y = deep ? y * 0x1p-64f : y;
    return x > 22.0f ? x : y;
}

} // namespace isobit::math
