// sigmoid, silu, gelu (tanh form), gelu_erf, elu and celu of the narrow types.
#pragma once
#include "device_lib/math/narrow_common.cuh"
#include "device_lib/math/narrow_exp.cuh"

namespace isobit::narrow {

// The last step of the products x * share(x). Two cases need care near 0, where the result is x/2
// plus a small term. An odd number of least subnormals halves to a tie, which the small term breaks
// upwards; f32 cannot hold that term, so `nudge`, far below half a unit of any other result, stands
// in for it. And the nudge must not turn -0 into 0.
template <typename T>
ISOBIT_FN float times_share(float value, float share, float x) {
    float nudge = is_wide<T> ? 0x1p-140f : 0x1p-47f;
    return with_sign(fma(value, share, nudge), x);
}

// 1 / (1 + e^-x) from e^-x = p 2^k, where t holds k and the bias. For bf16 the numerator and the
// denominator are scaled by 2^-32, because e^92, which its least subnormals need, overflows f32.
template <typename T>
ISOBIT_CONST float SHARE_UNIT = is_wide<T> ? 0x1p-32f : 1.0f;
template <typename T>
ISOBIT_CONST float SHARE_OFFSET = is_wide<T> ? MAGIC_BIASED - 32.0f : MAGIC_BIASED;

template <typename T>
ISOBIT_FN float share_of(float p, float t) {
    float y = reciprocal(fma(p, power_of_two(t), SHARE_UNIT<T>));
    return is_wide<T> ? y * SHARE_UNIT<T> : y;
}

template <typename T>
ISOBIT_FN float sigmoid(float x) {
    if constexpr (is_wide<T>) {
        x = at_least(at_most(x, 30.0f), -110.0f);
        float t = fma(x, -LOG2_E, SHARE_OFFSET<T>);
        float r = fma(t - SHARE_OFFSET<T>, LN_2, x);
        float p = horner(r, -0x1.0f891p-7f, 0x1.5733c6p-5f, -0x1.55665cp-3f, 0x1.ffff34p-2f, -0x1.ffffdp-1f, 1.0f);
        return share_of<T>(p, t);
    } else {
        // Near the ties at x = +-3/1024 and similar inputs, which the true value misses by x^3/48,
        // this errs on the safe side.
        ExpSplit s = exp_split(-at_most(abs(x), 30.0f));
        float z = s.scale * horner(
            s.r, 0x1.0f9d14p-7f, 0x1.574d48p-5f, 0x1.555b6ep-3f, 0x1.fffc1ap-2f, 0x1.ffffe8p-1f, 0x1.000004p+0f);
        return (x < 0.0f ? z : 1.0f) * reciprocal(1.0f + z);
    }
}

template <typename T>
ISOBIT_FN float silu(float x) {
    x = moved<T>(x, -0x1p-11f, -0x1.001p-11f);
    x = at_least(x, is_wide<T> ? -110.0f : -30.0f);
    float a = at_most(x, 30.0f);
    float t = fma(a, -LOG2_E, SHARE_OFFSET<T>);
    float r = fma(t - SHARE_OFFSET<T>, LN_2, a);
    float p = horner(
        r, -0x1.0f997ap-7f, 0x1.57487cp-5f, -0x1.555ca2p-3f, 0x1.fffc9ep-2f, -0x1.ffffap-1f, 0x1.fffffep-1f);
    return times_share<T>(x, share_of<T>(p, t), x);
}

// x / (1 + e^(-2u)), with 2u = sqrt(8/pi) (x + 0.044715 x^3).
template <typename T>
ISOBIT_FN float gelu(float x) {
    x = moved<T>(x, -0x1.5fp-10f, -0x1.5f1p-10f);
    x = moved<T>(x, -0x1.954p-12f, -0x1.955p-12f);
    x = at_least(x, is_wide<T> ? -10.75f : -8.0f);
    float a = at_most(x, 8.0f);
    float u = a * fma(a * a, 0x1.2444e8p-4f, 0x1.988456p+0f);
    float t = fma(u, -LOG2_E, SHARE_OFFSET<T>);
    float r = fma(t - SHARE_OFFSET<T>, LN_2, u);
    float p = horner(
        r, -0x1.0f9792p-7f, 0x1.57475cp-5f, -0x1.55609ep-3f, 0x1.fffd8ep-2f, -0x1.ffffd8p-1f, 0x1p+0f);
    return times_share<T>(x, share_of<T>(p, t), x);
}

// x Phi(x), with Phi(-a) = e^(-a^2/2) N(a) / D(a).
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
    float value = alpha * expm1<T>(x);
    return x > 0.0f ? x : value;
}

// The reciprocal of alpha, which is that of all elements of a thread, is scaled where it would
// overflow. Only a negative alpha has a positive t, which may be as large as f32's.
template <typename T>
ISOBIT_FN float celu(float x, float alpha) {
    float scale = abs(alpha) < 0x1p-60f ? 0x1p64f : 1.0f;
    float t = (x * scale) * (1.0f / (alpha * scale));
    float value = alpha * expm1_unsigned<true>(t);
    // The curve is below the precision, and t may have lost bits as a subnormal.
    value = abs(t) < 0x1p-25f ? x : value;
    return x > 0.0f ? x : value;
}

} // namespace isobit::narrow
