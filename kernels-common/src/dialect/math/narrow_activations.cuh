// sigmoid, silu, gelu (tanh form), gelu_erf and elu of the narrow types.
#pragma once
#include "dialect/math/narrow_common.cuh"
#include "dialect/math/narrow_exp.cuh"

namespace isobit::narrow {

// What the products x * share(x) end in. Two things are left to do near 0, where the result is x/2 plus a little: an odd
// number of least subnormals halves to a tie, broken upwards by that little, which f32 does not hold (`nudge`, far below
// half a unit of any other result, stands for it); and the nudge must not turn -0 into 0.
template <typename T>
ISOBIT_FN float times_share(float value, float share, float x) {
    float nudge = is_wide<T> ? 0x1p-140f : 0x1p-47f;
    return with_sign(fma(value, share, nudge), x);
}

template <typename T>
ISOBIT_FN float sigmoid(float x) {
    float z;
    if constexpr (is_wide<T>) {
        float h = exp_half(-at_most(abs(x), 110.0f));
        z = h * h;
    } else {
        // Beside the ties at x = +-3/1024 and their like, which the true value misses by x^3/48, this errs to the safe
        // side.
        ExpSplit s = exp_split(-at_most(abs(x), 30.0f));
        z = s.scale * horner(
            s.r, 0x1.0f9d14p-7f, 0x1.574d48p-5f, 0x1.555b6ep-3f, 0x1.fffc1ap-2f, 0x1.ffffe8p-1f, 0x1.000004p+0f);
    }
    return (x < 0.0f ? z : 1.0f) * reciprocal(1.0f + z);
}

template <typename T>
ISOBIT_FN float silu(float x) {
    x = moved<T>(x, -0x1p-11f, -0x1.001p-11f);
    float a = at_most(abs(x), is_wide<T> ? 110.0f : 30.0f);
    if constexpr (is_wide<T>) {
        // The product with a comes before the second factor: e^-a alone may be subnormal where the product is not.
        float h = exp_half(-a);
        float value = x < 0.0f ? -a * h * h : x;
        return times_share<T>(value, reciprocal(fma(h, h, 1.0f)), x);
    } else {
        ExpSplit s = exp_split(-a);
        float z = s.scale * horner(
            s.r, 0x1.0f9b08p-7f, 0x1.574836p-5f, 0x1.555cap-3f, 0x1.fffed6p-2f, 0x1.ffff96p-1f, 0x1.fffffep-1f);
        return times_share<T>(x < 0.0f ? -a * z : x, reciprocal(1.0f + z), x);
    }
}

// x / (1 + e^(-2u)), 2u = sqrt(8/pi) (x + 0.044715 x^3). All is scaled by lambda = 0.82916550806219, chosen so that
// lambda sqrt(8/pi) and lambda sqrt(8/pi) 0.044715 are each an f32 to 2^-35 and lambda ln 2 is one of 18 bits, whose
// products with k are exact.
template <typename T>
ISOBIT_FN float gelu(float x) {
    x = moved<T>(x, -0x1.5fp-10f, -0x1.5f1p-10f);
    float a = at_most(abs(x), is_wide<T> ? 10.75f : 8.0f);
    // For bf16 e^-u, squared later.
    float part = is_wide<T> ? -0.5f : -1.0f;
    float z = a * a;
    float w = fma(z, part * 0x1.e4ade6p-5f, part * 0x1.52ba66p+0f);
    float t = fma(a * w, 0x1.bd6c74p+0f, MAGIC_BIASED);
    float r = fma(a, w, (t - MAGIC_BIASED) * -0x1.26438p-1f);
    if constexpr (!is_wide<T>) {
        // What rounding w lost.
        r = fma(a, fma(z, part * 0x1.e4ade6p-5f, part * 0x1.52ba66p+0f - w), r);
    }
    float p = horner(r, 0x1.5a7712p-6f, 0x1.6b3c2ep-4f, 0x1.2b6f84p-2f, 0x1.7458a2p-1f, 0x1.34be5ap+0f, 1.0f);
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
        n = horner(a, 0x1.1538f6p-6f, 0x1.e746d2p-4f, 0x1.71b8dp-2f, 0x1.000034p-1f);
        d = horner(a, 0x1.5b4e4ap-5f, 0x1.3165e8p-2f, 0x1.e692dp-1f, 0x1.852ac6p+0f, 1.0f);
    } else {
        n = horner(a, 0x1.b8cea8p-7f, 0x1.a88412p-4f, 0x1.54fd9p-2f, 0x1.000002p-1f);
        d = horner(a, 0x1.1468d6p-5f, 0x1.096f64p-2f, 0x1.c029dcp-1f, 0x1.76c0b4p+0f, 1.0f);
    }
    float z;
    if constexpr (is_wide<T>) {
        float h = exp_half(a * a * -0.5f);
        z = h * h;
    } else {
        ExpSplit s = exp_split(a * a * -0.5f);
        z = s.scale * horner(
            s.r, 0x1.0f9f9cp-7f, 0x1.573a1ap-5f, 0x1.555a8p-3f, 0x1.fffdc6p-2f, 0x1.fffff6p-1f, 0x1.fffffep-1f);
    }
    float tail = z * n * reciprocal(d);
    return times_share<T>(x < 0.0f ? -a : x, x < 0.0f ? tail : 1.0f - tail, x);
}

template <typename T>
ISOBIT_FN float elu(float x, float alpha) {
    return x > 0.0f ? x : alpha * expm1<T>(x);
}

} // namespace isobit::narrow
