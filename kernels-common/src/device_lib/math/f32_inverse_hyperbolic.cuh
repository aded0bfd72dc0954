// asinh, acosh and atanh of f32, as logarithms of sums that are kept in two parts. Recipes and
// bounds: docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_log.cuh"

namespace isobit::math {
namespace f32 {

// sqrt(z + z_low) in two parts, for normal z.
ISOBIT_FN Pair root_pair(float z, float z_low) {
    float y = rsqrt_rough(z);
    float root = z * y;
    float rest = (fma(-root, root, z) + z_low) * (0.5f * y);
    float high = root + rest;
    return {high, rest - (high - root)};
}

// Above this, asinh and acosh are log(2 x) to the last bit.
ISOBIT_CONST float LOG_TWICE = 0x1p12f;

} // namespace f32

// log(a + sqrt(1 + a^2)); below 1/2 a polynomial.
ISOBIT_FN float asinh(float x) {
    float a = abs(x);
    float square = a * a;
    float q = fma(0x1.458838p-7f, square, -0x1.504abep-6f);
    q = fma(q, square, 0x1.ee133ap-6f);
    q = fma(q, square, -0x1.6d9be6p-5f);
    q = fma(q, square, 0x1.3332eap-4f);
    q = fma(q, square, -0x1.555556p-3f);
    float near = fma(a * square, q, a);

    bool big = a > f32::LOG_TWICE;
    f32::Pair sum = f32::two_sum(1.0f, big ? 1.0f : square);
    f32::Pair root = f32::root_pair(sum.high, sum.low + (big ? 0.0f : fma(a, a, -square)));
    float high = root.high + a;
    float low = ((root.high - high) + a) + root.low;
    f32::Parts p = f32::log_parts(big ? a : high);
    // The lower part on the scale of the mantissa.
    float f_low = low * f32::scale_of(f32::ROUNDER - p.e);
    f32::Pair r = f32::log_join_pair(big ? p.e + 1.0f : p.e, p.m - 1.0f, big ? 0.0f : f_low);
    float far = a < f32::inf() ? r.high + r.low : a;
    return copysign(a < 0.5f ? near : far, x);
}

// log(1 + (t + sqrt(t (t + 2)))) with t = x - 1.
ISOBIT_FN float acosh(float x) {
    bool big = x > f32::LOG_TWICE;
    float t = big ? 1.0f : x - 1.0f;
    float t_low = big ? 0.0f : x - (t + 1.0f);
    f32::Pair s = f32::two_sum(2.0f, t);
    float z = t * s.high;
    float z_low = fma(t, s.low, fma(t, s.high, -z)) + (2.0f * (t + 1.0f)) * t_low;
    f32::Pair root = f32::root_pair(z, z_low);
    float high = root.high + t;
    float low = ((root.high - high) + t) + (root.low + t_low);
    f32::OnePlus near = f32::log_one_plus(high);
    float near_low = fma(low, near.down, near.f_low);
    f32::Parts p = f32::log_parts(big ? x : 1.0f);
    f32::Pair r = f32::log_join_pair(big ? p.e + 1.0f : near.e, big ? p.m - 1.0f : near.f, big ? 0.0f : near_low);
    float y = x < f32::inf() ? r.high + r.low : x;
    return x < 1.0f ? f32::nan() : y;
}

// log(1 + 2 a / (1 - a)) / 2
ISOBIT_FN float atanh(float x) {
    float a = abs(x);
    float d = 1.0f - a;
    float d_low = (1.0f - d) - a;
    float n = a + a;
    float w = f32::recip_rough(d);
    float q = n * w;
    q = fma(fma(-q, d, n), w, q);
    f32::Pair r = f32::log1p_pair(q, fma(-q, d_low, fma(-q, d, n)) * w);
    float beyond = a == 1.0f ? f32::inf() : f32::nan();
    return copysign(a < 1.0f ? 0.5f * (r.high + r.low) : beyond, x);
}

} // namespace isobit::math
