// hypot of f32. Recipe and bound: docs/numerics/f32.md.
#pragma once
#include "device_lib/math/f32_core.cuh"

namespace isobit::math {

// The root of the sum of the squares, which keeps the errors of all three.
ISOBIT_FN float hypot(float x, float y) {
    float ax = abs(x);
    float ay = abs(y);
    float a = ax < ay ? ay : ax;
    float b = ax < ay ? ax : ay;
    // Keeps the squares finite, and their errors normal.
    bool large = a > 0x1p62f;
    bool small = a < 0x1p-40f;
    float scale = large ? 0x1p-80f : small ? 0x1p100f : 1.0f;
    float back = large ? 0x1p80f : small ? 0x1p-100f : 1.0f;
    a = a * scale;
    b = b * scale;
    float h = a * a;
    float l = b * b;
    float s = h + l;
    float s_low = ((h - s) + l) + (fma(a, a, -h) + fma(b, b, -l));
    float w = f32::rsqrt_rough(s);
    float root = s * w;
    float rest = (fma(-root, root, s) + s_low) * (0.5f * w);
    float v = (root + rest) * back;
    return ax == f32::inf() || ay == f32::inf() ? f32::inf() : v;
}

} // namespace isobit::math
