// sigmoid, silu, gelu (tanh form), gelu_erf and elu of the narrow types.
#pragma once
#include "narrow_common.cuh"
#include "narrow_exp.cuh"

namespace isobit::narrow {

// What the products x * share(x) end in. Two things are left to do near 0, where the result is x/2 plus a little: an odd
// number of least subnormals halves to a tie, broken upwards by that little, which f32 does not hold (`nudge`, far below
// half a unit of any other result, stands for it); and the nudge must not turn -0 into 0.
template <typename T>
ISOBIT_FN float times_share(float value, float share, float x) {
    float nudge = is_wide<T> ? 0x1p-140f : 0x1p-47f;
    return copysign(fma(value, share, nudge), x);
}

// e^-a for a >= 0.
template <typename T>
ISOBIT_FN float exp_negative(float a) {
    if constexpr (is_wide<T>) {
        float h = exp_half(-a);
        return h * h;
    } else {
        return exp_f16(-a);
    }
}

template <typename T>
ISOBIT_FN float sigmoid(float x) {
    float z = exp_negative<T>(at_most(abs(x), is_wide<T> ? 110.0f : 30.0f));
    return (x < 0.0f ? z : 1.0f) * reciprocal(1.0f + z);
}

template <typename T>
ISOBIT_FN float silu(float x) {
    float a = at_most(abs(x), is_wide<T> ? 110.0f : 30.0f);
    if constexpr (is_wide<T>) {
        // The product with a comes before the second factor: e^-a alone may be subnormal where the product is not.
        float h = exp_half(-a);
        float value = x < 0.0f ? -a * h * h : x;
        return times_share<T>(value, reciprocal(fma(h, h, 1.0f)), x);
    } else {
        float z = exp_f16(-a);
        return times_share<T>(x < 0.0f ? -a * z : x, reciprocal(1.0f + z), x);
    }
}

// x / (1 + e^(-2u)), 2u = sqrt(8/pi) (x + 0.044715 x^3). All is scaled by lambda = 1.22742771046, chosen so that
// lambda sqrt(8/pi), lambda sqrt(8/pi) 0.044715 and lambda ln 2 are each an f32 to 2^-37.
template <typename T>
ISOBIT_FN float gelu(float x) {
    float a = at_most(abs(x), is_wide<T> ? 10.75f : 8.0f);
    float scale = is_wide<T> ? 0.5f : 1.0f;
    float z = a * a;
    float w = fma(z, -0x1.66bd4ep-4f * scale, -0x1.f56ccap+0f * scale);
    float t = fma(a * w, 0x1.2ce5c2p+0f, MAGIC_BIASED);
    float r = fma(a, w, (t - MAGIC_BIASED) * -0x1.b39a7ep-1f);
    if constexpr (!is_wide<T>) {
        r = fma(t - MAGIC_BIASED, -0x1.b39a7ep-1f, 0.0f);
        float lost = fma(z, -0x1.66bd4ep-4f, -0x1.f56ccap+0f - w);
        r = fma(a, lost, fma(a, w, r));
    }
    float p = 0x1.86083cp-9f;
    p = fma(p, r, 0x1.2e6f2cp-6f);
    p = fma(p, r, 0x1.712fd8p-4f);
    p = fma(p, r, 0x1.53d648p-2f);
    p = fma(p, r, 0x1.a121e4p-1f);
    p = fma(p, r, 1.0f);
    float h = p * power_of_two(t);
    if constexpr (is_wide<T>) {
        float value = x < 0.0f ? -a * h * h : x;
        return times_share<T>(value, reciprocal(fma(h, h, 1.0f)), x);
    } else {
        return times_share<T>(x < 0.0f ? -a * h : x, reciprocal(1.0f + h), x);
    }
}

// x Phi(x), Phi(-a) = e^(-a^2/2) N(a) / D(a).
template <typename T>
ISOBIT_FN float gelu_erf(float x) {
    float a = at_most(abs(x), is_wide<T> ? 14.0f : 5.75f);
    float n;
    float d;
    if constexpr (is_wide<T>) {
        n = 0x1.152f88p-6f;
        n = fma(n, a, 0x1.e75c8p-4f);
        n = fma(n, a, 0x1.71aec2p-2f);
        n = fma(n, a, 0x1.fffff4p-2f);
        d = 0x1.5b71b6p-5f;
        d = fma(d, a, 0x1.313132p-2f);
        d = fma(d, a, 0x1.e6d1cap-1f);
        d = fma(d, a, 0x1.85185ep+0f);
        d = fma(d, a, 1.0f);
    } else {
        n = 0x1.b8cde6p-7f;
        n = fma(n, a, 0x1.a88a3cp-4f);
        n = fma(n, a, 0x1.54ff9ap-2f);
        n = fma(n, a, 0x1.fffffep-2f);
        d = 0x1.1469eep-5f;
        d = fma(d, a, 0x1.09724p-2f);
        d = fma(d, a, 0x1.c02d1ep-1f);
        d = fma(d, a, 0x1.76c1cp+0f);
        d = fma(d, a, 1.0f);
    }
    float z = exp_negative<T>(a * a * 0.5f);
    float tail = z * n * reciprocal(d);
    return times_share<T>(x < 0.0f ? -a : x, x < 0.0f ? tail : 1.0f - tail, x);
}

template <typename T>
ISOBIT_FN float elu(float x, float alpha) {
    return x > 0.0f ? x : alpha * expm1<T>(x);
}

} // namespace isobit::narrow
