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

// From an e in the exponent field, 2^-e for e up to 126.
ISOBIT_FN float field_down(u32 field) { return from_bits(0x3f800000u - field); }

// Above this, asinh and acosh are log(2 x) to the last bit.
ISOBIT_CONST float LOG_TWICE = 0x1p12f;
// The bits of 2 x, also if that is too large for an f32.
ISOBIT_FN u32 twice(float x) { return to_bits(x) + 0x00800000u; }

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
    f32::Pair sum = f32::one_sum(1.0f, square);
    f32::Pair root = f32::root_pair(sum.high, sum.low + fma(a, a, -square));
    float high = root.high + a;
    float low = ((root.high - high) + a) + root.low;
    u32 v = big ? f32::twice(a) : to_bits(high);
    u32 field = f32::log_field(v);
    // The lower part on the scale of the mantissa.
    float f_low = low * f32::field_down(field);
    float f = from_bits(v - field) - 1.0f;
    f32::Pair r = f32::log_join_pair(field, f, big ? 0.0f : f_low);
    // Of infinity. LLVM takes two instructions for a comparison of a.
    float far = v == 0x80000000u ? a : r.high + r.low;
    return f32::with_sign(a < 0.5f ? near : far, x);
}

// log(1 + (t + sqrt(t (t + 2)))) with t = x - 1, which is exact up to 2^24.
ISOBIT_FN float acosh(float x) {
    bool big = x > f32::LOG_TWICE;
    float t = x - 1.0f;
    f32::Pair s = f32::one_sum(2.0f, t);
    float z = t * s.high;
    float z_low = fma(t, s.low, fma(t, s.high, -z));
    f32::Pair root = f32::root_pair(z, z_low);
    float high = root.high + t;
    float low = ((root.high - high) + t) + root.low;
    // As log_one_plus, or the parts of 2 x itself.
    u32 field = f32::log_field(big ? f32::twice(x) : to_bits(1.0f + high));
    float down = f32::field_down(field);
    float scaled = from_bits((big ? f32::twice(x) : to_bits(high)) - field);
    float offset = big ? -1.0f : down - 1.0f;
    float f = scaled + offset;
    float f_low = fma(low, down, scaled - (f - offset));
    f32::Pair r = f32::log_join_pair(field, f, big ? 0.0f : f_low);
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
    return f32::with_sign(a < 1.0f ? 0.5f * (r.high + r.low) : beyond, x);
}

} // namespace isobit::math
