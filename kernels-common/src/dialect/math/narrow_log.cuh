// log, log2 and log1p of the narrow types.
#pragma once
#include "narrow_common.cuh"
#include "narrow_exp.cuh"

namespace isobit::narrow {

// x = 2^k (1 + f) with 1 + f between the square roots of 1/2 and 2; `bits` is k in an exponent field, with junk below.
struct LogSplit {
    float k;
    float f;
};

template <typename T>
ISOBIT_FN LogSplit log_split(float x) {
    float bias = 0.0f;
    if constexpr (is_wide<T>) {
        // f32's own subnormals.
        bool tiny = x < 0x1p-126f;
        x = tiny ? x * 0x1p64f : x;
        bias = tiny ? -64.0f : 0.0f;
    }
    u32 exponent = (to_bits(x) - 0x3f3504f3u) & 0xff800000u;
    float f = from_bits(to_bits(x) - exponent) - 1.0f;
    return LogSplit{fma((float)(i32)exponent, 0x1p-23f, bias), f};
}

// log(1 + f) = f + f^2 Q(f), relative.
ISOBIT_FN float log1p_reduced(float f) {
    float q = 0x1.660ee2p-4f;
    q = fma(q, f, -0x1.251406p-3f);
    q = fma(q, f, 0x1.317e22p-3f);
    q = fma(q, f, -0x1.535a3cp-3f);
    q = fma(q, f, 0x1.98d336p-3f);
    q = fma(q, f, -0x1.0004bp-2f);
    q = fma(q, f, 0x1.5556f2p-2f);
    q = fma(q, f, -0x1.fffffap-2f);
    return fma(f * f, q, f);
}

// The logarithm of anything: -inf at 0, NaN below, infinity and NaN as they are. `x` is the argument shifted so that 0 is the pole.
ISOBIT_FN float log_edges(float x, float value) {
    value = x < infinity() ? value : x;
    return x > 0.0f ? value : (x == 0.0f ? -infinity() : infinity() - infinity());
}

template <typename T>
ISOBIT_FN float log(float x) {
    LogSplit s = log_split<T>(x);
    return log_edges(x, fma(s.k, LN_2, log1p_reduced(s.f)));
}

template <typename T>
ISOBIT_FN float log2(float x) {
    LogSplit s = log_split<T>(x);
    float f = s.f;
    float q = 0x1.027af6p-3f;
    q = fma(q, f, -0x1.a812e2p-3f);
    q = fma(q, f, 0x1.b93f92p-3f);
    q = fma(q, f, -0x1.e9655ap-3f);
    q = fma(q, f, 0x1.26dcd2p-2f);
    q = fma(q, f, -0x1.715c5p-2f);
    q = fma(q, f, 0x1.ec736ep-2f);
    q = fma(q, f, -0x1.71547p-1f);
    q = fma(q, f, 0x1.715476p+0f);
    return log_edges(x, fma(f, q, s.k));
}

template <typename T>
ISOBIT_FN float log1p(float x) {
    float u = 1.0f + x;
    u32 exponent = (to_bits(u) - 0x3f3504f3u) & 0xff800000u;
    // f = 2^-k (1 + x) - 1 exactly, from x itself: u has lost digits of a small x. The scale is 2^(1-k), so that k = 128 has one.
    float scale = from_bits(0x40000000u - exponent);
    float f = fma(0.5f * x, scale, fma(0.5f, scale, -1.0f));
    float k = (float)(i32)exponent * 0x1p-23f;
    return log_edges(u, fma(k, LN_2, log1p_reduced(f)));
}

} // namespace isobit::narrow
