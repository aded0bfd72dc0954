// softplus and mish of f32, from exp(-|x|) in two parts. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_activations.cuh"
#include "device_lib/math/f32_exp.cuh"
#include "device_lib/math/f32_log.cuh"

namespace isobit::math {
namespace f32 {

// exp(x) for x from -22 to 0.
ISOBIT_FN Pair exp_pair(float x) {
    float t = fma(x, LOG2_E, ROUNDER);
    float n = t - ROUNDER;
    float high = fma(n, -LN2_HI, x);
    float low = n * -LN2_LO;
    float r = high + low;
    float s = scale_of(t);
    float u = fma(s, high, s);
    float v = fma(s, fma(r * r, expm1_tail(r), low), fma(s, high, s - u));
    float sum = u + v;
    return {sum, (u - sum) + v};
}

} // namespace f32

// max(x, 0) + log(1 + exp(-|x|))
ISOBIT_FN float softplus(float x) {
    f32::Pair power = f32::exp_pair(f32::at_least(-abs(x), -22.0f));
    f32::Pair log = f32::log1p_pair(power.high, power.low);
    f32::Pair sum = f32::two_sum(x < 0.0f ? 0.0f : x, log.high);
    float y = sum.high + (sum.low + log.low);
    if (x < -22.0f) y = exp(x);
    return x > 22.0f ? x : y;
}

// x times (1 + 2 E) / (1 + 2 E + 2 E^2), or E (2 + E) / (2 + 2 E + E^2) below zero, with E =
// exp(-|x|).
ISOBIT_FN float mish(float x) {
    bool below = x < 0.0f;
    f32::Pair power = f32::exp_pair(f32::at_least(-abs(x), -22.0f));
    float one = below ? 2.0f : 1.0f;
    float share = below ? power.high : 2.0f * power.high;
    float share_low = below ? power.low : 2.0f * power.low;
    f32::Pair n = f32::two_sum(one, share);
    float n_low = n.low + share_low;
    f32::Pair d = f32::two_sum(one, fma(share, power.high, 2.0f * power.high));
    float d_low = fma(2.0f, power.low, d.low);
    float w = f32::recip_rough(d.high);
    float q = n.high * w;
    q = fma(fma(-q, d.high, n.high), w, q);
    float q_low = (fma(-q, d_low, fma(-q, d.high, n.high)) + n_low) * w;
    float g = power.high * q;
    float g_low = fma(power.high, q, -g) + fma(power.low, q, power.high * q_low);
    float y = copysign(fma(x, below ? g : q, x * (below ? g_low : q_low)), x);
    if (x < -22.0f) {
        float c = f32::at_least(x, -120.0f);
        y = f32::logistic_far(c, f32::exponent(-c));
    }
    return x > 22.0f ? x : y;
}

} // namespace isobit::math
