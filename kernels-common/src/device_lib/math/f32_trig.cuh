// sin, cos and tan of f32. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_core.cuh"

namespace isobit::math {
namespace f32 {

// |x| = k pi/2 + high + low, |high| <= 0.786; only k mod 4 is kept.
struct Angle {
    float high, low;
    u32 k;
};

// Three-part reduction (Cody and Waite) for |x| < 2^17: the first product is exact, and the error
// of the second is kept.
ISOBIT_FN Angle reduce_small(float a) {
    float t = fma(a, 0x1.45f306p-1f, ROUNDER);
    float n = t - ROUNDER;
    float r = fma(n, -PIO2_HI, a);
    float p = n * PIO2_LO;
    float high = r - p;
    float low = fma(n, 0x1.ee59dap-50f, -fma(n, PIO2_LO, -p));
    return {high, ((r - high) - p) + low, to_bits(t)};
}

// 2/pi in binary, from the bit of weight 2^7 down; 224 bits are enough for the largest f32.
ISOBIT_TABLE u32 TWO_OVER_PI[7] = {0x00a2f983u, 0x6e4e4415u, 0x29fc2757u, 0xd1f534ddu, 0xc0db6295u, 0x993c4390u, 0x41fe5163u};

// Payne and Hanek's reduction for |x| >= 2^17: uses the 96 bits of 2/pi whose product with the
// mantissa determines x mod 2 pi.
ISOBIT_FN Angle reduce_large(float a) {
    u32 bits = to_bits(a);
    u32 at = (bits >> 23) - 144u;
    u32 m = (bits & 0x007fffffu) | 0x00800000u;
    u32 word = at >> 5, shift = at & 31u;
    u64 w0 = TWO_OVER_PI[word], w1 = TWO_OVER_PI[word + 1], w2 = TWO_OVER_PI[word + 2], w3 = TWO_OVER_PI[word + 3];
    u32 high = (u32)((((w0 << 32) | w1) << shift) >> 32);
    u32 mid = (u32)((((w1 << 32) | w2) << shift) >> 32);
    u32 low = (u32)((((w2 << 32) | w3) << shift) >> 32);
    u64 p1 = (u64)m * mid + (((u64)m * low) >> 32);
    u64 turn = ((u64)m * high << 32) + p1; // quarter turns mod 4, in units of 2^-62
    i64 fraction = (i64)(turn << 2) >> 2;
    float fh = (float)fraction;
    float fl = (float)(fraction - (i64)fh) * 0x1p-62f;
    fh = fh * 0x1p-62f;
    float r = fh * PIO2_HI;
    float rl = fma(fl, PIO2_HI, fma(fh, PIO2_LO, fma(fh, PIO2_HI, -r)));
    float sum = r + rl;
    return {a < inf() ? sum : nan(), (r - sum) + rl, (u32)(turn >> 62) + (u32)((turn >> 61) & 1u)};
}

ISOBIT_FN Angle reduce(float a) {
    if (a < 0x1p17f) return reduce_small(a);
    return reduce_large(a);
}

// sin - high
ISOBIT_FN float sin_tail(Angle p, float z) {
    float q = fma(-0x1.992462p-13f, z, 0x1.1106d6p-7f);
    q = fma(q, z, -0x1.555544p-3f);
    return fma(p.high * z, q, p.low);
}
// cos - 1
ISOBIT_FN float cosm1_poly(Angle p, float z) {
    float q = fma(0x1.99e334p-16f, z, -0x1.6c0c1ep-10f);
    q = fma(q, z, 0x1.55554ap-5f);
    float error = fma(p.high, p.high, -z);
    return fma(-0.5f, z, fma(z * z, q, fma(-0.5f, error, -(p.high * p.low))));
}
ISOBIT_FN float flip(float y, u32 sign) { return from_bits(to_bits(y) ^ (sign & 0x80000000u)); }

} // namespace f32

ISOBIT_FN float sin(float x) {
    f32::Angle p = f32::reduce(abs(x));
    float z = p.high * p.high;
    float s = p.high + f32::sin_tail(p, z), c = 1.0f + f32::cosm1_poly(p, z);
    float y = p.k & 1u ? c : s;
    return f32::flip(y, (p.k << 30) ^ to_bits(x));
}

ISOBIT_FN float cos(float x) {
    f32::Angle p = f32::reduce(abs(x));
    float z = p.high * p.high;
    float s = p.high + f32::sin_tail(p, z), c = 1.0f + f32::cosm1_poly(p, z);
    float y = p.k & 1u ? s : c;
    return f32::flip(y, (p.k + 1u) << 30);
}

// tan(high + low) in two parts, or for odd k its reciprocal.
ISOBIT_FN float tan(float x) {
    f32::Angle p = f32::reduce(abs(x));
    float z = p.high * p.high;
    float q = fma(0x1.03bfbep-8f, z, 0x1.fd4d4p-11f);
    q = fma(q, z, 0x1.4b1c5ep-7f);
    q = fma(q, z, 0x1.61859ep-6f);
    q = fma(q, z, 0x1.ba5f7ep-5f);
    q = fma(q, z, 0x1.11105cp-3f);
    q = fma(q, z, 0x1.555556p-2f);
    // The factor of low approximates the derivative 1 + tan^2.
    float tail = fma(p.high * z, q, p.low * fma(1.5f, z, 1.0f));
    float t = p.high + tail;
    float t_low = tail - (t - p.high);
    float w = f32::recip_rough(t);
    w = fma(w, fma(-t_low, w, fma(-t, w, 1.0f)), w);
    return f32::flip(p.k & 1u ? w : t, (p.k << 31) ^ to_bits(x));
}

} // namespace isobit::math
