// hard_sigmoid, hard_swish, selu and celu of f32. Recipes and bounds: docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_exp.cuh"

namespace isobit::math {

// (x + 3) / 6 with x limited to -3 .. 3, so that nothing cancels.
ISOBIT_FN float hard_sigmoid(float x) {
    float v = f32::at_most(f32::at_least(x, -3.0f), 3.0f);
    float y = v + 3.0f;
    float low = v - (y - 3.0f);
    return fma(y, 0x1.555556p-3f, fma(y, -0x1.555556p-28f, low * 0x1.555556p-3f));
}

ISOBIT_FN float hard_swish(float x) { return f32::at_least(x, -3.0f) * hard_sigmoid(x); }

// The product of both constants, which multiplies exp(x) - 1, has two parts.
ISOBIT_FN float selu(float x) {
    f32::Pair p = f32::expm1_parts(f32::at_least(x, -18.0f));
    float y = copysign(fma(0x1.c212ccp0f, p.high, fma(0x1.c212ccp0f, p.low, 0x1.903c0cp-26f * p.high)), x);
    return x > 0.0f ? 0x1.0cfabep0f * x : y;
}

ISOBIT_FN float celu(float x, float alpha) {
    float t = x / alpha;
    // What t lost, times alpha. Its weight is exp(t).
    float rest = fma(-t, alpha, x);
    f32::Pair p = f32::expm1_parts(f32::at_least(t, -18.0f));
    float weight = (p.high + p.low) + 1.0f;
    float y = fma(alpha, p.high, fma(weight, t < -18.0f ? 0.0f : rest, alpha * p.low));
    // Only a negative alpha has a positive t.
    if (t > 88.0f) {
        float power = exp(t);
        y = power < f32::inf() ? fma(alpha, power, power * rest) : alpha * power;
    }
    // The curve is below the precision, and t may have lost bits as a subnormal.
    y = abs(t) < 0x1p-25f ? x : y;
    return x > 0.0f ? x : y;
}

} // namespace isobit::math
