// log, log2 and log1p of f32. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_core.cuh"

namespace isobit::math {
namespace f32 {

// Writes a positive finite x as 2^e m with m in [2/3, 4/3).
struct Parts {
    float e, m;
};
// The bits of 2/3.
ISOBIT_CONST u32 LOG_FIRST = 0x3f2aaaab;
ISOBIT_FN Parts log_parts(float x) {
    bool small = x < 0x1p-126f;
    u32 bits = to_bits(small ? x * 0x1p23f : x);
    u32 e = (u32)((i32)(bits - LOG_FIRST) >> 23);
    float bias = small ? 0x1.8p23f + 23.0f : 0x1.8p23f;
    return {from_bits(e + 0x4b400000u) - bias, from_bits(bits - (e << 23))};
}

// (log(1 + f) - f) / f^2 for f in [-1/3, 1/3].
ISOBIT_FN float log_tail(float f) {
    float q = fma(0x1.dfe484p-4f, f, -0x1.036beap-3f);
    q = fma(q, f, 0x1.bb799ep-4f);
    q = fma(q, f, -0x1.f534ccp-4f);
    q = fma(q, f, 0x1.24d4dcp-3f);
    q = fma(q, f, -0x1.5589dap-3f);
    q = fma(q, f, 0x1.999874p-3f);
    q = fma(q, f, -0x1.ffff62p-3f);
    q = fma(q, f, 0x1.555556p-2f);
    return fma(q, f, -0.5f);
}

// e ln 2 + log(1 + f + f_low). f_low is nonzero only for f near -0.29, and has the weight 1 / (1 +
// f). The rounding error of the leading e ln 2 + f is kept. e counts units of a power of two.
ISOBIT_FN float log_join(float e, float f, float f_low, float unit = 1.0f) {
    float u = fma(e, LN2_HI * unit, f);
    float error = fma(e, LN2_HI * unit, -u) + f;
    return u + fma(f * f, log_tail(f), fma(e, LN2_LO * unit, fma(1.4140625f, f_low, error)));
}

// The e of log_parts of a normal number with these bits, in the exponent field.
ISOBIT_FN u32 log_field(u32 bits) { return (bits - LOG_FIRST) & 0xff800000u; }
// What an e in the exponent field counts.
ISOBIT_CONST float FIELD_UNIT = 0x1p-23f;

// e ln 2 + log(1 + f + f_low) for any f and an e in the exponent field, as the leading sum and the
// rest.
ISOBIT_FN Pair log_join_pair(u32 field, float f, float f_low) {
    float e = (float)(i32)field;
    float u = fma(e, LN2_HI * FIELD_UNIT, f);
    float error = fma(e, LN2_HI * FIELD_UNIT, -u) + f;
    // The weight 1 / (1 + f) to the third power of f.
    float weighted = fma(-f, fma(-f, f_low, f_low), f_low);
    return {u, fma(f * f, log_tail(f), fma(e, LN2_LO * FIELD_UNIT, weighted + error))};
}

// 1 + x as 2^e (1 + f + f_low), where 1 + x only determines the exponent, and e is in the exponent
// field. A lower part of x times down = 2^-e may be added to f_low.
struct OnePlus {
    u32 field;
    float f, f_low, down;
};
ISOBIT_FN OnePlus log_one_plus(float x) {
    u32 field = log_field(to_bits(1.0f + x));
    float scaled = from_bits(to_bits(x) - field);
    i32 unit = (i32)(0x3f800000u - field);
    float down = from_bits(unit < 0 ? 0u : (u32)unit);
    float offset = down - 1.0f;
    float f = scaled + offset;
    return {field, f, scaled - (f - offset), down};
}

// log(1 + x + x_low)
ISOBIT_FN Pair log1p_pair(float x, float x_low) {
    OnePlus p = log_one_plus(x);
    return log_join_pair(p.field, p.f, fma(x_low, p.down, p.f_low));
}

// The special values of a logarithm with its pole at x = pole; returns y for all other x.
ISOBIT_FN float log_edges(float x, float pole, float y) {
    y = x < inf() ? y : x;
    y = x < pole ? nan() : y;
    return x == pole ? -inf() : y;
}

} // namespace f32

ISOBIT_FN float log(float x) {
    f32::Parts p = f32::log_parts(x);
    return f32::log_edges(x, 0.0f, f32::log_join(p.e, p.m - 1.0f, 0.0f));
}

ISOBIT_FN float log2(float x) {
    f32::Parts p = f32::log_parts(x);
    float f = p.m - 1.0f;
    float q = fma(-0x1.6f788ap-3f, f, 0x1.967854p-3f);
    q = fma(q, f, -0x1.6b219p-3f);
    q = fma(q, f, 0x1.9f406cp-3f);
    q = fma(q, f, -0x1.ec9db4p-3f);
    q = fma(q, f, 0x1.27927p-2f);
    q = fma(q, f, -0x1.71546cp-2f);
    q = fma(q, f, 0x1.ec7062p-2f);
    q = fma(q, f, -0x1.715476p-1f);
    float high = f * f32::LOG2_E;
    float low = fma(f, 0x1.4ae0cp-26f, fma(f, f32::LOG2_E, -high));
    float u = p.e + high;
    float error = (p.e - u) + high;
    return f32::log_edges(x, 0.0f, u + (error + fma(f * f, q, low)));
}

ISOBIT_FN float log1p(float x) {
    f32::OnePlus p = f32::log_one_plus(x);
    float y = f32::log_join((float)(i32)p.field, p.f, p.f_low, f32::FIELD_UNIT);
    return f32::with_sign(f32::log_edges(x, -1.0f, y), x);
}

} // namespace isobit::math
