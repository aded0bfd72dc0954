// sinh, cosh and tanh of f32. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_core.cuh"

namespace isobit::math {
namespace f32 {

// Writes a, up to 44, as n ln 2 + high + low. Holds cosh - 1 and sinh - high of the remainder, and
// the scales 2^(n-1) and 2^(-n-1).
struct Hyperbolic {
    float high, c, s, up, down;
};
ISOBIT_FN Hyperbolic hyperbolic(float a) {
    float t = fma(a, LOG2_E, ROUNDER);
    float n = t - ROUNDER;
    float high = fma(n, -LN2_HI, a);
    float low = n * -LN2_LO;
    float r = high + low;
    float z = r * r;
    float c = fma(0x1.6d5402p-10f, z, 0x1.5554e2p-5f);
    c = fma(c, z, 0.5f) * z;
    float s = fma(0x1.a28eaep-13f, z, 0x1.110fe2p-7f);
    s = fma(s, z, 0x1.555556p-3f);
    s = fma(r * z, s, low);
    u32 k = to_bits(t) << 23;
    return {high, c, s, from_bits(k + (126u << 23)), from_bits((126u << 23) - k)};
}
// exp(a) / 2 for a above 44, where exp(-a) is negligible.
ISOBIT_FN float half_exp(float a) {
    a = at_most(a, 90.0f);
    float t = fma(a, LOG2_E, ROUNDER);
    float n = t - ROUNDER;
    float r = fma(n, -LN2_LO, fma(n, -LN2_HI, a));
    float s = scale_of(t, -65);
    return fma(exp_slope(r), r * s, s) * 0x1p64f;
}

} // namespace f32

ISOBIT_FN float sinh(float x) {
    f32::Hyperbolic h = f32::hyperbolic(abs(x));
    float sum = h.up + h.down, dif = h.up - h.down;
    float u = fma(sum, h.high, dif);
    float error = fma(sum, h.high, dif - u);
    float y = u + fma(sum, h.s, fma(dif, h.c, error));
    if (abs(x) > 44.0f) y = f32::half_exp(abs(x));
    return f32::with_sign(y, x);
}

ISOBIT_FN float cosh(float x) {
    f32::Hyperbolic h = f32::hyperbolic(abs(x));
    float sum = h.up + h.down, dif = h.up - h.down;
    float u = fma(dif, h.high, h.up);
    float error = fma(dif, h.high, h.up - u);
    float y = u + (h.down + fma(sum, h.c, fma(dif, h.s, error)));
    if (abs(x) > 44.0f) y = f32::half_exp(abs(x));
    return y;
}

// An odd polynomial below 0.6; from there on 1 - 2 / (exp(2 |x|) + 1), keeping the rounding error
// of the denominator.
ISOBIT_FN float tanh(float x) {
    float a = abs(x);
    float z = x * x;
    float q = fma(-0x1.6452a4p-8f, z, 0x1.4e27d4p-6f);
    q = fma(q, z, -0x1.b79d74p-5f);
    q = fma(q, z, 0x1.110258p-3f);
    q = fma(q, z, -0x1.55551cp-2f);
    float near = fma(a, q * z, a);

    float v = f32::at_most(a, 9.5f);
    float t = fma(v, 2.0f * f32::LOG2_E, f32::ROUNDER);
    float n = t - f32::ROUNDER;
    float r = fma(n, -0.5f * f32::LN2_LO, fma(n, -0.5f * f32::LN2_HI, v));
    // exp(2 r) = 1 + r p
    float p = fma(0x1.6d56ecp-4f, r, 0x1.122d44p-2f);
    p = fma(p, r, 0x1.5554ep-1f);
    p = fma(p, r, 0x1.5554a8p0f);
    p = fma(p, r, 2.0f);
    p = fma(p, r, 2.0f);
    float s = f32::scale_of(t);
    float first = s * r;
    float b = s + 1.0f;
    float d = fma(p, first, b);
    float low = fma(p, first, b - d);
    float w = f32::recip_rough(d);
    w = fma(w, fma(-low, w, fma(-d, w, 1.0f)), w);
    float far = fma(-2.0f, w, 1.0f);
    return f32::with_sign(a < 0.6f ? near : far, x);
}

} // namespace isobit::math
