// pow of f32: exp2(y log2 |x|) with the logarithm and the product in two parts. Recipe and bound: docs/numerics/f32.md.
#pragma once
#include "dialect/math/f32_core.cuh"

namespace isobit::math {
namespace f32 {

// log2 of x > 0 as high + low, |low| up to 2^-9 |high|; relative error below 2^-31.
struct Pair {
    float high, low;
};
ISOBIT_FN Pair log2_pair(float x) {
    bool small = x < 0x1p-126f;
    u32 bits = to_bits(small ? x * 0x1p23f : x);
    u32 e = (u32)((i32)(bits - 0x3f3504f3u) >> 23);
    float m = from_bits(bits - (e << 23));
    float base = from_bits(e + 0x4b400000u) - (small ? 0x1.8p23f + 23.0f : 0x1.8p23f);
    // m = c (1 + s) / (1 - s), with log2 c a multiple of 2^-14 to within 2^-34
    bool below = m < 0x1.c73cbep-1f, above = m > 0x1.203034p0f;
    float c = below ? 0x1.94c47cp-1f : (above ? 0x1.446c7ep0f : 1.0f);
    base = base + (below ? -0x1.5b3p-2f : (above ? 0x1.5dfp-2f : 0.0f));
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
    float q = fma(0x1.a99426p-2f, z, 0x1.27757ep-1f);
    q = fma(q, z, 0x1.ec709ep-1f);
    float high = s * 0x1.715476p1f;
    float low = fma(s, 0x1.715476p1f, -high);
    low = fma(s, 0x1.4ae0cp-25f, low);
    low = fma(s_low, 0x1.715476p1f, low);
    low = fma(r * z, q, low);
    float sum = base + high;
    return {sum, ((base - sum) + high) + low};
}

// The cases of IEEE 754-2019 9.2.1 that |x|^y does not give; y in the main path was limited to 2^40.
ISOBIT_FN float pow_edges(float x, float y, float r) {
    float a = abs(x);
    bool integer = floor(y) == y;
    bool odd = integer && floor(0.5f * y) != 0.5f * y;
    bool up = (a > 1.0f) == (y > 0.0f);
    r = a == 0.0f || a == inf() || abs(y) == inf() ? (up ? inf() : 0.0f) : r;
    r = a == 1.0f ? 1.0f : r;
    r = odd ? copysign(r, x) : r;
    r = x < 0.0f && a < inf() && a > 0.0f && !integer ? nan() : r;
    r = is_nan(x) || is_nan(y) ? x + y : r;
    return x == 1.0f || y == 0.0f ? 1.0f : r;
}

} // namespace f32

ISOBIT_FN float pow(float x, float y) {
    f32::Pair l = f32::log2_pair(abs(x));
    float z = f32::at_most(f32::at_least(y, -0x1p40f), 0x1p40f);
    float v = z * l.high;
    float v_low = fma(z, l.low, fma(z, l.high, -v));
    bool over = abs(v) > 180.0f;
    v = f32::at_most(f32::at_least(v, -180.0f), 180.0f);
    v_low = over ? 0.0f : v_low;
    float t = (v + v_low) + f32::ROUNDER;
    float r = (v - (t - f32::ROUNDER)) + v_low;
    f32::Scale s = f32::split_scale(t);
    float p = fma(f32::exp2m1_poly(r), s.first, s.first) * s.second;
    // x not positive and finite, or y not finite: tested on the bits, which costs half of what the comparisons do
    if (to_bits(x) - 1u >= 0x7f7fffffu || (to_bits(y) << 1) >= 0xff000000u) p = f32::pow_edges(x, y, p);
    return p;
}

} // namespace isobit::math
