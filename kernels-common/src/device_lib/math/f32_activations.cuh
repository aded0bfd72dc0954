// sigmoid, silu, gelu (tanh form), gelu_erf and elu of f32. Recipes and bounds:
// docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_exp.cuh"

namespace isobit::math {
namespace f32 {

// Splits an exponent u + u_low into n ln 2 + r; t holds n.
struct Exponent {
    float t, r;
};
ISOBIT_FN Exponent exponent(float u) {
    float t = fma(u, LOG2_E, ROUNDER);
    float n = t - ROUNDER;
    return {t, fma(n, -LN2_LO, fma(n, -LN2_HI, u))};
}
ISOBIT_FN Exponent exponent(float u, float u_low) {
    float t = fma(u, LOG2_E, ROUNDER);
    float n = t - ROUNDER;
    return {t, fma(n, -LN2_HI, u) + fma(n, -LN2_LO, u_low)};
}

// x / (1 + exp(e)) for exponents from -30 to 86. The rounding error of the denominator is kept.
ISOBIT_FN float logistic(float x, Exponent e) {
    float s = scale_of(e.t);
    float q = exp_slope(e.r);
    float first = s * e.r;
    float b = s + 1.0f;
    float d = fma(q, first, b);
    float low = fma(q, first, b - d) + ((s - b) + 1.0f);
    float w = recip_rough(d);
    w = recip_step(w, fma(-low, w, fma(-d, w, 1.0f)));
    return x * w;
}
// The same for exponents from 60 to 130, where the 1 is negligible, and x exp(-e) for exponents
// from 22. A subnormal result is rounded at the end.
ISOBIT_FN float logistic_far(float x, Exponent e) {
    float s = from_bits((191u << 23) - (to_bits(e.t) << 23));
    return x * fma(exp_slope(-e.r), -e.r * s, s) * 0x1p-64f;
}

// The exponent -x (A + B x^2) of gelu in two parts, with A = 2 sqrt(2/pi) and B = 0.044715 A.
ISOBIT_FN Exponent gelu_exponent(float x) {
    float h = x * x;
    float h_low = fma(x, x, -h);
    float q = fma(h, 0x1.2444f2p-4f, 0x1.9884p0f);
    float q_low = fma(h, 0x1.2444f2p-4f, 0x1.9884p0f - q);
    q_low = q_low + fma(h_low, 0x1.2444f2p-4f, fma(h, 0x1.49b16ap-29f, 0x1.4cf50ep-18f));
    float v = x * q;
    return exponent(-v, -fma(x, q_low, fma(x, q, -v)));
}

} // namespace f32

ISOBIT_FN float sigmoid(float x) {
    float y = f32::logistic(1.0f, f32::exponent(f32::at_least(-x, -30.0f)));
    if (x < -86.0f) y = f32::logistic_far(1.0f, f32::exponent(f32::at_most(-x, 110.0f)));
    return y;
}

ISOBIT_FN float silu(float x) {
    float y = f32::logistic(x, f32::exponent(f32::at_least(-x, -30.0f)));
    if (x < -86.0f) {
        x = f32::at_least(x, -120.0f);
        y = f32::logistic_far(x, f32::exponent(-x));
    }
    return y;
}

// x / (1 + exp(-x (A + B x^2)))
ISOBIT_FN float gelu(float x) {
    float y = f32::logistic(x, f32::gelu_exponent(f32::at_most(x, 6.0f)));
    if (x < -9.75f) {
        x = f32::at_least(x, -11.0f);
        y = f32::logistic_far(x, f32::gelu_exponent(x));
    }
    return y;
}

// x Phi(x). With g = |x| Phi(-|x|) = exp(-x^2/2) y G and y = |x| / (|x| + 2.5), the result is -g
// for x < 0 and x - g otherwise.
ISOBIT_FN float gelu_erf(float x) {
    float a = f32::at_most(abs(x), 15.0f);
    float half = 0.5f * a;
    float h = half * a;
    f32::Exponent power = f32::exponent(-h, -fma(half, a, -h));
    float p = f32::exp_slope(power.r);
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
    // Keeps the last two rounding errors: they cost more than 0.4 ulp each.
    float c = fma(q, u, 0x1.869ba8p-1f);
    float c_low = fma(q, u, 0x1.869ba8p-1f - c);
    float first = c * power.r;
    float e = fma(first, p, c);
    float e_low = fma(first, p, c - e) + c_low;
    float g = fma(e, y, e_low * y) * f32::scale_of(power.t, 64) * 0x1p-64f;
    return x < 0.0f ? -g : x - g;
}

ISOBIT_FN float elu(float x, float alpha) {
    float y = alpha * copysign(f32::expm1_below(f32::at_least(x, -18.0f)), x);
    return x > 0.0f ? x : y;
}

} // namespace isobit::math
