// pow of f32: exp2(y log2 |x|), with the logarithm and the product in two parts. Recipe and bound:
// docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_core.cuh"

namespace isobit::math {
namespace f32 {

// y log2(a) as high + low for normal a, and the exponent of a. `rounder` - ROUNDER is subtracted
// from the exponent of a.
struct Product {
    float high, low, exponent;
};
ISOBIT_FN Product times_log2(float a, float y, float rounder) {
    u32 bits = to_bits(a);
    u32 k = (u32)((i32)(bits - 0x3f322d0eu) >> 23) + 0x4b400000u;
    float m = from_bits(bits - (k << 23));
    // m = c (1 + s) / (1 - s) for one of three c, with log2 c a multiple of 2^-14 to within 2^-34.
    // c is computed by fma, which costs half as much as selects.
    float j = fma(m, 0x1.f9999ap1f, ROUNDER - 4.0f) - ROUNDER;
    float c = fma(j, fma(j, 0x1.d9d78p-6f, 0x1.e829p-3f), 1.0f);
    float exponent = from_bits(k) - rounder;
    float base = fma(j, fma(j, 0x1.6p-10f, 0x1.5c9p-2f), exponent);
    float f = m - c;
    float d = m + c;
    float d_low = m - (d - c);
    float w = fma(d, 0x1.d27708p-4f, -0x1.73b6dap-1f);
    w = fma(w, d, 0x1.7fc4a8p0f);
    w = recip_step(w, fma(-d, w, 1.0f));
    float s = f * w;
    float s_low = fma(-s, d_low, fma(-s, d, f)) * w;
    float r = s + s_low;
    float z = r * r;
    float q = fma(0x1.298938p-3f, z, 0x1.99943cp-3f);
    q = fma(q, z, 0x1.555556p-2f);
    float tail = fma(r * z, q, s_low);
    // Multiplies 2/ln 2 with y first: this is done only once if y is the same for a whole launch.
    float scaled = y * 0x1.715476p1f;
    float scaled_low = fma(y, 0x1.4ae0cp-25f, fma(y, 0x1.715476p1f, -scaled));
    float u = y * base;
    float u_low = fma(y, base, -u);
    float high = fma(scaled, s, u);
    float error = fma(scaled, s, u - high);
    return {high, fma(scaled, tail, fma(scaled_low, s, u_low) + error), exponent};
}

// 2^(high + low) = 2^n (1 + r q): t holds n.
struct Power {
    float t, r, q;
};
ISOBIT_FN Power power_parts(Product p) {
    float t = (p.high + p.low) + ROUNDER;
    float r = (p.high - (t - ROUNDER)) + p.low;
    float q = fma(0x1.442512p-13f, r, 0x1.5ef5dp-10f);
    q = fma(q, r, 0x1.3b2a48p-7f);
    q = fma(q, r, 0x1.c6af9cp-5f);
    q = fma(q, r, 0x1.ebfbep-3f);
    q = fma(q, r, 0x1.62e43p-1f);
    return {t, r, q};
}

// The factor of |x|^y for a negative base.
ISOBIT_FN float power_sign(float y) {
    float half = 0.5f * y;
    float sign = floor(half) == half ? 1.0f : -1.0f;
    return floor(y) == y ? sign : nan();
}

// The complete pow: any x, results near and beyond the ends of the range, and the special values of
// IEEE 754-2019 9.2.1.
ISOBIT_FN float pow_edges(float x, float y) {
    float a = abs(x);
    bool small = a < 0x1p-126f;
    Product l = times_log2(small ? a * 0x1p23f : a, y, small ? ROUNDER + 23.0f : ROUNDER);
    bool over = abs(l.high) > 180.0f;
    l.high = at_most(at_least(l.high, -180.0f), 180.0f);
    l.low = over ? 0.0f : l.low;
    Power p = power_parts(l);
    Scale s = split_scale(p.t);
    float result = fma(p.q, p.r * s.first, s.first) * s.second;
    bool up = (a > 1.0f) == (y > 0.0f);
    result = a == 0.0f || a == inf() || abs(y) >= 0x1p40f ? (up ? inf() : 0.0f) : result;
    result = a == 1.0f ? 1.0f : result;
    float sign = power_sign(y);
    // A sign that is NaN does not change zeros and infinities.
    bool keep = is_nan(sign) && (a == 0.0f || a == inf());
    result = (to_bits(x) >> 31) != 0 && !keep ? result * sign : result;
    result = is_nan(x) || is_nan(y) ? x + y : result;
    return x == 1.0f || y == 0.0f ? 1.0f : result;
}

} // namespace f32

// Negative bases are common and take no branch. A branch handles results outside 2^-120 .. 2^120,
// and x that is near the ends of the range, zero, infinite or NaN; the exponent identifies all of
// these. It therefore also handles every y that is large, infinite or NaN, except for x = 1, where
// a finite y gives 1 without the branch.
ISOBIT_FN float pow(float x, float y) {
    f32::Product l = f32::times_log2(abs(x), y, f32::ROUNDER);
    f32::Power p = f32::power_parts(l);
    float s = f32::scale_of(p.t);
    float result = fma(p.q, p.r * s, s);
    float sign = f32::power_sign(y);
    result = x < 0.0f ? result * sign : result;
    bool common = abs(l.exponent) < 126.0f && abs(l.high) < 120.0f;
    if (!common) result = f32::pow_edges(x, y);
    return result;
}

} // namespace isobit::math
