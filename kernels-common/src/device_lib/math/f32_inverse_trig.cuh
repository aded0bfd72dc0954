// asin, acos and atan of f32. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_core.cuh"

namespace isobit::math {
namespace f32 {

// asin(s) = s + s p. For |x| <= 1/2, s is |x|. For |x| > 1/2 it is the sine of the half angle,
// sqrt((1 - |x|) / 2), and its rounding error is kept.
struct Arc {
    float s, tail;
    bool half;
};
ISOBIT_FN Arc arc_sine(float a) {
    bool half = a > 0.5f;
    float z = half ? fma(-0.5f, a, 0.5f) : a * a;
    float y = rsqrt_rough(z);
    float root = z * y;
    float s = half ? root : a;
    float low = half ? fma(-root, root, z) * (0.5f * y) : 0.0f;
    float q = fma(0x1.59effcp-5f, z, 0x1.8b970cp-6f);
    q = fma(q, z, 0x1.748c0ep-5f);
    q = fma(q, z, 0x1.330162p-4f);
    q = fma(q, z, 0x1.5555cap-3f);
    q = q * z;
    return {s, fma(low, q, fma(s, q, low)), half};
}

} // namespace f32

ISOBIT_FN float asin(float x) {
    float a = abs(x);
    f32::Arc r = f32::arc_sine(a);
    float u = fma(-2.0f, r.s, f32::PIO2_HI);
    float error = fma(-2.0f, r.s, f32::PIO2_HI - u);
    float far = u + (error + fma(-2.0f, r.tail, f32::PIO2_LO));
    float y = r.half ? far : r.s + r.tail;
    return f32::with_sign(a > 1.0f ? f32::nan() : y, x);
}

ISOBIT_FN float acos(float x) {
    float a = abs(x);
    f32::Arc r = f32::arc_sine(a);
    bool negative = to_bits(x) >> 31;
    // near: pi/2 - asin(x); far: 2 asin(s), or pi - 2 asin(s)
    float near = f32::PIO2_HI - (copysign(r.s, x) + (copysign(r.tail, x) - f32::PIO2_LO));
    float right = 2.0f * (r.s + r.tail);
    float left = 2.0f * (f32::PIO2_HI - (r.s + (r.tail - f32::PIO2_LO)));
    float y = r.half ? (negative ? left : right) : near;
    return a > 1.0f ? f32::nan() : y;
}

ISOBIT_FN float atan(float x) {
    float a = abs(x);
    bool inverse = a > 1.0f;
    float d = f32::at_most(a, 0x1p60f);
    float w = f32::recip_rough(d);
    w = f32::recip_step(w, fma(-d, w, 1.0f));
    // The error of w times its weight 1 / (1 + w^2), which matters only near w = 1.
    float low = 0.5f * fma(-d, w, 1.0f);
    float t = inverse ? -w : a;
    float z = t * t;
    float q = fma(-0x1.d5a1aap-10f, z, 0x1.6551e2p-7f);
    q = fma(q, z, -0x1.fe7d24p-6f);
    q = fma(q, z, 0x1.da9c2ep-5f);
    q = fma(q, z, -0x1.5825f2p-4f);
    q = fma(q, z, 0x1.c0946cp-4f);
    q = fma(q, z, -0x1.24211ap-3f);
    q = fma(q, z, 0x1.9991ecp-3f);
    q = fma(q, z, -0x1.55553ep-2f);
    // atan(a), or pi/2 - atan(1/a).
    float u = f32::PIO2_HI - w;
    float u_low = ((f32::PIO2_HI - u) - w) + (f32::PIO2_LO - low);
    // Adds u_low as -u_low d, which is then multiplied by t = -1/d: one rounding fewer than a sum
    // of three.
    float p = fma(q, z, inverse ? -(u_low * d) : 0.0f);
    return f32::with_sign(fma(t, p, inverse ? u : a), x);
}

} // namespace isobit::math
