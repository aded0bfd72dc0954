// sigmoid, silu, gelu (tanh form), gelu_erf and elu of f32. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "dialect/math/f32_exp.cuh"

namespace isobit::math {
namespace f32 {

// x / (1 + exp(u + u_low)) for u up to 145. exp(u) is s (1 + p); above 60, where 1 no longer counts, s is 2^96 too small, `one`
// is zero and `post` makes up for it. The denominator is kept with its error.
ISOBIT_FN float logistic(float x, float u, float u_low) {
    float t = fma(u, LOG2_E, ROUNDER);
    float n = t - ROUNDER;
    float r = fma(n, -LN2_HI, u) + fma(n, -LN2_LO, u_low);
    bool big = u > 60.0f;
    float s = from_bits((to_bits(t) << 23) + (big ? 31u << 23 : 127u << 23));
    float p = expm1_poly(r);
    float one = big ? 0.0f : 1.0f;
    float d = fma(s, p, s + one);
    // s and one in order of size; positive numbers compare as their bits, and integers have min and max instructions
    u32 a = to_bits(s), b = to_bits(one);
    float low = fma(s, p, (from_bits(a < b ? b : a) - d) + from_bits(a < b ? a : b));
    float w = recip_rough(d);
    w = recip_step(w, fma(-low, w, fma(-d, w, 1.0f)));
    return x * w * (big ? 0x1p-96f : 1.0f);
}

} // namespace f32

ISOBIT_FN float sigmoid(float x) {
    float u = f32::at_most(f32::at_least(-x, -30.0f), 110.0f);
    return f32::logistic(1.0f, u, 0.0f);
}

ISOBIT_FN float silu(float x) {
    x = f32::at_least(x, -120.0f);
    return f32::logistic(x, f32::at_least(-x, -30.0f), 0.0f);
}

// x / (1 + exp(-x (A + B x^2))), A = 2 sqrt(2/pi), B = 0.044715 A; the exponent is kept in two parts.
ISOBIT_FN float gelu(float x) {
    x = f32::at_least(x, -12.0f);
    float c = f32::at_most(x, 6.0f);
    float h = c * c;
    float h_low = fma(c, c, -h);
    float q = fma(h, 0x1.2444f2p-4f, 0x1.9884p0f);
    float q_low = fma(h, 0x1.2444f2p-4f, 0x1.9884p0f - q);
    q_low = q_low + fma(h_low, 0x1.2444f2p-4f, fma(h, 0x1.49b16ap-29f, 0x1.4cf50ep-18f));
    float v = c * q;
    float v_low = fma(c, q_low, fma(c, q, -v));
    return f32::logistic(x, -v, -v_low);
}

// x Phi(x): with g = |x| Phi(-|x|) = exp(-x^2/2) y G, y = |x| / (|x| + 2.5), it is -g for x < 0 and x - g otherwise.
ISOBIT_FN float gelu_erf(float x) {
    float a = f32::at_most(abs(x), 15.0f);
    float h = a * a;
    float h_low = fma(a, a, -h);
    float t = fma(h, -0.5f * f32::LOG2_E, f32::ROUNDER);
    float n = t - f32::ROUNDER;
    float r = fma(n, -f32::LN2_HI, -0.5f * h) + fma(n, -f32::LN2_LO, -0.5f * h_low);
    float p = f32::expm1_poly(r);
    float d = a + 2.5f;
    float d_low = a - (d - 2.5f);
    float w = f32::recip_rough(d);
    float y = a * w;
    y = fma(fma(-d_low, y, fma(-d, y, a)), w, y);
    float u = y - 0x1.c0009cp-2f;
    float q = fma(-0x1.4c0f68p-4f, u, -0x1.18eadep-5f);
    q = fma(q, u, 0x1.dc4964p-4f);
    q = fma(q, u, 0x1.db937cp-4f);
    q = fma(q, u, -0x1.a8c05ep-4f);
    q = fma(q, u, -0x1.e67484p-3f);
    q = fma(q, u, 0x1.17f1ccp-3f);
    q = fma(q, u, 0x1.042704p-1f);
    q = fma(q, u, -0x1.dd50eep-1f);
    // the last two roundings are kept: they cost more than 0.4 ulp each
    float c = fma(q, u, 0x1.869ba8p-1f);
    float c_low = fma(q, u, 0x1.869ba8p-1f - c);
    float e = fma(c, p, c);
    float e_low = fma(c, p, c - e) + c_low;
    float g = fma(e, y, e_low * y) * f32::scale_of(t, 64) * 0x1p-64f;
    return x < 0.0f ? -g : x - g;
}

ISOBIT_FN float elu(float x, float alpha) {
    float y = alpha * expm1(x);
    return x > 0.0f ? x : y;
}

} // namespace isobit::math
