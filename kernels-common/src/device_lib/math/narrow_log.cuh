// log, log2 and log1p of the narrow types.
#pragma once
#include "device_lib/math/narrow_common.cuh"
#include "device_lib/math/narrow_exp.cuh"

namespace isobit::narrow {

// x = 2^k (1 + f), with 1 + f between the square roots of 1/2 and 2.
struct LogSplit {
    float k;
    float f;
};

template <typename T>
ISOBIT_FN LogSplit log_split(float x) {
    float bias = 0.0f;
    if constexpr (is_wide<T>) {
        // Scales up f32 subnormals, which bf16 shares.
        bool tiny = x < 0x1p-126f;
        x = tiny ? x * 0x1p64f : x;
        bias = tiny ? -64.0f : 0.0f;
    }
    u32 exponent = (to_bits(x) - 0x3f3504f3u) & 0xff800000u;
    float f = from_bits(to_bits(x) - exponent) - 1.0f;
    return LogSplit{fma((float)(i32)exponent, 0x1p-23f, bias), f};
}

// The special values of a logarithm: -inf at the pole and NaN below it. `x` is the argument,
// shifted so that the pole is at 0.
ISOBIT_FN float log_edges(float x, float value) {
    return x > 0.0f ? value : (x == 0.0f ? -infinity() : infinity() - infinity());
}

// Passes infinity and NaN through: the fma adds less than half a unit of a narrow type to any other
// value.
ISOBIT_FN float log_top(float x, float value) { return fma(x, 0x1p-149f, value); }

template <typename T>
ISOBIT_FN float log(float x) {
    LogSplit s = log_split<T>(x);
    float f = s.f;
    float q = horner(
        f, 0x1.6610bep-4f, -0x1.251f06p-3f, 0x1.317d4ep-3f, -0x1.53562p-3f, 0x1.98e2b8p-3f, -0x1.000352p-2f,
        0x1.55563ep-2f, -0x1.000008p-1f, 0x1.000002p+0f);
    return log_edges(x, log_top(x, fma(s.k, LN_2, q * f)));
}

template <typename T>
ISOBIT_FN float log2(float x) {
    LogSplit s = log_split<T>(x);
    float f = s.f;
    float q = horner(
        f, 0x1.027af6p-3f, -0x1.a812e2p-3f, 0x1.b93f92p-3f, -0x1.e9655ap-3f, 0x1.26dcd2p-2f, -0x1.715c5p-2f,
        0x1.ec736ep-2f, -0x1.71547p-1f, 0x1.715476p+0f);
    return log_edges(x, log_top(x, fma(f, q, s.k)));
}

template <typename T>
ISOBIT_FN float log1p(float x) {
    x = moved<T>(x, -0x1.7f4p-8f, -0x1.7f3p-8f);
    x = moved<T>(x, 0x1.80cp-8f, 0x1.80dp-8f);
    float u = 1.0f + x;
    u32 exponent = (to_bits(u) - 0x3f3504f3u) & 0xff800000u;
    // f = 2^-k (1 + x) - 1 exactly, from x itself, because u has lost digits of a small x.
    float f;
    if constexpr (is_wide<T>) {
        // 2^(2-k), since 2^-128 would be subnormal.
        float scale = from_bits(0x40800000u - exponent);
        f = fma(0.25f * x, scale, fma(0.25f, scale, -1.0f));
    } else {
        float scale = from_bits(0x3f800000u - exponent);
        f = fma(x, scale, scale - 1.0f);
    }
    float k = (float)(i32)exponent * 0x1p-23f;
    // The result has the sign of x, also for -0.
    float q = horner(
        f, 0x1.660ee2p-4f, -0x1.251406p-3f, 0x1.317e22p-3f, -0x1.535a3cp-3f, 0x1.98d336p-3f, -0x1.0004bp-2f,
        0x1.5556f2p-2f, -0x1.fffffap-2f);
    float value = fma(k, LN_2, fma(f * f, q, f));
    // At infinity f is NaN.
    return with_sign(log_edges(u, u < infinity() ? value : u), x);
}

} // namespace isobit::narrow
